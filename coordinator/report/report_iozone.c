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

enum { W_SIZE = 16, W_RECORD = 8, W_WHAT = 48 };

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

static void
line(struct sink *out, const char *what, double value, const char *unit)
{
	if (isfinite(value))
		sink_printf(out, "\t%-*s= %11.2f %s\n", W_WHAT, what, value, unit);
}

/* Rates and amounts of the workers of a phase. */
struct spread {
	double min, max, least_kb;
};

static struct spread
spread_of(const struct phase_result *phase)
{
	struct spread s = { (double)NAN, (double)NAN, (double)NAN };

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		for (size_t w = 0; w < node->workers_count; w++) {
			const struct worker_result *worker = &node->workers[w];
			double kb = (double)worker->bytes / 1024;

			s.least_kb = fmin(s.least_kb, kb);
			if (worker->start_ns == LS_UNKNOWN_I64 || worker->end_ns == LS_UNKNOWN_I64 ||
			    worker->end_ns <= worker->start_ns)
				continue;
			double rate = kb * 1e9 / (double)(worker->end_ns - worker->start_ns);
			s.min = fmin(s.min, rate);
			s.max = fmax(s.max, rate);
		}
	}
	return s;
}

static void
throughput(
    struct sink *out, const struct results *results, const struct iozone_test *test, const struct phase_result *phase)
{
	uint64_t streams = report_streams(results, phase, NULL);
	struct spread s = spread_of(phase);
	double seen = phase->aggregate.sum_of_rates.bytes_per_s / 1024;
	char what[128];

	if (!isfinite(seen) || streams == 0)
		return;
	sink_printf(out, "\n");
	snprintf(what, sizeof(what), "Children see throughput for %2" PRIu64 " %s", streams, test->many);
	line(out, what, seen, "kB/sec");
	snprintf(what, sizeof(what), "Parent sees throughput for %2" PRIu64 " %s", streams, test->many);
	line(out, what, phase->aggregate.last_done.bytes_per_s / 1024, "kB/sec");
	line(out, "Min throughput per thread", s.min, "kB/sec");
	line(out, "Max throughput per thread", s.max, "kB/sec");
	line(out, "Avg throughput per thread", seen / (double)streams, "kB/sec");
	line(out, "Min xfer", s.least_kb, "kB");
}

static void
throughput_of_row(struct sink *out, const struct results *results, const struct report_row *row)
{
	const struct phase_result *first = report_row_first(row);
	const struct phase *spec = &first->spec;
	size_t nodes;
	uint64_t streams = report_streams(results, first, &nodes);
	char size[32];
	char record[32];

	sink_printf(out, "\n\tThroughput test with %" PRIu64 " thread%s on %zu machine%s\n", streams,
	    streams == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
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
			throughput(out, results, &iozone_tests[i], phase);
	}
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
	struct report_rows rows = report_rows_of(results, PHASE_DATA, true);

	(void)err;
	if (rows.count == 0) {
		sink_printf(out, "\tNo phase that iozone knows has a result.\n");
		return LS_OK;
	}
	header(out, results, &rows);
	unfinished(out, results);
	table(out, results, &rows, REPORT_ALL);
	for (size_t n = 0; n < results->nodes_count; n++)
		table(out, results, &rows, n);
	for (size_t r = 0; r < rows.count; r++)
		throughput_of_row(out, results, &rows.items[r]);
	sink_printf(out,
	    "\n\tkB = 1024 bytes; 0: not measured. Children see: each thread's own rate, added. Parent sees: work "
	    "over\n"
	    "\tlast end minus first start.\n");
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
