/*
 * bonnie++ 1.02 to 2.00. Each run prints a console table and a CSV line that tell the same: the CSV is read where it is there,
 * as it has the whole name and figures that the console rounds or, in 2.00, gets wrong.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/bonnie_int.h"

extern const struct importer import_bonnie;

static const struct {
	const char *test;
	enum phase_kind kind;
	bool bytes; /* its rate is KiB/s, else operations */
} tests[BONNIE_TESTS] = {
	{ "putc", PHASE_CHAR_WRITE, true },
	{ "put_block", PHASE_BLOCK_OUT, true },
	{ "rewrite", PHASE_BONNIE_REWRITE, true },
	{ "getc", PHASE_CHAR_READ, true },
	{ "get_block", PHASE_BLOCK_IN, true },
	{ "seeks", PHASE_SEEKS, false },
	{ "seq_create", PHASE_BONNIE_CREATE, false },
	{ "seq_stat", PHASE_BONNIE_STAT, false },
	{ "seq_del", PHASE_BONNIE_DELETE, false },
	{ "ran_create", PHASE_BONNIE_CREATE, false },
	{ "ran_stat", PHASE_BONNIE_STAT, false },
	{ "ran_del", PHASE_BONNIE_DELETE, false },
};

/* Rates of 2.00's console may be rounded: "50.6m" are 50.6 times 1024 KiB. */
static double
rate_value(const char *text, bool bytes, bool console_bytes)
{
	static const char units[] = "kmg";
	double value;
	const char *unit;

	if (!import_number_prefix(text, &value, &unit))
		return (double)NAN;
	if (unit[0] != '\0' && strchr(units, unit[0]) != NULL)
		return value * ldexp(1, 10 * (int)(strchr(units, unit[0]) - units + 1));
	return bytes && !console_bytes ? value * 1024 : value;
}

static double
latency_ns(const char *text)
{
	double value;
	const char *unit;

	if (!import_number_prefix(text, &value, &unit))
		return (double)NAN;
	return value * (strcmp(unit, "us") == 0 ? 1e3 : strcmp(unit, "ms") == 0 ? 1e6 : 1e9);
}

static void
add_test(struct results *doc, const struct bonnie_row *row, size_t t, const char *name)
{
	uint64_t size = LS_UNKNOWN_U64;
	double cpu;
	double latency = latency_ns(row->latency[t]);
	/* 2.00's console prints bytes a second with a unit of k, m or g, without one as they are */
	bool plain = row->console && row->version[0] >= '2';

	if (row->rate[t][0] == '\0')
		return;
	struct phase_result *phase = import_phase(doc, tests[t].kind, tests[t].test, row->line);
	const char *colon = strchr(row->size, ':');
	if (t >= BONNIE_IO ||
	    !import_size(row->size, colon != NULL ? (size_t)(colon - row->size) : strlen(row->size), 1 << 20, &size))
		size = LS_UNKNOWN_U64;
	import_phase_sizes(phase, size, LS_UNKNOWN_U64);
	struct node_result *node = import_node(doc, phase, name);
	double rate = rate_value(row->rate[t], tests[t].bytes, plain);
	if (tests[t].bytes)
		node->bytes_per_s = rate;
	else
		node->ops_per_s = rate;
	if (isnan(rate))
		import_phase_warn(phase, "bonnie++ found it too short to measure (%s)", row->rate[t]);
	if (import_number(row->cpu[t], strlen(row->cpu[t]), &cpu))
		import_node_metric(node, "cpu", cpu, "%");
	if (!isnan(latency)) {
		import_latency(node)->max = (int64_t)latency;
		import_node_metric(node, "latency_max", latency, "ns");
	}
}

static void
add_settings(struct results *doc, const struct bonnie_row *row)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{ "size", row->size },
		{ "chunk", row->chunk },
		{ "concurrency", row->concurrency },
		{ "seed", row->seed },
		{ "seeks", row->seeks },
		{ "seekers", row->seekers },
		{ "files", row->files },
		{ "file max size", row->file_max },
		{ "file min size", row->file_min },
		{ "directories", row->dirs },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].value[0] != '\0')
			import_setting(doc, all[i].name, "%s", all[i].value);
}

/* What the versions measure differently stands in the manual; here only what touches these numbers. */
static void
add_warnings(struct results *doc, const struct bonnie_row *row, const struct bonnie_row *console)
{
	if (!row->console && row->name[0] == '\0' && console != NULL && console->name[0] != '\0')
		import_warn(doc, "the machine's name is empty in the CSV line; the console table calls it \"%s\"",
		    console->name);
	else if (row->name[0] == '\0')
		import_warn(doc, "the machine has no name in the output");
	if (row->console && row->version[0] >= '2')
		import_warn(doc,
		    "read from the console: rates are rounded, and the file rates that bonnie++ 2.00 prints there are "
		    "left "
		    "out as wrong");
	if (row->concurrency[0] != '\0' && strcmp(row->concurrency, "1") != 0)
		import_warn(
		    doc, "bonnie++ says concurrency %s, but starts nothing in parallel itself", row->concurrency);
}

static void
add_doc(const struct import_text *text, struct import_set *set, const struct bonnie_row *row,
    const struct bonnie_row *console, size_t after)
{
	size_t first = console != NULL ? LS_MIN(console->line, row->line) : row->line;
	const char *name = row->name[0] != '\0' || console == NULL ? row->name : console->name;
	const char *version = row->version[0] != '\0' || console == NULL ? row->version : console->version;
	struct results *doc = import_doc(
	    set, row->own ? "lockstep" : "bonnie++", version[0] != '\0' ? version : NULL, row->format, first);

	if (name[0] == '\0')
		name = IMPORT_UNNAMED;
	if (version[0] == '\0' && strcmp(row->format, "bonnie++ CSV 1.03") == 0)
		import_set_version(doc, "1.03");
	import_title(doc, import_heading(text, "bonnie++ -", first, after));
	add_settings(doc, row);
	add_warnings(doc, row, console);
	for (size_t t = 0; t < BONNIE_TESTS; t++)
		if (t < BONNIE_IO || !row->console || row->version[0] < '2')
			add_test(doc, row, t, name);
	import_finish(doc, text, row->last);
}

/* --- which table belongs to which CSV line ------------------------------------------------------------------------ */

static bool
same_figures(const struct bonnie_row *csv, const struct bonnie_row *console)
{
	size_t equal = 0;

	if (console->bad != NULL || strcmp(csv->size, console->size) != 0)
		return false;
	for (size_t t = 0; t < BONNIE_TESTS; t++) {
		if (console->rate[t][0] == '\0')
			continue;
		if (strcmp(csv->rate[t], console->rate[t]) != 0)
			return false;
		equal += strpbrk(csv->rate[t], "0123456789") != NULL;
	}
	return equal > 0;
}

/* Finds the table of each CSV line: of[i] is its index, or SIZE_MAX. used: tables that have a line. */
static void
pair(const struct bonnie_rows *csv, const struct bonnie_rows *tables, size_t *of, bool *used)
{
	for (size_t i = 0; i < csv->count; i++) {
		of[i] = SIZE_MAX;
		for (size_t k = 0; k < tables->count && of[i] == SIZE_MAX; k++)
			if (!used[k] && same_figures(&csv->rows[i], &tables->rows[k]))
				of[i] = k;
		if (of[i] != SIZE_MAX)
			used[of[i]] = true;
	}
	/* what cannot be compared goes by place: the table just above, with no other line between */
	for (size_t i = 0; i < csv->count; i++) {
		size_t above = SIZE_MAX;

		for (size_t k = 0; k < tables->count && tables->rows[k].line < csv->rows[i].line; k++)
			above = k;
		if (of[i] != SIZE_MAX || above == SIZE_MAX || used[above])
			continue;
		if (i > 0 && csv->rows[i - 1].line > tables->rows[above].line)
			continue;
		bool rounded = tables->rows[above].bad != NULL || tables->rows[above].version[0] >= '2';
		if (!rounded || strcmp(tables->rows[above].version, csv->rows[i].version) != 0)
			continue;
		of[i] = above;
		used[above] = true;
	}
}

static enum ls_rc
add_docs(const struct import_text *text, struct import_set *set, const struct bonnie_rows *csv,
    const struct bonnie_rows *tables, struct ls_err *err)
{
	size_t *of = ls_calloc(csv->count + 1, sizeof(*of));
	bool *used = ls_calloc(tables->count + 1, sizeof(*used));
	size_t after = 0;
	enum ls_rc rc = LS_OK;

	pair(csv, tables, of, used);
	for (size_t i = 0, k = 0; (i < csv->count || k < tables->count) && rc == LS_OK;) {
		if (k < tables->count && (i == csv->count || tables->rows[k].line < csv->rows[i].line)) {
			const struct bonnie_row *table = &tables->rows[k++];

			if (used[k - 1])
				continue;
			if (table->bad != NULL) {
				rc = import_error(err, table->line,
				    "this table of bonnie++ cannot be read (%s), and no CSV line tells the same",
				    table->bad);
				continue;
			}
			add_doc(text, set, table, NULL, after);
			after = table->last + 1;
			continue;
		}
		add_doc(text, set, &csv->rows[i], of[i] != SIZE_MAX ? &tables->rows[of[i]] : NULL, after);
		after = csv->rows[i++].last + 1;
	}
	free(of);
	free(used);
	return rc;
}

static bool
bonnie_sees(const struct import_text *text)
{
	return text->count > 0;
}

static enum ls_rc
bonnie_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct bonnie_rows csv = { 0 };
	struct bonnie_rows tables = { 0 };
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		struct bonnie_row row;
		bool is;

		rc = import_bonnie_csv_row(text, i, &is, &row, err);
		if (rc != LS_OK || !is)
			continue;
		csv.rows = ls_grow(csv.rows, csv.count, sizeof(*csv.rows));
		csv.rows[csv.count++] = row;
	}
	import_bonnie_console_rows(text, &tables);
	if (rc == LS_OK)
		rc = add_docs(text, set, &csv, &tables, err);
	free(csv.rows);
	free(tables.rows);
	return rc;
}

const struct importer import_bonnie = {
	.name = "bonnie++",
	.help = "bonnie++ 1.02 to 2.00: CSV of 27, 47, 48 and 50 fields, console tables, tables pasted from them",
	.sees = bonnie_sees,
	.read = bonnie_read,
};
