/*
 * The report that iozone prints with -R, for spreadsheets: a block per test, a line per file size, a column per record size. The
 * blocks of all machines together come first, then those of each. Repetitions are averaged.
 */
#include "coordinator/report/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coordinator/report/grid_int.h"
#include "coordinator/report/iozone_int.h"

extern const struct report_format report_iozone_excel;

struct excel {
	struct sink *out;
	const struct results *results;
	const struct report_rows *rows;
	struct report_sizes files, records;
	size_t node;
};

/* Mean over all rows of that size; false when none has measured it. */
static bool
mean_of(const struct excel *x, const struct iozone_test *test, uint64_t file, uint64_t record, double *out)
{
	double sum = 0;
	size_t count = 0;

	for (size_t r = 0; r < x->rows->count; r++) {
		const struct phase_result *phase = report_row_find(&x->rows->items[r], test->kind);

		if (phase == NULL || report_file_size(phase) != file || report_record_size(phase) != record)
			continue;
		struct report_cell cell = report_cell_of(x->results, phase, x->node);
		double value = iozone_kb_per_s(&cell);
		if (!isfinite(value))
			continue;
		sum += value;
		count++;
	}
	if (count > 0)
		*out = sum / (double)count;
	return count > 0;
}

/* Cells between measured ones are 0, as iozone prints those that its cut-over left out; after the last one the line ends. */
static void
file_line(const struct excel *x, const struct iozone_test *test, uint64_t file)
{
	char kb[32];
	size_t skipped = 0;
	bool any = false;

	for (size_t r = 0; r < x->records.count; r++) {
		double value;

		if (!mean_of(x, test, file, x->records.items[r], &value)) {
			skipped++;
			continue;
		}
		if (!any)
			sink_printf(x->out, "\"%s\"  ", iozone_kb(file, kb, sizeof(kb)));
		for (; skipped > 0; skipped--)
			sink_printf(x->out, " 0 ");
		sink_printf(x->out, " %.0f ", floor(value));
		any = true;
	}
	if (any)
		sink_printf(x->out, "\n");
}

static void
block(const struct excel *x, const struct iozone_test *test)
{
	char kb[32];

	sink_printf(x->out, "\n\"%s report\"\n      ", test->report);
	for (size_t r = 0; r < x->records.count; r++)
		sink_printf(x->out, "  \"%s\"", iozone_kb(x->records.items[r], kb, sizeof(kb)));
	sink_printf(x->out, "\n");
	for (size_t f = 0; f < x->files.count; f++)
		file_line(x, test, x->files.items[f]);
}

static bool
test_was_run(const struct report_rows *rows, const char *kind)
{
	for (size_t r = 0; r < rows->count; r++)
		if (report_row_find(&rows->items[r], kind) != NULL)
			return true;
	return false;
}

static void
blocks(struct excel *x, size_t node)
{
	x->node = node;
	if (node != REPORT_ALL)
		sink_printf(x->out, "\n\nMachine = %s\nExcel output is below:\n", x->results->nodes[node].name);
	for (size_t i = 0; i < iozone_test_count; i++)
		if (iozone_tests[i].report != NULL && test_was_run(x->rows, iozone_tests[i].kind))
			block(x, &iozone_tests[i]);
}

static enum ls_rc
render_iozone_excel(const struct results *results, struct sink *out, struct ls_err *err)
{
	struct report_rows rows = iozone_rows(results);
	struct excel x = { .out = out, .results = results, .rows = &rows };
	char name[96];

	(void)err;
	for (size_t r = 0; r < rows.count; r++) {
		const struct phase_result *first = report_row_first(&rows.items[r]);

		report_sizes_add(&x.files, report_file_size(first));
		report_sizes_add(&x.records, report_record_size(first));
	}
	sink_printf(out, "Machine = %s%s\n", iozone_all(results, name, sizeof(name)),
	    results->run.job.repeat > 1 ? ", mean of the repetitions" : "");
	sink_printf(out, "Output is in kBytes/sec (1 kByte = 1024 bytes), sizes in kBytes\n");
	sink_printf(out, "Excel output is below:\n");
	blocks(&x, REPORT_ALL);
	for (size_t n = 0; n < results->nodes_count; n++)
		blocks(&x, n);
	iozone_throughput_report(out, &rows);
	sink_printf(out, "\niozone test complete.\n");
	free(x.files.items);
	free(x.records.items);
	report_rows_free(&rows);
	return LS_OK;
}

const struct report_format report_iozone_excel = {
	.name = "iozone-excel",
	.extension = "iozone-excel.txt",
	.help = "iozone's -R report for spreadsheets: a block per test, file size by record size",
	.render = render_iozone_excel,
};
