#include "coordinator/report/iozone_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/report/by_op.h"
#include "proto/model/aggregate.h"

const struct iozone_test iozone_tests[] = {
	{ "write", 0, 9, "", "write", "Writer", "initial writers", "Initial write" },
	{ "rewrite", 0, 9, "", "rewrite", "Re-writer", "rewriters", "Rewrite" },
	{ "read", 1, 9, "", "read", "Reader", "readers", "Read" },
	{ "reread", 1, 9, "", "reread", "Re-Reader", "re-readers", "Re-read" },
	{ "random-read", 2, 9, "random", "read", "Random read", "random readers", "Random read" },
	{ "random-write", 2, 9, "random", "write", "Random write", "random writers", "Random write" },
	{ "backward-read", 3, 9, "bkwd", "read", "Backward read", "reverse readers", "Reverse Read" },
	{ "record-rewrite", 4, 10, "record", "rewrite", "Record rewrite", "record rewriters", "Record rewrite" },
	{ "stride-read", 5, 10, "stride", "read", "Stride read", "stride readers", "Stride read" },
	{ "fwrite", 6, 9, "", "fwrite", "Fwrite", "fwriters", "Fwrite" },
	{ "frewrite", 6, 9, "", "frewrite", "Re-Fwrite", "re-fwriters", "Re-Fwrite" },
	{ "fread", 7, 9, "", "fread", "Fread", "freaders", "Fread" },
	{ "freread", 7, 9, "", "freread", "Re-Fread", "re-freaders", "Re-Fread" },
	{ "mixed", 8, 0, "", NULL, NULL, "mixed workload", "Mixed workload" },
	{ "pwrite", 9, 0, "", NULL, "Pwrite", "pwrite writers", "Pwrite" },
	{ "re-pwrite", 9, 0, "", NULL, "Re-Pwrite", "re-pwrite writers", "Re-Pwrite" },
	{ "pread", 10, 0, "", NULL, "Pread", "pread readers", "Pread" },
	{ "re-pread", 10, 0, "", NULL, "Re-Pread", "re-pread readers", "Re-Pread" },
};
const size_t iozone_test_count = ARRAY_LEN(iozone_tests);

double
iozone_kb_per_s(const struct report_cell *cell)
{
	return cell->measured ? cell->bytes_per_s / 1024 : (double)NAN;
}

const char *
iozone_kb(uint64_t bytes, char *buf, size_t len)
{
	if (bytes == LS_UNKNOWN_U64)
		snprintf(buf, len, "-");
	else if (bytes % 1024 == 0)
		snprintf(buf, len, "%" PRIu64, bytes / 1024);
	else
		snprintf(buf, len, "%.3f", (double)bytes / 1024);
	return buf;
}

const char *
iozone_all(const struct results *results, char *buf, size_t len)
{
	if (results->run.origin != NULL)
		snprintf(buf, len, "(sum %zu), each machine's own rate, added", results->nodes_count);
	else
		snprintf(buf, len, "(all %zu), work over last end minus first start", results->nodes_count);
	return buf;
}

/* Slowest, fastest and least of a phase whose document has no such figures; returns the rates of all, added. */
static double
spread_of(const struct phase_result *phase, struct worker_rates *out)
{
	double sum = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		for (size_t w = 0; w < node->workers_count; w++) {
			const struct worker_result *worker = &node->workers[w];
			uint64_t bytes, ops;

			worker_result_work(worker, &bytes, &ops);
			out->least_bytes = LS_MIN(out->least_bytes, bytes);
			if (worker->start_ns == LS_UNKNOWN_I64 || worker->end_ns == LS_UNKNOWN_I64 ||
			    worker->end_ns <= worker->start_ns)
				continue;
			double rate = (double)bytes * 1e9 / (double)(worker->end_ns - worker->start_ns);
			out->min = fmin(out->min, rate);
			out->max = fmax(out->max, rate);
			sum += rate;
		}
	}
	return sum;
}

/* The mixed workload, whose reads and writes iozone adds up, while our documents have them apart: its own figure, so that it stands in this form alone. */
static bool
mixed_rates(const struct phase_result *phase, struct worker_rates *out)
{
	field_struct_init(&worker_rates_desc, out);
	out->children = spread_of(phase, out);
	out->parent = by_op_sum(&phase->aggregate.by_op).bytes_per_s;
	return out->children > 0;
}

bool
iozone_rates(const struct phase_result *phase, bool stonewalled, struct worker_rates *out)
{
	const struct aggregate *a = &phase->aggregate;
	const struct worker_rates *known = stonewalled ? a->stonewalled : a->to_end;

	if (known != NULL) {
		*out = *known;
		return isfinite(out->children);
	}
	if (!stonewalled && by_op_mixes(phase))
		return mixed_rates(phase, out);
	if (stonewalled || !isfinite(a->sum_of_rates.bytes_per_s))
		return false;
	field_struct_init(&worker_rates_desc, out);
	out->children = a->sum_of_rates.bytes_per_s;
	out->parent = a->last_done.bytes_per_s;
	spread_of(phase, out);
	return true;
}

/* bonnie++'s rewrite has the same name and is another test: reads and writes in turn. */
static bool
is_iozone_test(const struct phase_result *phase)
{
	if (phase->kind == PHASE_BONNIE_REWRITE)
		return false;
	for (size_t i = 0; i < iozone_test_count; i++)
		if (strcmp(report_test(phase), iozone_tests[i].kind) == 0)
			return true;
	return false;
}

struct report_rows
iozone_rows(const struct results *results)
{
	struct report_rows rows = report_rows_of(results, PHASE_DATA, true);
	size_t kept = 0;

	for (size_t r = 0; r < rows.count; r++) {
		struct report_row *row = &rows.items[r];
		size_t n = 0;

		for (size_t p = 0; p < row->count; p++)
			if (is_iozone_test(row->phases[p]))
				row->phases[n++] = row->phases[p];
		row->count = n;
		if (n > 0)
			rows.items[kept++] = *row;
		else
			free(row->phases);
	}
	rows.count = kept;
	return rows;
}

bool
iozone_was_run(const struct report_rows *rows, int number)
{
	for (size_t r = 0; r < rows->count; r++)
		for (size_t i = 0; i < iozone_test_count; i++)
			if (iozone_tests[i].number == number &&
			    report_row_find(&rows->items[r], iozone_tests[i].kind) != NULL)
				return true;
	return false;
}

void
iozone_throughput_report(struct sink *out, const struct report_rows *rows)
{
	for (size_t r = 0; r < rows->count; r++) {
		const struct report_row *row = &rows->items[r];
		const struct phase_result *first = report_row_first(row);
		char kb[32];

		sink_printf(out, "\n\"Throughput report Y-axis is type of test X-axis is number of threads\"\n");
		sink_printf(
		    out, "\"Record size = %s kBytes \"\n", iozone_kb(report_record_size(first), kb, sizeof(kb)));
		sink_printf(out, "\"Output is in kBytes/sec\"\n");
		for (size_t i = 0; i < iozone_test_count; i++) {
			const struct phase_result *phase = report_row_find(row, iozone_tests[i].kind);

			struct worker_rates rates;

			if (phase == NULL ||
			    (!iozone_rates(phase, true, &rates) && !iozone_rates(phase, false, &rates)))
				continue;
			sink_printf(out, "\n\"%15s \" %10.2f \n", iozone_tests[i].brief, rates.children / 1024);
		}
	}
}
