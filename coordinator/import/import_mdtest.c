/*
 * mdtest 1.9 to 4.x: the table of its console, and the CSV of details by rank. A row of zeros is an operation that was not run.
 * The second table holds seconds of the phase, whatever its title says.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/import_int.h"

extern const struct importer import_mdtest;

static const struct {
	const char *label;
	enum phase_kind kind;
} operations[] = {
	{ "Directory creation", PHASE_MKDIR },
	{ "Directory stat", PHASE_STAT },
	{ "Directory read", PHASE_STAT },
	{ "Directory rename", PHASE_STAT },
	{ "Directory removal", PHASE_RMDIR },
	{ "File creation", PHASE_CREATE },
	{ "File stat", PHASE_STAT },
	{ "File read", PHASE_STAT },
	{ "File rename", PHASE_STAT },
	{ "File removal", PHASE_DELETE },
	{ "Tree creation", PHASE_MKDIR },
	{ "Tree removal", PHASE_RMDIR },
};

struct mdtest {
	const struct import_text *text;
	struct results *doc;
	size_t first;
	bool table, times; /* inside of the first, or of the second */
	bool tables_seen, finished, no_status;
	double planned, achieved;
};

static int
operation_of(const char *line, const char **rest)
{
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		*rest = import_after(line, operations[i].label);
		if (*rest == NULL)
			continue;
		if (**rest == ':')
			(*rest)++;
		return (int)i;
	}
	return -1;
}

static struct phase_result *
find_phase(const struct results *doc, const char *test)
{
	for (size_t i = 0; i < doc->phases_count; i++)
		if (strcmp(doc->phases[i].imported->test, test) == 0)
			return &doc->phases[i];
	return NULL;
}

static void
add_time(struct phase_result *phase, double seconds, double rate, double planned)
{
	double done = seconds * rate;

	import_phase_metric(phase, "time", seconds, "s");
	phase->duration_ns = import_to_i64(round(seconds * 1e9));
	if (strncmp(phase->imported->test, "File ", 5) != 0 || seconds < 1 || !(planned > 0))
		return;
	import_phase_metric(phase, "operations, from rate and time", round(done), "op");
	if (done < 0.9 * planned)
		import_phase_warn(
		    phase, "rate and time give about %.0f operations of %.0f planned ones", done, planned);
}

/* max, min, mean and standard deviation over the iterations */
static enum ls_rc
take_row(struct mdtest *m, int op, const char *rest, size_t line, struct ls_err *err)
{
	static const char *const names[] = { "max", "min", "mean", "std dev" };
	struct import_words w;
	double value[4];

	import_words_of(rest, &w);
	for (size_t i = 0; i < ARRAY_LEN(value); i++)
		if (!import_word_number(&w, i, &value[i]))
			return import_error(
			    err, line, "the row \"%s\" of mdtest has no four numbers", operations[op].label);
	if (value[0] == 0 && value[1] == 0 && value[2] == 0)
		return LS_OK;
	if (m->times) {
		struct phase_result *phase = find_phase(m->doc, operations[op].label);

		if (phase != NULL)
			add_time(phase, value[2], phase->aggregate.last_done.ops_per_s, m->planned);
		return LS_OK;
	}
	struct phase_result *phase = import_phase(m->doc, operations[op].kind, operations[op].label, line);
	phase->aggregate.last_done.ops_per_s = value[2];
	for (size_t i = 0; i < ARRAY_LEN(value); i++)
		import_phase_metric(phase, names[i], value[i], "op/s");
	if (m->no_status)
		import_phase_warn(phase,
		    "mdtest could not read how many files were made: it has divided the planned number, so that the "
		    "rate may be too "
		    "high");
	if (!isnan(m->achieved))
		import_phase_metric(phase, "files until the stonewall, per task", m->achieved, "");
	return LS_OK;
}

/* "8192 tasks, 1228800 files" and "1 tasks, 1000000 files/directories" */
static bool
take_plan(struct mdtest *m, const char *line)
{
	const char *end;
	double tasks, files;

	if (!import_number_prefix(line, &tasks, &end) || (end = import_after(end, "tasks,")) == NULL ||
	    !import_number_prefix(end, &files, &end))
		return false;
	import_setting(m->doc, "tasks", "%.0f", tasks);
	import_setting(m->doc, "files", "%.0f", files);
	m->planned = files;
	return true;
}

static void
take_other(struct mdtest *m, const char *line)
{
	static const char *const keys[] = { "Command line used:", "Path", "FS", "Nodemap:" };
	const char *rest;
	const char *end;

	if (strstr(line, "could not read stonewall status file") != NULL)
		m->no_status = true;
	if ((rest = import_after(line, "Continue stonewall hit min:")) != NULL)
		(void)import_number_prefix(rest, &m->achieved, &end);
	if (import_after(line, "-- finished at") != NULL)
		m->finished = true;
	if (m->tables_seen || take_plan(m, line))
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		rest = import_after(line, keys[i]);
		if (rest == NULL)
			continue;
		rest += strspn(rest, ": ");
		if (rest[0] != '\0' && strstr(rest, "nan") == NULL && import_setting_get(m->doc, keys[i]) == NULL)
			import_setting(m->doc, keys[i], "%s", rest);
		return;
	}
}

static enum ls_rc
take_line(struct mdtest *m, const char *line, size_t i, struct ls_err *err)
{
	const char *rest;
	int op;

	if (import_after(line, "SUMMARY") != NULL) {
		m->times = strstr(line, "time") != NULL;
		m->table = m->tables_seen = true;
		return LS_OK;
	}
	op = m->table ? operation_of(line, &rest) : -1;
	if (op >= 0)
		return take_row(m, op, rest, i, err);
	take_other(m, line);
	return LS_OK;
}

static enum ls_rc
finish(struct mdtest *m, size_t last, struct ls_err *err)
{
	if (m->doc == NULL)
		return LS_OK;
	if (!m->tables_seen)
		return import_error(err, m->first, "this run of mdtest has no table: it was cut or has failed");
	if (m->doc->phases_count == 0)
		return import_error(err, m->first, "all rows of this run of mdtest are zero: nothing was run");
	if (!m->finished)
		import_warn(m->doc, "the output ends before \"finished\"");
	import_finish(m->doc, m->text, last);
	return LS_OK;
}

/* "mdtest-3.4.0+dev was launched with 128 total task(s) on 4 node(s)" */
static bool
begin(struct mdtest *m, const char *line, size_t i, struct import_set *set)
{
	const char *version = import_after(line, "mdtest-");
	const char *launched = version != NULL ? strstr(version, " was launched with ") : NULL;
	const char *end;
	char name[64];
	double tasks, nodes;

	if (launched == NULL)
		return false;
	*m = (struct mdtest){ .text = m->text, .first = i, .planned = (double)NAN, .achieved = (double)NAN };
	import_copy(name, sizeof(name), version, (size_t)(launched - version));
	m->doc = import_doc(set, "mdtest", name, "mdtest console", i);
	import_title(m->doc, NULL);
	const char *on = strstr(launched, " on ");
	if (import_number_prefix(launched + strlen(" was launched with "), &tasks, &end))
		import_setting(m->doc, "total tasks", "%.0f", tasks);
	if (on != NULL && import_number_prefix(on + 4, &nodes, &end))
		import_setting(m->doc, "nodes", "%.0f", nodes);
	return true;
}

/* --- details by rank ---------------------------------------------------------------------------------------------- */

/* The values of one line, fields left out at its end being empty. */
static enum ls_rc
take_rank(
    struct results *doc, char **titles, size_t title_count, char **f, size_t count, size_t line, struct ls_err *err)
{
	bool all = strcmp(f[0], "all") == 0;

	if (count > title_count)
		return import_error(
		    err, line, "this line of mdtest's details has %zu fields for %zu columns", count, title_count);
	for (size_t i = 1; i < count; i++) {
		const char *test = import_after(titles[i], "rate-");
		double rate, seconds;
		char name[32];

		if (test == NULL || f[i][0] == '\0')
			continue;
		if (!import_number(f[i], strlen(f[i]), &rate))
			return import_error(
			    err, line, "field %zu of mdtest's details, \"%.40s\", is no number", i + 1, f[i]);
		struct phase_result *phase = find_phase(doc, test);
		const char *rest;
		int op = operation_of(test, &rest);
		if (phase == NULL)
			phase = import_phase(doc, op >= 0 ? operations[op].kind : PHASE_STAT, test, line);
		bool timed = i + 1 < count && import_number(f[i + 1], strlen(f[i + 1]), &seconds);
		if (all) {
			phase->aggregate.last_done.ops_per_s = rate;
			if (timed)
				add_time(phase, seconds, rate, (double)NAN);
			double items;
			if (count > 1 && import_number(f[1], strlen(f[1]), &items))
				import_phase_metric(phase, "items", items, "");
			continue;
		}
		snprintf(name, sizeof(name), "rank-%.20s", f[0]);
		struct node_result *node = import_node(doc, phase, name);
		node->ops_per_s = rate;
		if (timed)
			import_node_metric(node, "time", seconds, "s");
	}
	return LS_OK;
}

static enum ls_rc
read_ranks(const struct import_text *text, struct import_set *set, size_t *line, struct ls_err *err)
{
	size_t title_count;
	char **titles = import_csv_fields(text->bare[*line], &title_count);
	struct results *doc = import_doc(set, "mdtest", NULL, "mdtest rank details", *line);
	size_t first = *line;
	size_t i = *line + 1;
	enum ls_rc rc = LS_OK;

	for (; i < text->count && rc == LS_OK; i++) {
		size_t count;
		uint64_t rank;
		char **f = import_csv_fields(text->bare[i], &count);
		bool row = count > 1 && (strcmp(f[0], "all") == 0 || import_integer(f[0], strlen(f[0]), &rank));

		if (row)
			rc = take_rank(doc, titles, title_count, f, count, i, err);
		free(f);
		if (!row)
			break;
	}
	free(titles);
	if (rc == LS_OK && doc->phases_count == 0)
		rc = import_error(err, first, "mdtest's details hold no rate");
	/* the sum over ranks is no figure of mdtest's: the line "all" is */
	*line = i - 1;
	if (rc == LS_OK)
		import_finish(doc, text, *line);
	return rc;
}

static bool
mdtest_sees(const struct import_text *text)
{
	return import_text_has(text, "mdtest-") || import_text_has(text, "rank,items,rate-");
}

static enum ls_rc
mdtest_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct mdtest m = { .text = text };
	struct mdtest next = { .text = text };
	enum ls_rc rc = LS_OK;
	size_t last = 0;

	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		const char *line = text->bare[i];

		if (strncmp(line, "rank,items,rate-", 16) == 0) {
			rc = read_ranks(text, set, &i, err);
			continue;
		}
		if (strstr(line, " was launched with ") != NULL && begin(&next, line, i, set)) {
			rc = finish(&m, last, err);
			m = next;
			last = i;
			continue;
		}
		if (m.doc == NULL || line[0] == '\0' || m.finished)
			continue;
		rc = take_line(&m, line, i, err);
		last = i;
	}
	return rc == LS_OK ? finish(&m, last, err) : rc;
}

const struct importer import_mdtest = {
	.name = "mdtest",
	.help = "mdtest 1.9 to 4.x: console tables, details by rank (CSV)",
	.sees = mdtest_sees,
	.read = mdtest_read,
};
