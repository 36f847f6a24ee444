/*
 * iozone's console output: its table of file size by record size for all machines together and for each, then the lines of its
 * throughput mode. What was not run is blank; within one of iozone's tests it is 0, as "-+n" prints, so that the columns can still
 * be told apart. 1 kB = 1024 bytes.
 */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/iozone_int.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_iozone;

enum { W_SIZE = 16, W_RECORD = 8, TAB = 8, VALUE_AT = 56 };

static void
end_line(struct sink *out)
{
	while (out->len > 0 && out->text[out->len - 1] == ' ')
		out->len--;
	sink_printf(out, "\n");
}

static void
header(struct sink *out, const struct results *results, const struct report_rows *rows)
{
	const struct phase *spec = &report_row_first(&rows->items[0])->spec;
	int last = -1;

	if (results->run.origin != NULL)
		sink_printf(out, "\tImported by lockstep from %s %s; output as that of iozone 3.487\n\n",
		    results->run.origin->tool, report_version(results));
	else
		sink_printf(
		    out, "\tlockstep %s: phases and output as those of iozone 3.487\n\n", report_version(results));
	if (results->run.started_at != NULL)
		sink_printf(out, "\tRun began: %s\n\n", results->run.started_at);
	if (spec->fsync)
		sink_printf(out, "\tInclude fsync in write timing\n");
	if (spec->direct)
		sink_printf(out, "\tO_DIRECT feature enabled\n");
	sink_printf(out, "\tCommand line used: lockstep, %s (as iozone", results->run.name);
	for (size_t i = 0; i < iozone_test_count; i++) {
		if (iozone_tests[i].number == last || !iozone_was_run(rows, iozone_tests[i].number))
			continue;
		last = iozone_tests[i].number;
		sink_printf(out, " -i %d", last);
	}
	sink_printf(out, ")\n\tOutput is in kBytes/sec\n");
}

static void
titles(struct sink *out)
{
	sink_repeat(out, ' ', W_SIZE + W_RECORD);
	for (size_t i = 0; i < iozone_test_count && iozone_tests[i].column != NULL; i++)
		sink_printf(out, "%*s", iozone_tests[i].width, iozone_tests[i].head);
	end_line(out);
	sink_printf(out, "%*s%*s", W_SIZE, "kB", W_RECORD, "reclen");
	for (size_t i = 0; i < iozone_test_count && iozone_tests[i].column != NULL; i++)
		sink_printf(out, "%*s", iozone_tests[i].width, iozone_tests[i].column);
	end_line(out);
}

/* A blank stands before every number, however wide. */
static void
cell_text(struct sink *out, int width, const char *text)
{
	sink_printf(out, " %*s", width - 1, text);
}

static void
table_line(struct sink *out, const struct results *results, const struct report_rows *rows,
    const struct report_row *row, size_t node)
{
	const struct phase_result *first = report_row_first(row);
	char kb[32];

	sink_printf(out, "%*s", W_SIZE, iozone_kb(report_file_size(first), kb, sizeof(kb)));
	cell_text(out, W_RECORD, iozone_kb(report_record_size(first), kb, sizeof(kb)));
	for (size_t i = 0; i < iozone_test_count && iozone_tests[i].column != NULL; i++) {
		const struct iozone_test *test = &iozone_tests[i];
		struct report_cell cell = report_cell_of(results, report_row_find(row, test->kind), node);
		double value = iozone_kb_per_s(&cell);

		if (isfinite(value))
			snprintf(kb, sizeof(kb), "%.0f", floor(value));
		else
			snprintf(kb, sizeof(kb), "%s", iozone_was_run(rows, test->number) ? "0" : "");
		cell_text(out, test->width, kb);
	}
	end_line(out);
}

static void
table(struct sink *out, const struct results *results, const struct report_rows *rows, size_t node)
{
	char name[96];

	if (node == REPORT_ALL)
		sink_printf(out, "\n\tMachine = %s\n", iozone_all(results, name, sizeof(name)));
	else
		sink_printf(out, "\n\tMachine = %s\n", results->nodes[node].name);
	titles(out);
	for (size_t r = 0; r < rows->count; r++)
		table_line(out, results, rows, &rows->items[r], node);
}

/* As iozone prints them: tabs up to column 56, where the value begins. */
static void
line(struct sink *out, const char *what, double value, const char *unit)
{
	size_t at = TAB + strlen(what) + 1;

	if (!isfinite(value))
		return;
	sink_printf(out, "\t%s ", what);
	do {
		sink_printf(out, "\t");
		at = at / TAB * TAB + TAB;
	} while (at < VALUE_AT);
	sink_printf(out, "= %10.2f %s\n", value, unit);
}

static void
throughput(struct sink *out, const struct results *results, const struct iozone_test *test,
    const struct phase_result *phase, bool stonewalled)
{
	uint64_t streams = report_streams(results, phase, NULL);
	struct worker_rates r;
	char what[128];

	if (streams == 0 || !iozone_rates(phase, stonewalled, &r))
		return;
	if (!isfinite(r.mean))
		r.mean = r.children / (double)streams;
	sink_printf(out, "\n");
	snprintf(what, sizeof(what), "Children see throughput for %2" PRIu64 " %s", streams, test->many);
	line(out, what, r.children / 1024, "kB/sec");
	snprintf(what, sizeof(what), "Parent sees throughput for %2" PRIu64 " %s", streams, test->many);
	line(out, what, r.parent / 1024, "kB/sec");
	line(out, "Min throughput per thread", r.min / 1024, "kB/sec");
	line(out, "Max throughput per thread", r.max / 1024, "kB/sec");
	line(out, "Avg throughput per thread", r.mean / 1024, "kB/sec");
	if (r.least_bytes != LS_UNKNOWN_U64)
		line(out, "Min xfer", (double)r.least_bytes / 1024, "kB");
}

/* A block of lines for each test; the heading says whose end decides. */
static void
throughput_of_row(struct sink *out, const struct results *results, const struct report_row *row, bool stonewalled)
{
	const struct phase_result *first = report_row_first(row);
	const struct phase *spec = &first->spec;
	size_t nodes;
	uint64_t streams = report_streams(results, first, &nodes);
	char size[32];
	char record[32];

	sink_printf(out, "\n\tThroughput test with %" PRIu64 " thread%s on %zu machine%s\n", streams,
	    streams == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
	if (!stonewalled && first->imported == NULL)
		sink_printf(out, "\tStonewall disabled\n");
	if (row->repetition > 0)
		sink_printf(out, "\tRepetition %" PRIu64 "\n", row->repetition + 1);
	sink_printf(out, "\t%s %s kByte file in %s kByte records\n",
	    spec->layout == LAYOUT_WORKER     ? "Each thread writes a"
		: spec->layout == LAYOUT_NODE ? "The threads of each machine share a"
					      : "All threads share a",
	    iozone_kb(report_file_size(first), size, sizeof(size)),
	    iozone_kb(report_record_size(first), record, sizeof(record)));
	for (size_t i = 0; i < iozone_test_count; i++) {
		const struct phase_result *phase = report_row_find(row, iozone_tests[i].kind);

		if (phase != NULL)
			throughput(out, results, &iozone_tests[i], phase, stonewalled);
	}
}

static bool
has_stonewalled(const struct report_row *row)
{
	struct worker_rates r;

	for (size_t i = 0; i < row->count; i++)
		if (iozone_rates(row->phases[i], true, &r))
			return true;
	return false;
}

static void
unfinished(struct sink *out, const struct results *results)
{
	text_warnings(out, "\t", results->run.warnings, results->run.warnings_count);
	for (size_t p = 0; p < results->phases_count; p++)
		if (results->phases[p].state != PHASE_STATE_DONE)
			text_wrap(out, "\t! ", "phase %s %s: its numbers are not whole", results->phases[p].name,
			    field_enum_name(phase_state_names, results->phases[p].state));
}

static enum ls_rc
render_iozone(const struct results *results, struct sink *out, struct ls_err *err)
{
	struct report_rows rows = iozone_rows(results);

	(void)err;
	if (rows.count == 0) {
		sink_printf(out, "\tNo phase that iozone knows has a result.\n");
		report_rows_free(&rows);
		return LS_OK;
	}
	header(out, results, &rows);
	unfinished(out, results);
	table(out, results, &rows, REPORT_ALL);
	for (size_t n = 0; n < results->nodes_count; n++)
		table(out, results, &rows, n);
	for (size_t r = 0; r < rows.count; r++) {
		if (has_stonewalled(&rows.items[r]))
			throughput_of_row(out, results, &rows.items[r], true);
		throughput_of_row(out, results, &rows.items[r], false);
	}
	sink_printf(out,
	    "\n\tkB = 1024 bytes; 0: not measured. Children see: each thread's own rate, added. Parent sees: their "
	    "work\n"
	    "\tover the time until all had stopped. What each had done when the first one ended counts, unless the "
	    "stonewall\n"
	    "\tis disabled: then all went on to their own end.\n");
	sink_printf(out, "\niozone test complete.\n");
	report_rows_free(&rows);
	return LS_OK;
}

const struct report_format report_iozone = {
	.name = "iozone",
	.extension = "iozone.txt",
	.help = "iozone's table of file size by record size, and its throughput lines",
	.render = render_iozone,
};
