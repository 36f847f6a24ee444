#include "agent/daemon/series.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

void
series_init(struct series_grid *grid, int64_t interval_ns, size_t capacity)
{
	*grid = (struct series_grid){
		.interval_ns = interval_ns,
		.capacity = capacity,
		.bytes = ls_calloc(capacity, sizeof(*grid->bytes)),
		.ops = ls_calloc(capacity, sizeof(*grid->ops)),
	};
}

void
series_fini(struct series_grid *grid)
{
	free(grid->bytes);
	free(grid->ops);
	*grid = (struct series_grid){ 0 };
}

void
series_reset(struct series_grid *grid, int64_t interval_ns)
{
	memset(grid->bytes, 0, grid->used * sizeof(*grid->bytes));
	memset(grid->ops, 0, grid->used * sizeof(*grid->ops));
	grid->used = 0;
	grid->interval_ns = interval_ns;
}

static void
halve(struct series_grid *grid)
{
	size_t half = (grid->used + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		uint64_t bytes = grid->bytes[2 * i], ops = grid->ops[2 * i];
		if (2 * i + 1 < grid->used) {
			bytes += grid->bytes[2 * i + 1];
			ops += grid->ops[2 * i + 1];
		}
		grid->bytes[i] = bytes;
		grid->ops[i] = ops;
	}
	memset(grid->bytes + half, 0, (grid->used - half) * sizeof(*grid->bytes));
	memset(grid->ops + half, 0, (grid->used - half) * sizeof(*grid->ops));
	grid->used = half;
	grid->interval_ns *= 2;
}

/* The cell in which an instant lies; one on the border ends the cell before it. */
static size_t
cell_of(const struct series_grid *grid, int64_t ns)
{
	return ns <= 0 ? 0 : (size_t)((ns - 1) / grid->interval_ns);
}

/* Of total, the part that is done when `done` of `length` ns have passed, rounded down. */
static uint64_t
share(uint64_t total, int64_t done, int64_t length)
{
	__extension__ typedef unsigned __int128 wide; /* total * done has up to 127 bits */

	return (uint64_t)((wide)total * (wide)done / (wide)length);
}

void
series_add(struct series_grid *grid, int64_t from_ns, int64_t to_ns, uint64_t bytes, uint64_t ops)
{
	if (bytes == 0 && ops == 0)
		return;
	if (from_ns < 0)
		from_ns = 0;
	if (to_ns < from_ns)
		to_ns = from_ns;
	while (cell_of(grid, to_ns) >= grid->capacity)
		halve(grid);

	size_t last = cell_of(grid, to_ns);
	size_t cell = from_ns == to_ns ? last : (size_t)(from_ns / grid->interval_ns);
	if (grid->used < last + 1)
		grid->used = last + 1;

	/* Cumulative floors: each cell gets the difference of two, so that nothing is lost to rounding. */
	uint64_t bytes_before = 0, ops_before = 0;
	for (; cell < last; cell++) {
		int64_t done = (int64_t)(cell + 1) * grid->interval_ns - from_ns;
		uint64_t bytes_now = share(bytes, done, to_ns - from_ns), ops_now = share(ops, done, to_ns - from_ns);
		grid->bytes[cell] += bytes_now - bytes_before;
		grid->ops[cell] += ops_now - ops_before;
		bytes_before = bytes_now;
		ops_before = ops_now;
	}
	grid->bytes[last] += bytes - bytes_before;
	grid->ops[last] += ops - ops_before;
}

void
series_coarsen(struct series_grid *grid, int64_t interval_ns)
{
	while (grid->interval_ns < interval_ns)
		halve(grid);
}

static int64_t *
copy_cells(const uint64_t *cells, size_t n)
{
	if (n == 0)
		return NULL;

	int64_t *out = ls_calloc(n, sizeof(*out));
	for (size_t i = 0; i < n; i++)
		out[i] = (int64_t)cells[i];
	return out;
}

void
series_export(const struct series_grid *grid, struct series *out)
{
	free(out->bytes);
	free(out->ops);
	out->interval_ns = grid->interval_ns;
	out->bytes = copy_cells(grid->bytes, grid->used);
	out->ops = copy_cells(grid->ops, grid->used);
	out->bytes_count = out->ops_count = grid->used;
}
