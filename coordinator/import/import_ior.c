/*
 * IOR 3.x consoles. MPI holds its tasks together, so its figure is an aggregate (all work over last end minus first start); it tells
 * none of single nodes. The summary has more digits than the result row and is preferred where one repetition was made.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/import_int.h"

extern const struct importer import_ior;

#define MIB          1048576.0
#define WARNINGS_MAX 8

/* A kind of warning line, numbers aside, and how often it came. */
struct remark {
	char text[200];  /* digits are N */
	char first[200]; /* as it came first */
	size_t count;
};

struct ior {
	const struct import_text *text;
	struct results *doc;
	size_t first;
	char titles[256];   /* the line that names the columns of the rows; "": not yet */
	char summary[1024]; /* the line that names those of the summary */
	size_t row_phases;  /* phases made of rows */
	bool max_seen, finished;
	struct remark remarks[WARNINGS_MAX];
	size_t remark_count;
	size_t fsync_failed, partial;
	uint64_t moved;      /* "actual aggregate bytes moved" */
	double stonewall[3]; /* pairs min, max, time */
	uint64_t tasks;
};

/* The word of a row below a title, by position in the list of titles. */
static bool
column(const char *titles, const struct import_words *row, const char *title, double *out)
{
	struct import_words t;

	import_words_of(titles, &t);
	for (size_t i = 0; i < t.count; i++)
		if (import_word_is(&t, i, title))
			return import_word_number(row, i, out);
	return false;
}

/* The same; unknown where the tool says NA. */
static bool
column_or_nan(const char *titles, const struct import_words *row, const char *title, double *out)
{
	*out = (double)NAN;
	return column(titles, row, title, out);
}

static void
add_remark(struct ior *o, const char *line)
{
	char kind[200];
	size_t n = 0;

	/* the same warning of many tasks differs in numbers only */
	for (size_t i = 0; line[i] != '\0' && n + 1 < sizeof(kind); i++) {
		if (line[i] >= '0' && line[i] <= '9') {
			if (n == 0 || kind[n - 1] != 'N')
				kind[n++] = 'N';
			continue;
		}
		kind[n++] = line[i];
	}
	kind[n] = '\0';
	for (size_t i = 0; i < o->remark_count; i++)
		if (strcmp(o->remarks[i].text, kind) == 0) {
			o->remarks[i].count++;
			return;
		}
	if (o->remark_count < WARNINGS_MAX) {
		snprintf(o->remarks[o->remark_count].text, sizeof(kind), "%s", kind);
		import_copy(o->remarks[o->remark_count].first, sizeof(kind), line, strlen(line));
		o->remarks[o->remark_count++].count = 1;
	}
}

static void
take_warning(struct ior *o, const char *line)
{
	const char *text = strstr(line, "WARNING: ");
	const char *equal = strrchr(line, '=');
	const char *end;
	double value;

	text += strlen("WARNING: ");
	if (strstr(text, "fsync") != NULL && strstr(text, "failed") != NULL)
		o->fsync_failed++;
	if (strstr(text, "partial read") != NULL || strstr(text, "partial write") != NULL)
		o->partial++;
	if (strstr(text, "actual aggregate bytes moved") != NULL && equal != NULL &&
	    import_number_prefix(equal + 1, &value, &end) && value >= 0 && value < 9e15)
		o->moved = (uint64_t)value;
	add_remark(o, text);
}

/* What was said between the titles and the row belongs to the row. */
static void
add_remarks(struct ior *o, struct phase_result *phase)
{
	if (o->fsync_failed > 0) {
		phase->state = PHASE_STATE_FAILED;
		phase->aggregate.errors = o->fsync_failed;
		import_phase_warn(phase,
		    "fsync failed %zu times: the data was not made durable, and the rate is not to be believed",
		    o->fsync_failed);
	}
	if (o->partial > 0)
		import_phase_warn(phase, "%zu calls moved less than was asked", o->partial);
	for (size_t i = 0; i < o->remark_count; i++)
		import_phase_warn(phase, "IOR warned%s: %s", o->remarks[i].count > 1 ? " more than once" : "",
		    o->remarks[i].count > 1 ? o->remarks[i].text : o->remarks[i].first);
	if (!isnan(o->stonewall[2])) {
		import_phase_metric(phase, "stonewall: fewest accesses of a task", o->stonewall[0], "op");
		import_phase_metric(phase, "stonewall: most accesses of a task", o->stonewall[1], "op");
		import_phase_metric(phase, "stonewall: time", o->stonewall[2], "s");
		if (o->stonewall[0] < 0.9 * o->stonewall[1])
			import_phase_warn(phase,
			    "when the time was over the slowest task had done %.0f %% of the fastest",
			    100 * o->stonewall[0] / o->stonewall[1]);
	}
	if (o->moved != LS_UNKNOWN_U64)
		phase->aggregate.bytes = o->moved;
	o->fsync_failed = o->partial = o->remark_count = 0;
	o->moved = LS_UNKNOWN_U64;
	o->stonewall[0] = o->stonewall[1] = o->stonewall[2] = (double)NAN;
}

static uint64_t
setting_size(const struct results *doc, const char *name)
{
	double value;
	const char *text = import_setting_get(doc, name);
	const char *unit;

	if (text == NULL || !import_number_prefix(text, &value, &unit))
		return LS_UNKNOWN_U64;
	unit += strspn(unit, " ");
	double scale = strncmp(unit, "bytes", 5) == 0 ? 1
	    : strncmp(unit, "KiB", 3) == 0            ? 1024
	    : strncmp(unit, "MiB", 3) == 0            ? MIB
	    : strncmp(unit, "GiB", 3) == 0            ? MIB * 1024
						      : (double)NAN;
	value *= scale;
	return value >= 0 && value < 9e15 && value == floor(value) ? (uint64_t)value : LS_UNKNOWN_U64;
}

static struct phase_result *
find_phase(struct ior *o, const char *test)
{
	for (size_t i = o->doc->phases_count; i > 0; i--)
		if (strcmp(o->doc->phases[i - 1].imported->test, test) == 0)
			return &o->doc->phases[i - 1];
	return NULL;
}

static void
take_row(struct ior *o, const struct import_words *w, size_t line)
{
	char test[16];
	double rate, value;
	double seconds = (double)NAN;

	import_word_copy(w, 0, test, sizeof(test));
	if (!column(o->titles, w, "bw(MiB/s)", &rate))
		return;
	struct phase_result *phase =
	    import_phase(o->doc, strcmp(test, "write") == 0 ? PHASE_WRITE : PHASE_READ, test, line);
	import_phase_sizes(phase, LS_UNKNOWN_U64, setting_size(o->doc, "xfersize"));
	phase->aggregate.last_done.bytes_per_s = rate * MIB;
	if (column_or_nan(o->titles, w, "IOPS", &value))
		phase->aggregate.last_done.ops_per_s = value;
	if (column_or_nan(o->titles, w, "Latency(s)", &value))
		import_phase_metric(phase, "latency", value, "s");
	if (column_or_nan(o->titles, w, "open(s)", &value))
		import_phase_metric(phase, "open", value, "s");
	if (column_or_nan(o->titles, w, "wr/rd(s)", &value))
		import_phase_metric(phase, "transfer", value, "s");
	if (column_or_nan(o->titles, w, "close(s)", &value))
		import_phase_metric(phase, "close", value, "s");
	if (column_or_nan(o->titles, w, "total(s)", &seconds)) {
		phase->duration_ns = import_to_i64(round(seconds * 1e9));
		import_phase_metric(phase, "total", seconds, "s");
	}
	if (column_or_nan(o->titles, w, "iter", &value) && value >= 0 && value < 1e6)
		phase->repetition = (uint64_t)value;
	import_phase_metric(phase, "rate", rate, "MiB/s");
	add_remarks(o, phase);
	o->row_phases++;
}

/* bytes from the summary: exact from its counts where they agree with the size that it prints. */
static uint64_t
summary_bytes(const struct ior *o, const struct import_words *w)
{
	double tasks, segments, block, told;

	if (!column(o->summary, w, "aggsize", &told)) {
		if (!column(o->summary, w, "aggs(MiB)", &told))
			return LS_UNKNOWN_U64;
		told *= MIB;
	}
	if (column(o->summary, w, "#Tasks", &tasks) && column(o->summary, w, "segcnt", &segments) &&
	    column(o->summary, w, "blksiz", &block) && fabs(tasks * segments * block - told) <= 0.06 * MIB)
		told = tasks * segments * block;
	return told >= 0 && told < 9e18 ? (uint64_t)told : LS_UNKNOWN_U64;
}

static void
take_summary(struct ior *o, const struct import_words *w)
{
	char test[16];
	double value;

	import_word_copy(w, 0, test, sizeof(test));
	struct phase_result *phase = find_phase(o, test);
	if (phase == NULL || phase->repetition > 0)
		return; /* the mean of repetitions is no result of one */
	if (column(o->summary, w, "Max(MiB)", &value)) {
		phase->aggregate.last_done.bytes_per_s = value * MIB;
		import_phase_metric(phase, "summary rate", value, "MiB/s");
	}
	if (column(o->summary, w, "Max(OPs)", &value))
		phase->aggregate.last_done.ops_per_s = value;
	if (column(o->summary, w, "Mean(s)", &value)) {
		phase->duration_ns = import_to_i64(round(value * 1e9));
		import_phase_metric(phase, "summary time", value, "s");
	}
	if (strstr(o->summary, "Stonewall(s)") != NULL) {
		import_phase_metric(phase, "Stonewall(s)",
		    column_or_nan(o->summary, w, "Stonewall(s)", &value) ? value : (double)NAN, "s");
		import_phase_metric(phase, "Stonewall(MiB)",
		    column_or_nan(o->summary, w, "Stonewall(MiB)", &value) ? value : (double)NAN, "MiB");
	}
	if (phase->aggregate.bytes == LS_UNKNOWN_U64)
		phase->aggregate.bytes = summary_bytes(o, w);
}

/* "stonewalling pairs accessed min: 5226 max: 8000 -- min data: 0.2 GiB mean data: 0.3 GiB time: 300.3s" */
static void
take_stonewall(struct ior *o, const char *line)
{
	static const char *const marks[] = { "min: ", "max: ", "time: " };
	const char *end;

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		const char *at = strstr(line, marks[i]);

		if (at == NULL || !import_number_prefix(at + strlen(marks[i]), &o->stonewall[i], &end))
			o->stonewall[i] = (double)NAN;
	}
}

/* "name : value" and, in 3.0 and 3.1, "name = value". NaN tells nothing and is left out. */
static void
take_setting(struct ior *o, const char *line)
{
	size_t len = strcspn(line, ":=");
	char name[128];

	if (line[len] == '\0' || len >= 40 || o->titles[0] != '\0')
		return;
	const char *value = line + len + 1;
	value += strspn(value, " ");
	len -= strspn(line, " \t");
	line += strspn(line, " \t");
	while (len > 0 && line[len - 1] == ' ')
		len--;
	import_copy(name, sizeof(name), line, len);
	if (name[0] != '\0' && value[0] != '\0' && strstr(value, "nan") == NULL)
		import_setting(o->doc, name, "%s", value);
}

static void
take_line(struct ior *o, const char *line, size_t i)
{
	struct import_words w;

	import_words_of(line, &w);
	if (strstr(line, "WARNING: ") != NULL) {
		take_warning(o, line);
	} else if (import_word_is(&w, 0, "access") && import_word_is(&w, 1, "bw(MiB/s)")) {
		snprintf(o->titles, sizeof(o->titles), "%.255s", line);
	} else if (import_word_is(&w, 0, "Operation") && import_word_is(&w, 1, "Max(MiB)")) {
		snprintf(o->summary, sizeof(o->summary), "%.1023s", line);
	} else if (import_after(line, "stonewalling pairs accessed") != NULL) {
		take_stonewall(o, line);
	} else if (import_after(line, "Max Write:") != NULL || import_after(line, "Max Read:") != NULL) {
		o->max_seen = true;
	} else if (import_after(line, "Finished") != NULL) {
		o->finished = true;
	} else if (o->titles[0] != '\0' && (import_word_is(&w, 0, "write") || import_word_is(&w, 0, "read"))) {
		if (o->summary[0] != '\0')
			take_summary(o, &w);
		else
			take_row(o, &w, i);
	} else {
		take_setting(o, line);
	}
}

static const char *
begins_run(const char *line)
{
	const char *rest = import_after(line, "IOR-");

	return rest != NULL && rest[0] >= '0' && rest[0] <= '9' && strstr(rest, "Parallel I/O") != NULL ? rest : NULL;
}

static enum ls_rc
finish(struct ior *o, size_t last, struct ls_err *err)
{
	if (o->doc == NULL)
		return LS_OK;
	if (o->row_phases == 0)
		return import_error(err, o->first, "this run of IOR has no result row: it was cut or has failed");
	if (o->summary[0] == '\0')
		import_warn(o->doc,
		    "the summary is missing: the figures are those of the result rows, and rounded as these are");
	else if (!o->finished)
		import_warn(o->doc, "the output ends before \"Finished\"");
	if (o->fsync_failed > 0 || o->remark_count > 0)
		add_remarks(o, &o->doc->phases[o->doc->phases_count - 1]);
	for (size_t i = 0; i < o->doc->phases_count; i++) {
		if (o->doc->phases[i].state != PHASE_STATE_FAILED)
			continue;
		o->doc->run.state = RUN_FAILED;
		free(o->doc->run.reason);
		o->doc->run.reason = ls_asprintf("%s: %s", o->doc->phases[i].name, o->doc->phases[i].warnings[0]);
	}
	import_finish(o->doc, o->text, last);
	return LS_OK;
}

static bool
ior_sees(const struct import_text *text)
{
	return import_text_has(text, "IOR-");
}

static enum ls_rc
ior_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct ior o = { .text = text };
	enum ls_rc rc = LS_OK;
	size_t last = 0;

	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		const char *line = text->bare[i];
		const char *version = begins_run(line);

		if (version != NULL) {
			char name[64];

			rc = finish(&o, last, err);
			import_copy(name, sizeof(name), version, strcspn(version, ": "));
			o = (struct ior){ .text = text, .first = i, .moved = LS_UNKNOWN_U64 };
			o.stonewall[0] = o.stonewall[1] = o.stonewall[2] = (double)NAN;
			o.doc = import_doc(set, "IOR", name, "IOR console", i);
			import_title(o.doc, NULL);
			last = i;
			continue;
		}
		if (o.doc == NULL || line[0] == '\0' || o.finished)
			continue;
		take_line(&o, line, i);
		last = i;
	}
	return rc == LS_OK ? finish(&o, last, err) : rc;
}

const struct importer import_ior = {
	.name = "IOR",
	.help = "IOR 3.x: console output",
	.sees = ior_sees,
	.read = ior_read,
};
