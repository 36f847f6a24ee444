/*
 * bonnie++'s CSV, format 1.98 (bonnie++ 1.98 and 2.00): 50 fields, a line for each machine and one for all together. What was not
 * run is an empty field, what took less than half a second is plus signs, as there. Rates are KiB/s and files/s.
 */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "coordinator/report/bonnie_int.h"

extern const struct report_format report_bonnie_csv;

static void
add_pair(struct sink *out, const struct report_cell *cell, double rate, bool decimals)
{
	if (cell->measured && bonnie_too_short(cell)) {
		sink_printf(out, ",+++++,+++");
		return;
	}
	if (!cell->measured || !isfinite(rate)) {
		sink_printf(out, ",,");
		return;
	}
	sink_printf(out, ",%.*f,", decimals && rate < 1000 ? 1 : 0, decimals && rate < 1000 ? rate : floor(rate));
	if (isfinite(cell->cpu_percent))
		sink_printf(out, "%.0f", floor(cell->cpu_percent));
}

/* Fields 5 to 20. */
static void
add_io(struct sink *out, const struct results *results, const struct report_row *row, size_t node)
{
	const struct phase_result *first = bonnie_first(row, bonnie_io_kinds, BONNIE_IO);
	const struct phase_result *seeks = bonnie_phase(row, bonnie_io_kinds[BONNIE_IO - 1]);
	char size[32] = "";
	char chunk[32] = "";

	if (first != NULL && report_file_size(first) != LS_UNKNOWN_U64) {
		bonnie_size(report_bytes_of_files(results, first, node), size, sizeof(size));
	}
	if (first != NULL && report_record_size(first) != LS_UNKNOWN_U64)
		bonnie_size(report_record_size(first), chunk, sizeof(chunk));
	sink_printf(out, ",%s,%s,", size, chunk);
	const struct node_result *result =
	    seeks == NULL || node == REPORT_ALL ? NULL : report_node_find(results, seeks, node);
	if (result != NULL && result->ops != LS_UNKNOWN_U64)
		sink_printf(out, "%" PRIu64, result->ops);
	else if (seeks != NULL && node == REPORT_ALL && seeks->aggregate.ops != LS_UNKNOWN_U64)
		sink_printf(out, "%" PRIu64, seeks->aggregate.ops);
	sink_printf(out, ",");
	if (seeks != NULL && seeks->imported == NULL)
		sink_printf(out, "%" PRIu64, job_phase_workers(&results->run.job, &seeks->spec));
	for (size_t i = 0; i < BONNIE_IO; i++) {
		struct report_cell cell = bonnie_cell(results, row, bonnie_io_kinds[i], node);
		bool is_seeks = i == BONNIE_IO - 1;

		add_pair(out, &cell, is_seeks ? cell.ops_per_s : cell.bytes_per_s / 1024, is_seeks);
	}
}

/* Fields 21 to 37. */
static void
add_files(struct sink *out, const struct results *results, const struct report_row *row, size_t node)
{
	const struct phase_result *first = bonnie_first(row, bonnie_file_kinds, BONNIE_FILES);
	char files[32];
	char max[32];

	if (first == NULL) {
		sink_printf(out, ",,,,,");
	} else {
		const struct phase *spec = &first->spec;
		bool tree = (phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_TREE) != 0;

		sink_printf(out, ",%s,%s,", bonnie_files(results, first, node, files, sizeof(files)),
		    bonnie_largest(spec, max, sizeof(max)));
		if (spec->size > 0)
			sink_printf(out, "%" PRIu64, tree ? spec->min_size : spec->size);
		/* bonnie++ prints the directories in the place of the chunk's size */
		sink_printf(out, ",,");
		if (tree && spec->directories > 1)
			sink_printf(out, "%" PRIu64, spec->directories);
	}
	for (size_t i = 0; i < BONNIE_FILES; i++) {
		struct report_cell cell = bonnie_cell(results, row, bonnie_file_kinds[i], node);

		add_pair(out, &cell, cell.ops_per_s, false);
	}
}

static void
add_latencies(struct sink *out, const struct results *results, const struct report_row *row, const char *const *kinds,
    size_t count, size_t node)
{
	for (size_t i = 0; i < count; i++) {
		struct report_cell cell = bonnie_cell(results, row, kinds[i], node);
		char text[32];

		sink_printf(out, ",%s", bonnie_latency(cell.latency_max_ns, text, sizeof(text)));
	}
}

static void
add_line(struct sink *out, const struct results *results, const struct report_row *row, size_t node)
{
	const struct phase_result *first = report_row_first(row);
	char name[80];

	sink_printf(
	    out, "1.98,%s,%s,", bonnie_version(results, row, node), bonnie_name(results, node, name, sizeof(name)));
	if (first->imported == NULL)
		sink_printf(out, "%" PRIu64, job_phase_workers(&results->run.job, &first->spec));
	sink_printf(out, ",");
	add_io(out, results, row, node);
	add_files(out, results, row, node);
	add_latencies(out, results, row, bonnie_io_kinds, BONNIE_IO, node);
	add_latencies(out, results, row, bonnie_file_kinds, BONNIE_FILES, node);
	sink_printf(out, "\n");
}

static enum ls_rc
render_bonnie_csv(const struct results *results, struct sink *out, struct ls_err *err)
{
	struct report_rows rows = report_rows_of(results, PHASE_DATA | PHASE_META, false);

	(void)err;
	sink_add(out, "", 0);
	for (size_t r = 0; r < rows.count; r++) {
		for (size_t n = 0; n < results->nodes_count; n++)
			add_line(out, results, &rows.items[r], n);
		add_line(out, results, &rows.items[r], REPORT_ALL);
	}
	report_rows_free(&rows);
	return LS_OK;
}

const struct report_format report_bonnie_csv = {
	.name = "bonnie-csv",
	.extension = "bonnie.csv",
	.help = "a line per machine and one for all, as bonnie++ 1.98 and 2.00 write (bon_csv2html reads it)",
	.render = render_bonnie_csv,
};
