/*
 * A workbook for spreadsheets, by libxlsxwriter: a summary; for tests that were run at many sizes a sheet each, file size by record
 * size in kB/s, as people make them from iozone's output; for every other phase a sheet with a row for each machine. Cells are
 * numbers at full precision, what is not known is empty. Without the library at build time the format says that it is missing.
 */
#include "coordinator/report/format.h"

extern const struct report_format report_xlsx;

#ifdef LS_HAVE_XLSXWRITER

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/by_op.h"
#include "coordinator/report/grid_int.h"
#include "coordinator/report/promise_int.h"
#include "coordinator/report/scale_int.h"
#include "coordinator/report/side_table.h"

#define MIB        1048576.0
#define MAX_SHEETS 250
#define MAX_BLOCKS 40 /* of single machines below a grid */

struct book {
	const struct results *results;
	lxw_workbook *workbook;
	lxw_worksheet *sheet; /* the one that is written */
	char name[32];        /* its name */
	lxw_row_t row;        /* the next one in it */
	lxw_format *title, *head, *whole, *figure;
	size_t sheets;
};

/* A column of a table with numbers. NAN: an empty cell. */
struct column {
	const char *title;
	double value;
	bool whole;
};

/* --- cells and sheets --------------------------------------------------------------------------------------------- */

static void
text(struct book *b, lxw_col_t column, const char *value, lxw_format *format)
{
	char cut[1024];

	if (value == NULL || value[0] == '\0')
		return;
	snprintf(cut, sizeof(cut), "%s", value);
	worksheet_write_string(b->sheet, b->row, column, cut, format);
}

static void
number(struct book *b, lxw_col_t column, double value, bool whole)
{
	if (isfinite(value))
		worksheet_write_number(b->sheet, b->row, column, value, whole ? b->whole : b->figure);
}

static double
known(uint64_t value)
{
	return value == LS_UNKNOWN_U64 ? (double)NAN : (double)value;
}

static double
microseconds(int64_t ns)
{
	return ns == LS_UNKNOWN_I64 ? (double)NAN : (double)ns / 1e3;
}

/* Names of sheets: at most 31 characters, some of which may not be in them, and no two alike. A number in front sees to that. */
static void
new_sheet(struct book *b, const char *what)
{
	int used = b->sheets == 0 ? 0 : snprintf(b->name, sizeof(b->name), "%zu ", b->sheets);

	for (; *what != '\0' && used < (int)sizeof(b->name) - 1; what++)
		b->name[used++] =
		    (*what & 0x80) != 0 || *what < ' ' || strchr("[]:*?/\\'", *what) != NULL ? '_' : *what;
	b->name[used] = '\0';
	b->sheet = workbook_add_worksheet(b->workbook, b->name);
	b->row = 0;
	b->sheets++;
}

static void
heading(struct book *b, const char *what)
{
	text(b, 0, what, b->title);
	b->row++;
}

static void
titles(struct book *b, lxw_col_t from, const struct column *columns, size_t count)
{
	for (size_t c = 0; c < count; c++)
		text(b, (lxw_col_t)(from + c), columns[c].title, b->head);
}

static void
numbers(struct book *b, lxw_col_t from, const struct column *columns, size_t count)
{
	for (size_t c = 0; c < count; c++)
		number(b, (lxw_col_t)(from + c), columns[c].value, columns[c].whole);
}

/* --- summary ------------------------------------------------------------------------------------------------------ */

static void
fact(struct book *b, const char *name, const char *value)
{
	text(b, 0, name, b->head);
	text(b, 1, value == NULL ? "n/a" : value, NULL);
	b->row++;
}

static void
facts(struct book *b)
{
	const struct run_info *run = &b->results->run;
	char count[32];

	heading(b, run->name);
	fact(b, "run", run->id);
	fact(b, "state", field_enum_name(run_state_names, run->state));
	fact(b, "started", run->started_at);
	snprintf(count, sizeof(count), "%zu", b->results->nodes_count);
	fact(b, "machines", count);
	fact(b, "path", run->job.path);
	fact(b, "measured by", run->origin == NULL ? "lockstep" : run->origin->tool);
	fact(b, "version", report_version(b->results));
	if (run->reason != NULL)
		fact(b, "reason", run->reason);
	for (size_t i = 0; i < run->warnings_count; i++)
		fact(b, "warning", run->warnings[i]);
	b->row++;
}

#define SUMMARY_COLUMNS 15

static void
summary_columns(const struct phase_result *phase, struct column out[SUMMARY_COLUMNS])
{
	const struct aggregate *a = &phase->aggregate;
	const struct latency *l = a->latency_ns;
	struct rate rate = report_rate(phase);
	const struct column columns[SUMMARY_COLUMNS] = {
		{ "repetition", (double)phase->repetition + 1, true },
		{ "file size, B", known(report_file_size(phase)), true },
		{ "record size, B", known(report_record_size(phase)), true },
		{ phase->imported != NULL ? "all, MiB/s" : "last done, MiB/s", rate.bytes_per_s / MIB, false },
		{ "all active, MiB/s", a->all_active.bytes_per_s / MIB, false },
		{ "sum of rates, MiB/s", a->sum_of_rates.bytes_per_s / MIB, false },
		{ phase->imported != NULL ? "all, op/s" : "last done, op/s", rate.ops_per_s, false },
		{ "all active, op/s", a->all_active.ops_per_s, false },
		{ "p50, us", l == NULL ? (double)NAN : microseconds(l->p50), false },
		{ "p99, us", l == NULL ? (double)NAN : microseconds(l->p99), false },
		{ "longest, us", l == NULL ? (double)NAN : microseconds(l->max), false },
		{ "overlap, 0 to 1", a->overlap, false },
		{ "fairness, 0 to 1", a->fairness, false },
		{ "start skew, us", microseconds(phase->start_skew_ns), false },
		{ "warnings", (double)(phase->warnings_count + phase->attempts_count), true },
	};

	memcpy(out, columns, sizeof(columns));
}

/* Of a phase that mixes reads and writes only its times and shares stand in its row: below it each operation, last done. */
static void
summary_of_op(
    struct book *b, const struct phase_result *phase, enum op_kind op, const struct column like[SUMMARY_COLUMNS])
{
	const struct op_result *r = by_op_get(&phase->aggregate.by_op, op);
	struct column columns[SUMMARY_COLUMNS];
	char test[64];

	if (r == NULL)
		return;
	memcpy(columns, like, sizeof(columns));
	columns[3].value = r->bytes_per_s / MIB;
	columns[6].value = r->ops_per_s;
	columns[8].value = microseconds(r->latency_ns.p50);
	columns[9].value = microseconds(r->latency_ns.p99);
	columns[10].value = microseconds(r->latency_ns.max);
	for (size_t i = 11; i < SUMMARY_COLUMNS; i++)
		columns[i].value = (double)NAN; /* they are the phase's */
	snprintf(test, sizeof(test), "%s: %s", report_test(phase), op_names[op]);
	text(b, 0, phase->name, NULL);
	text(b, 1, test, NULL);
	text(b, 2, field_enum_name(phase_state_names, phase->state), NULL);
	numbers(b, 3, columns, ARRAY_LEN(columns));
	b->row++;
}

static void
summary(struct book *b)
{
	struct column columns[SUMMARY_COLUMNS];
	lxw_row_t first;

	new_sheet(b, "Summary");
	worksheet_set_column(b->sheet, 0, 0, 16, NULL);
	worksheet_set_column(b->sheet, 1, SUMMARY_COLUMNS + 2, 14, NULL);
	facts(b);
	first = b->row;
	for (size_t p = 0; p < b->results->phases_count; p++) {
		const struct phase_result *phase = &b->results->phases[p];

		summary_columns(phase, columns);
		if (p == 0) {
			text(b, 0, "phase", b->head);
			text(b, 1, "test", b->head);
			text(b, 2, "state", b->head);
			titles(b, 3, columns, ARRAY_LEN(columns));
			b->row++;
		}
		text(b, 0, phase->name, NULL);
		text(b, 1, report_test(phase), NULL);
		text(b, 2, field_enum_name(phase_state_names, phase->state), NULL);
		numbers(b, 3, columns, ARRAY_LEN(columns));
		b->row++;
		for (int op = 0; op < OP_COUNT && by_op_mixes(phase); op++)
			summary_of_op(b, phase, (enum op_kind)op, columns);
	}
	if (b->row > first)
		worksheet_autofilter(b->sheet, first, 0, b->row - 1, SUMMARY_COLUMNS + 2);
}

/* --- tests at many sizes ------------------------------------------------------------------------------------------ */

/* Lines over the record size, one for each file size. */
static void
grid_chart(struct book *b, const struct report_grid *grid, lxw_row_t head)
{
	lxw_chart *chart = workbook_add_chart(b->workbook, LXW_CHART_LINE);
	lxw_col_t last = (lxw_col_t)grid->records.count;
	lxw_chart_options place = { .x_offset = 20, .x_scale = 1.4, .y_scale = 1.5 };

	for (size_t f = 0; f < grid->files.count; f++) {
		lxw_row_t row = head + 1 + (lxw_row_t)f;
		lxw_chart_series *series = chart_add_series(chart, NULL, NULL);
		char name[64];
		char size[32];

		snprintf(name, sizeof(name), "file of %s", units_format_size(grid->files.items[f], size, sizeof(size)));
		chart_series_set_categories(series, b->name, head, 1, head, last);
		chart_series_set_values(series, b->name, row, 1, row, last);
		chart_series_set_name(series, name);
	}
	chart_title_set_name(chart, grid->test);
	chart_axis_set_name(chart->x_axis, "record size, kB");
	chart_axis_set_name(chart->y_axis, "kB/s");
	worksheet_insert_chart_opt(b->sheet, head, (lxw_col_t)(last + 1), chart, &place);
}

/* Rates of a node or all, kB/s of 1024 bytes; operations/s for tests that tell no bytes. */
static void
grid_block(struct book *b, const struct report_grid *grid, size_t node)
{
	text(b, 0, "file by record, kB", b->head);
	for (size_t r = 0; r < grid->records.count; r++)
		worksheet_write_number(
		    b->sheet, b->row, (lxw_col_t)(r + 1), (double)grid->records.items[r] / 1024, b->head);
	b->row++;
	for (size_t f = 0; f < grid->files.count; f++) {
		worksheet_write_number(b->sheet, b->row, 0, (double)grid->files.items[f] / 1024, b->head);
		for (size_t r = 0; r < grid->records.count; r++) {
			struct report_grid_value v = report_grid_value(b->results, grid, f, r, node);

			number(b, (lxw_col_t)(r + 1), v.in_bytes ? v.value / 1024 : v.value, true);
		}
		b->row++;
	}
	b->row++;
}

static void
grid_sheet(struct book *b, const struct report_grid *grid)
{
	char line[160];
	lxw_row_t head;

	new_sheet(b, grid->test);
	worksheet_set_column(b->sheet, 0, 0, 18, NULL);
	snprintf(line, sizeof(line), "%.64s, all %zu machines, kB/s (1 kB = 1024 bytes)%s", grid->test,
	    b->results->nodes_count, b->results->run.job.repeat > 1 ? ", mean of the repetitions" : "");
	heading(b, line);
	head = b->row;
	grid_block(b, grid, REPORT_ALL);
	grid_chart(b, grid, head);
	for (size_t n = 0; n < b->results->nodes_count && n < MAX_BLOCKS && b->results->nodes_count > 1; n++) {
		heading(b, b->results->nodes[n].name);
		grid_block(b, grid, n);
	}
}

/* --- other phases ------------------------------------------------------------------------------------------------- */

#define NODE_COLUMNS 13

static void
node_columns(const struct node_result *node, struct column out[NODE_COLUMNS])
{
	struct report_cell cell = report_cell_of_node(node);
	const struct latency *l = node->latency_ns;
	bool took_part = node->state != NODE_IDLE && node->state != NODE_LOST;
	const struct column columns[NODE_COLUMNS] = {
		{ "rate, MiB/s", cell.bytes_per_s / MIB, false },
		{ "rate, op/s", cell.ops_per_s, false },
		{ "bytes, B", known(node->bytes), true },
		{ "operations", known(node->ops), true },
		{ "errors", known(node->errors), true },
		{ "time, s", cell.elapsed_ns == LS_UNKNOWN_I64 ? (double)NAN : (double)cell.elapsed_ns / 1e9, false },
		{ "p50, us", l == NULL ? (double)NAN : microseconds(l->p50), false },
		{ "p99, us", l == NULL ? (double)NAN : microseconds(l->p99), false },
		{ "p99.9, us", l == NULL ? (double)NAN : microseconds(l->p99_9), false },
		{ "longest, us", l == NULL ? (double)NAN : microseconds(l->max), false },
		{ "CPU, % of one", cell.cpu_percent, false },
		{ "device read, B", node->device == NULL ? (double)NAN : known(node->device->read_bytes), true },
		{ "device written, B", node->device == NULL ? (double)NAN : known(node->device->write_bytes), true },
	};

	for (size_t i = 0; i < NODE_COLUMNS; i++) {
		out[i] = columns[i];
		if (!took_part)
			out[i].value = (double)NAN;
	}
}

/* A bar for each machine. */
static void
node_chart(struct book *b, const struct phase_result *phase, lxw_row_t first, lxw_row_t last)
{
	bool in_bytes = report_in_bytes(phase);
	lxw_col_t column = in_bytes ? 2 : 3;
	lxw_chart *chart = workbook_add_chart(b->workbook, LXW_CHART_COLUMN);
	lxw_chart_series *series = chart_add_series(chart, NULL, NULL);

	chart_series_set_categories(series, b->name, first, 0, last, 0);
	chart_series_set_values(series, b->name, first, column, last, column);
	chart_title_set_name(chart, phase->name);
	chart_axis_set_name(chart->y_axis, in_bytes ? "MiB/s" : "op/s");
	chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
	worksheet_insert_chart(b->sheet, b->row + 3, 0, chart);
}

#define OP_COLUMNS 7

static void
by_op_row(struct book *b, const char *op, const char *who, const struct op_result *r, bool head)
{
	const struct column columns[OP_COLUMNS] = {
		{ "rate, MiB/s", r->bytes_per_s / MIB, false },
		{ "rate, op/s", r->ops_per_s, false },
		{ "bytes, B", known(r->bytes), true },
		{ "operations", known(r->ops), true },
		{ "p50, us", microseconds(r->latency_ns.p50), false },
		{ "p99, us", microseconds(r->latency_ns.p99), false },
		{ "longest, us", microseconds(r->latency_ns.max), false },
	};

	if (head) {
		text(b, 0, "machine", b->head);
		text(b, 1, "operation", b->head);
		titles(b, 2, columns, OP_COLUMNS);
		b->row++;
	}
	text(b, 0, who, NULL);
	text(b, 1, op, NULL);
	numbers(b, 2, columns, OP_COLUMNS);
	b->row++;
}

/* Reads and writes of a phase that mixes them: the cells above are empty. */
static void
by_op_block(struct book *b, const struct phase_result *phase)
{
	bool head = true;

	if (!by_op_mixes(phase))
		return;
	b->row += 2;
	heading(b, "reads and writes are not added up: each operation apart");
	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *all = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		for (size_t n = 0; n < phase->nodes_count; n++) {
			const struct op_result *r = by_op_get(&phase->nodes[n].by_op, (enum op_kind)op);

			if (r == NULL)
				continue;
			by_op_row(b, op_names[op], phase->nodes[n].node, r, head);
			head = false;
		}
		if (all != NULL)
			by_op_row(b, op_names[op], "all (last done)", all, head);
	}
}

/* Times are seconds here, as in the other cells. */
static double
side_number(const struct side_column *column, const struct side_value *value)
{
	double scale = strcmp(column->unit, "ns") == 0 ? 1e9 : strcmp(column->unit, "B/s") == 0 ? MIB : 1;

	return value->known ? value->value / scale : (double)NAN;
}

static void
side_title(struct book *b, lxw_col_t at, const struct side_column *column)
{
	const char *unit = strcmp(column->unit, "ns") == 0 ? "s"
	    : strcmp(column->unit, "B/s") == 0             ? "MiB/s"
	    : strcmp(column->unit, "bool") == 0            ? "1: yes"
							   : column->unit;
	char title[96];

	snprintf(title, sizeof(title), "%s, %s", column->metric, unit);
	text(b, at, title, b->head);
}

static void
side_block(void *arg, const struct side_table *t)
{
	struct book *b = arg;

	b->row += 2;
	heading(b, t->heading);
	text(b, 0, t->said.text, NULL);
	b->row++;
	text(b, 0, t->note, NULL);
	b->row++;
	for (size_t c = 0; c < t->total_count; c++)
		side_title(b, (lxw_col_t)(c + 1), &t->totals[c]);
	b->row++;
	text(b, 0, "all", b->head);
	for (size_t c = 0; c < t->total_count; c++)
		number(b, (lxw_col_t)(c + 1), side_number(&t->totals[c], &t->total_values[c]), false);
	b->row += 2;
	text(b, 0, "machine", b->head);
	for (size_t c = 0; c < t->column_count; c++)
		side_title(b, (lxw_col_t)(c + 1), &t->columns[c]);
	b->row++;
	for (size_t r = 0; r < t->row_count; r++) {
		text(b, 0, t->rows[r].node, NULL);
		for (size_t c = 0; c < t->column_count; c++)
			number(b, (lxw_col_t)(c + 1), side_number(&t->columns[c], &t->rows[r].values[c]), false);
		b->row++;
	}
}

static void
phase_sheet(struct book *b, const struct phase_result *phase)
{
	struct column columns[NODE_COLUMNS];
	struct rate rate = report_rate(phase);
	char line[256];
	lxw_row_t first, last;

	new_sheet(b, phase->name);
	worksheet_set_column(b->sheet, 0, 0, 24, NULL);
	worksheet_set_column(b->sheet, 1, NODE_COLUMNS + 1, 14, NULL);
	snprintf(line, sizeof(line), "%.128s, repetition %" PRIu64 "; MiB = 1048576 bytes", phase->name,
	    phase->repetition + 1);
	heading(b, line);
	first = b->row + 1;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		node_columns(&phase->nodes[n], columns);
		if (n == 0) {
			text(b, 0, "machine", b->head);
			text(b, 1, "state", b->head);
			titles(b, 2, columns, ARRAY_LEN(columns));
			b->row++;
		}
		text(b, 0, phase->nodes[n].node, NULL);
		text(b, 1, field_enum_name(node_state_names, phase->nodes[n].state), NULL);
		numbers(b, 2, columns, ARRAY_LEN(columns));
		b->row++;
	}
	if (phase->nodes_count == 0)
		return;
	text(b, 0, phase->imported != NULL ? "all" : "all (last done)", b->head);
	number(b, 2, rate.bytes_per_s / MIB, false);
	number(b, 3, rate.ops_per_s, false);
	worksheet_freeze_panes(b->sheet, first, 1);
	last = b->row - 1;
	by_op_block(b, phase);
	side_tables_each(phase, side_block, b);
	if (!by_op_mixes(phase))
		node_chart(b, phase, first, last);
}

/* --- each node alone against all together; what nodes saw of each other ---------------------------------------------- */

static void
scale_rows(struct book *b, const struct scale_table *t)
{
	char unit[48];

	snprintf(unit, sizeof(unit), "alone, %s", t->unit);
	text(b, 0, t->phase->name, b->head);
	text(b, 1, unit, b->head);
	snprintf(unit, sizeof(unit), "together, %s", t->unit);
	text(b, 2, unit, b->head);
	text(b, 3, "loss, 0 to 1", b->head);
	text(b, 4, "efficiency, 0 to 1", b->head);
	b->row++;
	for (size_t n = 0; n < t->nodes_count; n++) {
		text(b, 0, t->nodes[n].name, NULL);
		number(b, 1, t->nodes[n].alone, false);
		number(b, 2, t->nodes[n].together, false);
		number(b, 3, t->nodes[n].loss, false);
		b->row++;
	}
	text(b, 0, "mean alone, all (last done)", b->head);
	number(b, 1, t->alone, false);
	number(b, 2, t->last_done, false);
	number(b, 4, t->efficiency, false);
	b->row++;
	text(b, 0, "mean alone, all active", b->head);
	number(b, 1, t->alone, false);
	number(b, 2, t->all_active, false);
	number(b, 4, t->efficiency_all_active, false);
	b->row += 2;
}

static void
scale_sheet(struct book *b)
{
	struct scale_tables tables = scale_tables_of(b->results);

	if (tables.count > 0) {
		new_sheet(b, "Alone and together");
		worksheet_set_column(b->sheet, 0, 0, 28, NULL);
		worksheet_set_column(b->sheet, 1, 4, 18, NULL);
		heading(b, "Each machine alone and all together; means of the repetitions; MiB = 1048576 bytes");
	}
	for (size_t i = 0; i < tables.count; i++)
		scale_rows(b, &tables.items[i]);
	scale_tables_free(&tables);
}

static void
pair_rows(struct book *b, const struct phase_result *phase)
{
	const struct promise_result *r = phase->promise;
	char note[512];

	if (r == NULL || r->seen_after_count == 0)
		return;
	b->row++;
	heading(b, phase->name);
	for (size_t i = 0; i < r->seen_after_count; i++) {
		const struct seen_after *s = &r->seen_after[i];
		const struct column columns[] = {
			{ "p50, us", microseconds(s->latency_ns.p50), false },
			{ "p99, us", microseconds(s->latency_ns.p99), false },
			{ "longest, us", microseconds(s->latency_ns.max), false },
			{ "unseen", known(s->unseen), true },
			{ "early", known(s->early), true },
		};

		if (i == 0) {
			text(b, 0, "made by", b->head);
			text(b, 1, "seen by", b->head);
			titles(b, 2, columns, ARRAY_LEN(columns));
			b->row++;
		}
		text(b, 0, s->from, NULL);
		text(b, 1, s->by, NULL);
		numbers(b, 2, columns, ARRAY_LEN(columns));
		b->row++;
	}
	text(b, 0, promise_pairs_note(phase, note, sizeof(note)), NULL);
	b->row++;
}

static void
promise_sheet(struct book *b)
{
	static const char *const heads[] = { "what", "outcome", "promised", "looked at", "broken", "figures", "says" };
	struct promise_lines rows = promise_lines_of(b->results);
	char note[256];

	if (rows.count > 0) {
		new_sheet(b, "Seen of each other");
		worksheet_set_column(b->sheet, 0, 0, 40, NULL);
		worksheet_set_column(b->sheet, 1, ARRAY_LEN(heads) - 1, 16, NULL);
		for (size_t c = 0; c < ARRAY_LEN(heads); c++)
			text(b, (lxw_col_t)c, heads[c], b->head);
		b->row++;
	}
	for (size_t i = 0; i < rows.count; i++) {
		const struct promise_line *row = &rows.items[i];

		text(b, 0, row->worst->what, NULL);
		text(b, 1, field_enum_name(promise_outcome_names, row->worst->outcome), NULL);
		text(b, 2, row->worst->promised ? "yes" : "no", NULL);
		number(b, 3, known(row->looked), true);
		number(b, 4, known(row->broken), true);
		text(b, 5, promise_line_note(row, note, sizeof(note)), NULL);
		text(b, 6, row->worst->source, NULL);
		b->row++;
	}
	for (size_t p = 0; rows.count > 0 && p < b->results->phases_count; p++)
		pair_rows(b, &b->results->phases[p]);
	promise_lines_free(&rows);
}

static void
sheets(struct book *b)
{
	const struct results *results = b->results;

	for (size_t p = 0; p < results->phases_count && b->sheets < MAX_SHEETS; p++) {
		struct report_grid grid = report_grid_of(results, report_test(&results->phases[p]));

		if (!report_grid_is_large(&grid))
			phase_sheet(b, &results->phases[p]);
		else if (report_is_first_of_test(results, p))
			grid_sheet(b, &grid);
		report_grid_free(&grid);
	}
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* The run's own time, so that the same document always gives the same file. */
static time_t
created(const struct results *results)
{
	struct tm tm = { .tm_year = 80, .tm_mday = 1 };

	if (results->run.started_at != NULL)
		strptime(results->run.started_at, "%Y-%m-%dT%H:%M:%S", &tm);
	return timegm(&tm);
}

static void
fill(struct book *b)
{
	char author[] = "lockstep";
	char title[128];
	lxw_doc_properties properties = { .author = author, .title = title, .created = created(b->results) };

	snprintf(title, sizeof(title), "%s", b->results->run.name);
	workbook_set_properties(b->workbook, &properties);
	b->title = workbook_add_format(b->workbook);
	format_set_bold(b->title);
	format_set_font_size(b->title, 13);
	b->head = workbook_add_format(b->workbook);
	format_set_bold(b->head);
	b->whole = workbook_add_format(b->workbook);
	format_set_num_format(b->whole, "#,##0");
	b->figure = workbook_add_format(b->workbook);
	format_set_num_format(b->figure, "#,##0.00");
	summary(b);
	promise_sheet(b);
	scale_sheet(b);
	sheets(b);
}

static enum ls_rc
read_all(int fd, struct sink *out, struct ls_err *err)
{
	char buf[65536];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(fd, buf, sizeof(buf), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_err_sys(err, errno, "xlsx: reading what libxlsxwriter wrote");
		if (n == 0)
			return LS_OK;
		sink_add(out, buf, (size_t)n);
		at += n;
	}
}

/* The library writes files only: here into memory that has a name under /proc. */
static enum ls_rc
render_xlsx(const struct results *results, struct sink *out, struct ls_err *err)
{
	struct book book = { .results = results };
	lxw_error error;
	char path[64];
	enum ls_rc rc;
	int fd = memfd_create("lockstep-xlsx", MFD_CLOEXEC);

	if (fd < 0)
		return ls_err_sys(err, errno, "xlsx: memfd_create");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	book.workbook = workbook_new(path);
	if (book.workbook == NULL) {
		close(fd);
		return ls_err_set(err, LS_E_NOMEM, "xlsx: no memory for a workbook");
	}
	fill(&book);
	error = workbook_close(book.workbook);
	if (error == LXW_NO_ERROR)
		rc = read_all(fd, out, err);
	else
		rc = ls_err_set(err, LS_E_SYS, "xlsx: %s (libxlsxwriter needs room for temporary files in /tmp)",
		    lxw_strerror(error));
	close(fd);
	return rc;
}

#else

static enum ls_rc
render_xlsx(const struct results *results, struct sink *out, struct ls_err *err)
{
	(void)results;
	(void)out;
	return ls_err_set(err, LS_E_REFUSED,
	    "xlsx: this lockstep was built without libxlsxwriter; use --format csv or iozone-excel, or build it where "
	    "the "
	    "library is installed");
}

#endif

const struct report_format report_xlsx = {
	.name = "xlsx",
	.extension = "xlsx",
	.help = "a workbook: a sheet for each test, file size by record size, or for each phase",
	.is_binary = true,
	.render = render_xlsx,
};
