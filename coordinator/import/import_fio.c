/*
 * fio's JSON and JSON+, 2.x to 3.4x, with whatever stands around it: error lines, the text of a client, other logs. A document each time
 * an object of fio's begins. Jobs of one group ran together: they are nodes of one phase for each direction. Reads, writes and
 * trims are never added. "All clients" is no job: its figures stand beside.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/import/fio_int.h"

extern const struct importer import_fio;

#define ALL_CLIENTS "All clients"

/* What stood before an object, as far as it is about it. */
struct noise {
	size_t from;   /* first line */
	size_t errors; /* messages of fio */
	char first[200];
	char signal[80]; /* "terminating on signal 2"; "": none */
	size_t unknown;  /* lines of text that mean nothing here */
};

/* Where some integer did not fit, all were read as reals. */
static int64_t
integer(json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return fabs(value) < 9e15 ? (int64_t)value : 0;
}

static const char *
version_of(json_t *root)
{
	const char *v = json_string_value(json_object_get(root, "fio version"));

	if (v == NULL)
		v = json_string_value(json_object_get(root, "fioversion"));
	if (v != NULL && strncmp(v, "fio-", 4) == 0)
		v += 4;
	return v;
}

static json_t *
jobs_of(json_t *root)
{
	json_t *jobs = json_object_get(root, "jobs");

	return json_is_array(jobs) ? jobs : json_object_get(root, "client_stats");
}

static void
options_to_settings(struct results *doc, json_t *options)
{
	const char *key;
	json_t *value;

	json_object_foreach(options, key, value)
	{
		if (json_is_string(value) && import_setting_get(doc, key) == NULL)
			import_setting(doc, key, "%s", json_string_value(value));
	}
}

static bool
is_all_clients(json_t *job)
{
	const char *name = json_string_value(json_object_get(job, "jobname"));

	return name != NULL && strcmp(name, ALL_CLIENTS) == 0 &&
	    json_object_size(json_object_get(job, "job options")) == 0;
}

static int64_t
group_of(json_t *job)
{
	return integer(job, "groupid");
}

/* --- one phase: a direction of all jobs of a group ---------------------------------------------------------------- */

static bool
same_names(json_t *jobs, int64_t group, enum fio_direction d)
{
	const char *first = NULL;
	size_t i;
	json_t *job;

	json_array_foreach(jobs, i, job)
	{
		if (group_of(job) != group || is_all_clients(job) || !import_fio_did(job, d))
			continue;
		const char *name = import_fio_job_name(job);
		if (first != NULL && strcmp(first, name) != 0)
			return false;
		first = name;
	}
	return true;
}

/* The node of a job: its host, or "local", and what tells it from others of the phase. */
static void
node_name(json_t *jobs, size_t at, bool with_job, enum fio_direction d, char *buf, size_t len)
{
	json_t *job = json_array_get(jobs, at);
	json_t *other;
	const char *host = json_string_value(json_object_get(job, "hostname"));
	size_t i, before = 0, alike = 0;
	char tail[32] = "";
	char base[256];

	json_array_foreach(jobs, i, other)
	{
		const char *h = json_string_value(json_object_get(other, "hostname"));

		if (group_of(other) != group_of(job) || is_all_clients(other) || !import_fio_did(other, d))
			continue;
		if ((host == NULL) != (h == NULL) || (host != NULL && strcmp(host, h) != 0))
			continue;
		if (with_job && strcmp(import_fio_job_name(job), import_fio_job_name(other)) != 0)
			continue;
		alike++;
		before += i < at;
	}
	if (alike > 1)
		snprintf(tail, sizeof(tail), "#%zu", before + 1);
	snprintf(base, sizeof(base), "%s%s%.200s", host != NULL ? host : "local", with_job ? "/" : "",
	    with_job ? import_fio_job_name(job) : "");
	import_copy(buf, len - strlen(tail), base, strlen(base));
	size_t used = strlen(buf);
	snprintf(buf + used, len - used, "%s", tail);
}

static void
all_clients_metrics(struct phase_result *phase, json_t *jobs, enum fio_direction d)
{
	size_t i;
	json_t *job;

	json_array_foreach(jobs, i, job)
	{
		struct fio_figures f;

		if (!is_all_clients(job) || !import_fio_did(job, d) || !import_fio_figures_of(job, d, true, &f))
			continue;
		import_phase_metric(phase, "all clients: rate", f.bytes_per_s / 1024, "KiB/s");
		import_phase_metric(phase, "all clients: operations", f.ops_per_s, "op/s");
		import_phase_metric(phase, "all clients: longest runtime", f.runtime_ms, "ms");
	}
}

/* Jobs that ended apart: what all moved over the longest time is less than the sum of their rates. */
static void
longest_runtime(struct phase_result *phase, double bytes, double shortest, double longest)
{
	phase->duration_ns = longest > 0 ? import_to_i64(longest * 1e6) : LS_UNKNOWN_I64;
	if (phase->nodes_count < 2 || longest <= 0 || isnan(bytes))
		return;
	import_phase_metric(phase, "bytes over the longest runtime", bytes / (longest / 1e3), "B/s");
	if (shortest < 0.95 * longest)
		import_phase_warn(phase,
		    "the jobs ran from %.1f s to %.1f s: the sum of their rates is more than they reached together",
		    shortest / 1e3, longest / 1e3);
}

struct phase_scan {
	double bytes, shortest, longest;
	size_t failed;
};

static void
add_job(struct results *doc, struct phase_result *phase, json_t *jobs, size_t at, enum fio_direction d, bool kib,
    bool same, struct phase_scan *scan)
{
	json_t *job = json_array_get(jobs, at);
	int64_t error = integer(job, "error");
	struct fio_figures f;
	char name[65];

	node_name(jobs, at, !same, d, name, sizeof(name));
	struct node_result *node = import_node(doc, phase, name);
	if (!import_fio_figures_of(job, d, !kib, &f))
		return;
	import_fio_to_node(job, d, &f, node);
	if (error != 0) {
		node->state = NODE_FAILED;
		node->errors = 1;
		node->error_list = ls_grow(NULL, 0, sizeof(*node->error_list));
		field_struct_init(&io_error_desc, &node->error_list[0]);
		node->error_list_count = 1;
		free(node->error_list[0].text);
		node->error_list[0].text =
		    ls_asprintf("fio says error %lld for job \"%.200s\": its figures are those of a part",
			(long long)error, import_fio_job_name(job));
		scan->failed++;
	}
	scan->bytes += f.bytes == LS_UNKNOWN_U64 ? (double)NAN : (double)f.bytes;
	scan->longest = fmax(scan->longest, f.runtime_ms);
	scan->shortest = scan->shortest < 0 ? f.runtime_ms : fmin(scan->shortest, f.runtime_ms);
	if (!f.consistent)
		import_phase_warn(phase, "%s: bytes, time and rate do not agree in fio's own output", name);
}

/* The first job of a group that did something in that direction, or NULL. */
static json_t *
first_of(json_t *jobs, int64_t group, enum fio_direction d)
{
	for (size_t i = 0; i < json_array_size(jobs); i++) {
		json_t *job = json_array_get(jobs, i);

		if (group_of(job) == group && !is_all_clients(job) && import_fio_did(job, d))
			return job;
	}
	return NULL;
}

static void
add_phase(struct results *doc, json_t *root, int64_t group, enum fio_direction d, bool kib, size_t line)
{
	json_t *globals = json_object_get(root, "global options");
	json_t *jobs = jobs_of(root);
	static const enum phase_kind kinds[] = { PHASE_READ, PHASE_WRITE, PHASE_WRITE };
	static const enum phase_kind random_kinds[] = { PHASE_RANDOM_READ, PHASE_RANDOM_WRITE, PHASE_RANDOM_WRITE };
	bool same = same_names(jobs, group, d);
	struct phase_scan scan = { .shortest = -1 };
	json_t *first;
	char title[160];

	first = first_of(jobs, group, d);
	if (first == NULL)
		return;
	bool random = import_fio_option_has(globals, first, "rw", "rand");
	struct phase_result *phase =
	    import_phase(doc, random ? random_kinds[d] : kinds[d], import_fio_direction_names[d], line);
	if (same)
		snprintf(title, sizeof(title), "%.100s %s", import_fio_job_name(first), import_fio_direction_names[d]);
	else
		snprintf(title, sizeof(title), "group %lld %s", (long long)group, import_fio_direction_names[d]);
	free(phase->name);
	phase->name = ls_malloc(129);
	import_copy(phase->name, 129, title, strlen(title));
	phase->imported->title = ls_malloc(1025);
	import_copy(phase->imported->title, 1025, import_fio_job_name(first), strlen(import_fio_job_name(first)));
	import_phase_sizes(phase, LS_UNKNOWN_U64, import_fio_block_size(globals, first));
	phase->spec.direct = import_fio_option_has(globals, first, "direct", "1");
	for (size_t i = 0; i < json_array_size(jobs); i++) {
		json_t *job = json_array_get(jobs, i);

		if (group_of(job) == group && !is_all_clients(job) && import_fio_did(job, d))
			add_job(doc, phase, jobs, i, d, kib, same, &scan);
	}
	if (scan.failed > 0) {
		phase->state = PHASE_STATE_FAILED;
		import_phase_warn(phase, "%zu of %zu jobs failed", scan.failed, phase->nodes_count);
	}
	longest_runtime(phase, scan.bytes, scan.shortest, scan.longest);
	all_clients_metrics(phase, jobs, d);
}

/* --- one document ------------------------------------------------------------------------------------------------- */

static void
add_phases(struct results *doc, json_t *root, bool kib, size_t line)
{
	json_t *jobs = jobs_of(root);
	size_t i, k;
	json_t *job, *before;

	json_array_foreach(jobs, i, job)
	{
		bool seen = is_all_clients(job);

		for (k = 0; k < i && !seen; k++) {
			before = json_array_get(jobs, k);
			seen = !is_all_clients(before) && group_of(before) == group_of(job);
		}
		if (seen)
			continue;
		for (int d = 0; d < FIO_DIRECTIONS; d++)
			add_phase(doc, root, group_of(job), (enum fio_direction)d, kib, line);
	}
}

static void
mark(struct results *doc, const struct noise *noise, json_t *jobs)
{
	const char *asked = import_setting_get(doc, "runtime");
	size_t failed = 0;

	for (size_t i = 0; i < doc->phases_count; i++) {
		failed += doc->phases[i].state == PHASE_STATE_FAILED;
		if (noise->signal[0] != '\0')
			doc->phases[i].state = PHASE_STATE_INTERRUPTED;
	}
	if (noise->signal[0] != '\0') {
		int64_t elapsed = integer(json_array_get(jobs, 0), "elapsed");

		doc->run.state = RUN_ABORTED;
		doc->run.reason = ls_asprintf("fio was stopped: %s, after %lld s%s%.40s", noise->signal,
		    (long long)elapsed, asked != NULL ? " of the asked " : "", asked != NULL ? asked : "");
		import_warn(doc, "%s", doc->run.reason);
	} else if (failed > 0) {
		doc->run.state = RUN_FAILED;
		doc->run.reason = ls_asprintf("jobs failed in %zu of %zu phases", failed, doc->phases_count);
	}
	if (noise->errors > 0)
		import_warn(
		    doc, "%zu messages of fio stand before its results, the first: %s", noise->errors, noise->first);
	if (noise->unknown > 0)
		import_warn(doc, "%zu lines before fio's results mean nothing here and were skipped", noise->unknown);
}

static enum ls_rc
add_doc(const struct import_text *text, struct import_set *set, json_t *root, const struct noise *noise, size_t line,
    size_t last, struct ls_err *err)
{
	const char *version = version_of(root);
	json_t *jobs = jobs_of(root);
	double major = 3;
	const char *end;

	if (!json_is_array(jobs) || json_array_size(jobs) == 0)
		return import_error(
		    err, line, "fio's output has no jobs%s%s", noise->first[0] != '\0' ? ": " : "", noise->first);
	if (version == NULL)
		return import_error(err, line, "fio's output does not tell fio's version");
	import_number_prefix(version, &major, &end);
	struct results *doc = import_doc(
	    set, "fio", version, json_object_get(root, "jobs") != NULL ? "fio JSON" : "fio JSON client/server", line);
	/* those of further jobs differ by job, and stay in the file */
	options_to_settings(doc, json_object_get(json_array_get(jobs, 0), "job options"));
	options_to_settings(doc, json_object_get(root, "global options"));
	const char *time = json_string_value(json_object_get(root, "time"));
	if (time != NULL)
		import_setting(doc, "time", "%s", time);
	add_phases(doc, root, major < 3, line);
	if (doc->phases_count == 0)
		return import_error(err, line, "no job in fio's output has done anything");
	mark(doc, noise, jobs);
	import_title(doc, import_fio_job_name(json_array_get(jobs, 0)));
	import_finish(doc, text, last);
	return LS_OK;
}

/* --- finding it --------------------------------------------------------------------------------------------------- */

/* The text from a line on, lines joined again. starts[i] is the place of line from + i. */
static void
join(const struct import_text *text, struct sink *out, size_t **starts)
{
	*starts = ls_calloc(text->count + 1, sizeof(**starts));
	for (size_t i = 0; i < text->count; i++) {
		(*starts)[i] = out->len;
		sink_add(out, text->lines[i], strlen(text->lines[i]));
		sink_add(out, "\n", 1);
	}
	(*starts)[text->count] = out->len;
}

static bool
looks_like_fio(const char *at, size_t len)
{
	static const char *const keys[] = { "\"fio version\"", "\"fioversion\"", "\"client_stats\"" };
	char head[513];

	/* in objects whose keys were sorted the version stands at the end */
	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		if (memmem(at, len, keys[k], strlen(keys[k])) != NULL) {
			import_copy(head, sizeof(head), at, LS_MIN(len, sizeof(head) - 1));
			return strstr(head, "\"fio") != NULL || strstr(head, "\"jobs\"") != NULL ||
			    strstr(head, "\"disk_util\"") != NULL || strstr(head, "\"global options\"") != NULL ||
			    strstr(head, "\"client_stats\"") != NULL || strstr(head, "\"timestamp") != NULL;
		}
	return false;
}

static void
note(struct noise *noise, const char *line)
{
	const char *rest = import_after(line, "fio: ");

	if (line[0] == '\0')
		return;
	if (rest != NULL && strncmp(rest, "terminating on signal", 21) == 0) {
		import_copy(noise->signal, sizeof(noise->signal), rest, strlen(rest));
		return;
	}
	if (rest != NULL || strstr(line, "> error: ") != NULL) {
		if (noise->errors++ == 0)
			import_copy(noise->first, sizeof(noise->first), line, strlen(line));
		return;
	}
	if (import_after(line, "hostname=") == NULL && import_after(line, "Disk stats") == NULL &&
	    import_after(line, "Jobs: ") == NULL)
		noise->unknown++;
}

/* An integer above 2^63 (an unused minimum) is no reason to refuse: then all integers are read as reals. */
static json_t *
parse(const char *at, size_t len, json_error_t *error)
{
	size_t flags = JSON_DISABLE_EOF_CHECK;
	json_t *root = json_loadb(at, len, flags, error);

	if (root == NULL && json_error_code(error) == json_error_numeric_overflow)
		root = json_loadb(at, len, flags | JSON_DECODE_INT_AS_REAL, error);
	return root;
}

static size_t
line_at(const size_t *starts, size_t from, size_t count, size_t place)
{
	while (from + 1 < count && starts[from + 1] <= place)
		from++;
	return from;
}

/* The object that begins on line *i, if one does; *i becomes its last line. */
static enum ls_rc
take(const struct import_text *text, const struct sink *all, const size_t *starts, size_t *i, struct import_set *set,
    struct noise *noise, struct ls_err *err)
{
	const char *at = all->text + starts[*i];
	size_t len = all->len - starts[*i];
	json_error_t error;
	enum ls_rc rc;

	if (text->lines[*i][strspn(text->lines[*i], " \t")] != '{' || !looks_like_fio(at, len)) {
		note(noise, text->lines[*i]);
		return LS_OK;
	}
	json_t *root = parse(at, len, &error);
	if (root == NULL) {
		const char *why =
		    json_error_code(&error) == json_error_premature_end_of_input ? "is cut off" : "is broken";

		return import_error(err, *i + (size_t)LS_MAX(error.line, 1) - 1,
		    "fio's JSON, which begins in line %zu, %s here (%s)%s%s%s", *i + 1, why, error.text,
		    noise->errors > 0 ? "; messages before it: " : "", noise->errors > 0 ? noise->first : "",
		    noise->errors > 1 ? " and more" : "");
	}
	size_t last = line_at(starts, *i, text->count, starts[*i] + (size_t)error.position - 1);
	rc = jobs_of(root) != NULL ? add_doc(text, set, root, noise, *i, last, err) : LS_OK;
	json_decref(root);
	*noise = (struct noise){ .from = last + 1 };
	*i = last;
	return rc;
}

static bool
fio_sees(const struct import_text *text)
{
	return import_text_has(text, "\"fio version\"") || import_text_has(text, "\"fioversion\"") ||
	    import_text_has(text, "\"client_stats\"");
}

static enum ls_rc
fio_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct sink all = { 0 };
	struct noise noise = { 0 };
	size_t *starts;
	enum ls_rc rc = LS_OK;

	join(text, &all, &starts);
	for (size_t i = 0; i < text->count && rc == LS_OK; i++)
		rc = take(text, &all, starts, &i, set, &noise, err);
	free(starts);
	sink_free(&all);
	return rc;
}

const struct importer import_fio = {
	.name = "fio",
	.help = "fio 2.x to 3.4x: JSON and JSON+, also of client and server, with text around it",
	.sees = fio_sees,
	.read = fio_read,
};
