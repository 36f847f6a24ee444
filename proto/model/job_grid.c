/* A grid of file and record sizes, as iozone goes through it, becomes phases. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "proto/model/job.h"

#define PHASES_MAX     4096
#define SIZES_MAX      64
#define CUT_OVER_FILE  (16ULL << 20) /* above it, records below ... */
#define CUT_OVER_BLOCK (64ULL << 10) /* ... this are left out */

struct sizes {
	uint64_t value[SIZES_MAX];
	size_t count;
};

/* A list as it stands, or the powers from least to most. */
static void
fill_sizes(const int64_t *list, size_t count, uint64_t least, uint64_t most, uint64_t factor, struct sizes *out)
{
	out->count = 0;
	for (size_t i = 0; i < count && out->count < SIZES_MAX; i++)
		out->value[out->count++] = (uint64_t)list[i];
	for (uint64_t size = least; count == 0 && size <= most && out->count < SIZES_MAX; size *= factor) {
		out->value[out->count++] = size;
		if (size > most / factor)
			break;
	}
}

/* iozone leaves the rule out as soon as sizes of records, or single sizes of files, are named. */
static bool
has_cut_over(const struct job_grid *grid)
{
	if (grid->cut_over != CUT_OVER_AUTO)
		return grid->cut_over == CUT_OVER_ON;
	return grid->record_sizes_count == 0 && grid->file_sizes_count == 0 && grid->record_min == GRID_RECORD_MIN &&
	    grid->record_max == GRID_RECORD_MAX;
}

static bool
has_cell(const struct job_grid *grid, uint64_t file, uint64_t record)
{
	return record <= file && !(has_cut_over(grid) && file > CUT_OVER_FILE && record < CUT_OVER_BLOCK);
}

static void
add_phase(struct job *out, const struct phase *from, uint64_t file, uint64_t record, uint64_t workers)
{
	struct phase *p = &out->phases[out->phases_count++];
	char file_text[32], record_text[32], workers_text[48] = "";

	if (workers > 0)
		snprintf(workers_text, sizeof(workers_text), " %" PRIu64 " worker%s", workers, workers == 1 ? "" : "s");
	phase_copy(from, p);
	free(p->name);
	p->file_size = file;
	p->record_size = record;
	if (p->kind == PHASE_RUN_IOZONE)
		p->streams = workers > 0 ? workers : from->streams;
	else
		p->workers = workers > 0 ? workers : from->workers;
	p->name = ls_asprintf("%s %s/%s%s", phase_title(from), units_format_size(file, file_text, sizeof(file_text)),
	    units_format_size(record, record_text, sizeof(record_text)), workers_text);
}

/* All phases in a cell, then the next cell; for each number of workers the whole grid. out NULL: only counts. */
static size_t
walk_cells(const struct job *job, const struct sizes *files, const struct sizes *records, struct job *out)
{
	const struct job_grid *grid = job->grid;
	size_t n = 0;

	for (size_t w = 0; w < LS_MAX(grid->workers_count, (size_t)1); w++)
		for (size_t f = 0; f < files->count; f++)
			for (size_t r = 0; r < records->count; r++) {
				if (!has_cell(grid, files->value[f], records->value[r]))
					continue;
				n += job->phases_count;
				for (size_t i = 0; out != NULL && i < job->phases_count; i++)
					add_phase(out, &job->phases[i], files->value[f], records->value[r],
					    grid->workers_count > 0 ? (uint64_t)grid->workers[w] : 0);
			}
	return n;
}

static enum ls_rc
check_lists(const struct job_grid *grid, struct ls_err *err)
{
	for (size_t i = 0; i < grid->file_sizes_count; i++)
		if (grid->file_sizes[i] < 1)
			return ls_err_set(err, LS_E_RANGE, "grid.file_sizes[%zu]: must be at least one byte", i);
	for (size_t i = 0; i < grid->record_sizes_count; i++)
		if (grid->record_sizes[i] < 1 || grid->record_sizes[i] > 1 << 30)
			return ls_err_set(err, LS_E_RANGE, "grid.record_sizes[%zu]: must be 1 byte to 1 GiB", i);
	for (size_t i = 0; i < grid->workers_count; i++)
		if (grid->workers[i] < 1 || grid->workers[i] > 4096)
			return ls_err_set(err, LS_E_RANGE, "grid.workers[%zu]: must be 1 to 4096", i);
	return LS_OK;
}

static enum ls_rc
check_phases(const struct job *job, struct ls_err *err)
{
	for (size_t i = 0; i < job->phases_count; i++)
		if (!(phase_kind_info((enum phase_kind)job->phases[i].kind)->groups & (PHASE_DATA | PHASE_IOZONE_TOOL)))
			return ls_err_set(err, LS_E_INVALID, "grid: phases[%zu], %s, has no sizes to vary", i,
			    phase_kind_names[job->phases[i].kind]);
	return LS_OK;
}

enum ls_rc
job_expand_grid(struct job *job, struct ls_err *err)
{
	struct job cells = { 0 };
	struct sizes files, records;
	enum ls_rc rc;

	if (job->grid == NULL)
		return LS_OK;
	rc = check_lists(job->grid, err);
	if (rc == LS_OK)
		rc = check_phases(job, err);
	if (rc != LS_OK)
		return rc;

	const struct job_grid *g = job->grid;
	fill_sizes(g->file_sizes, g->file_sizes_count, g->file_min, g->file_max, g->factor, &files);
	fill_sizes(g->record_sizes, g->record_sizes_count, g->record_min, g->record_max, g->factor, &records);
	size_t n = walk_cells(job, &files, &records, NULL);
	if (n == 0 || n > PHASES_MAX)
		return ls_err_set(err, LS_E_RANGE, "grid: it has %zu phases; 1 to %d are possible", n, PHASES_MAX);

	cells.phases = ls_calloc(n, sizeof(*cells.phases));
	walk_cells(job, &files, &records, &cells);
	for (size_t i = 0; i < job->phases_count; i++)
		field_struct_fini(&phase_desc, &job->phases[i]);
	free(job->phases);
	job->phases = cells.phases;
	job->phases_count = cells.phases_count;
	field_struct_fini(&job_grid_desc, job->grid);
	free(job->grid);
	job->grid = NULL;
	return LS_OK;
}
