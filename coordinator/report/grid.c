#include "coordinator/report/grid_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define MIN_CELLS 4

void
report_sizes_add(struct report_sizes *sizes, uint64_t value)
{
	size_t at = 0;

	while (at < sizes->count && sizes->items[at] < value)
		at++;
	if (at < sizes->count && sizes->items[at] == value)
		return;
	sizes->items = ls_grow(sizes->items, sizes->count, sizeof(*sizes->items));
	memmove(&sizes->items[at + 1], &sizes->items[at], (sizes->count - at) * sizeof(*sizes->items));
	sizes->items[at] = value;
	sizes->count++;
}

/* A phase that has a place in the grid of that test. */
static bool
belongs(const struct phase_result *phase, const char *test)
{
	return (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DATA) != 0 &&
	    report_file_size(phase) != LS_UNKNOWN_U64 && report_record_size(phase) != LS_UNKNOWN_U64 &&
	    strcmp(report_test(phase), test) == 0;
}

struct report_grid
report_grid_of(const struct results *results, const char *test)
{
	struct report_grid grid = { .test = test };

	for (size_t p = 0; p < results->phases_count; p++) {
		if (!belongs(&results->phases[p], test))
			continue;
		report_sizes_add(&grid.files, report_file_size(&results->phases[p]));
		report_sizes_add(&grid.records, report_record_size(&results->phases[p]));
	}
	return grid;
}

void
report_grid_free(struct report_grid *grid)
{
	free(grid->files.items);
	free(grid->records.items);
	*grid = (struct report_grid){ 0 };
}

bool
report_grid_is_large(const struct report_grid *grid)
{
	return grid->files.count * grid->records.count >= MIN_CELLS;
}

bool
report_is_first_of_test(const struct results *results, size_t p)
{
	for (size_t q = 0; q < p; q++)
		if (strcmp(report_test(&results->phases[q]), report_test(&results->phases[p])) == 0)
			return false;
	return true;
}

struct report_grid_value
report_grid_value(
    const struct results *results, const struct report_grid *grid, size_t file, size_t record, size_t node)
{
	struct report_grid_value out = { .value = (double)NAN };
	double sum = 0;
	size_t count = 0;

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];

		if (report_file_size(phase) != grid->files.items[file] ||
		    report_record_size(phase) != grid->records.items[record] || !belongs(phase, grid->test))
			continue;
		struct report_cell cell = report_cell_of(results, phase, node);
		double value = report_in_bytes(phase) ? cell.bytes_per_s : cell.ops_per_s;
		if (!cell.measured || !isfinite(value))
			continue;
		if (count++ == 0) {
			out.phase = p;
			out.in_bytes = report_in_bytes(phase);
		}
		sum += value;
	}
	if (count > 0)
		out.value = sum / (double)count;
	return out;
}
