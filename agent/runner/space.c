#include "agent/runner/space.h"

#include <stdbool.h>

#include "common/base/field.h"
#include "common/base/units.h"

/* percent of total, rounded up, without overflow for any total. */
static uint64_t
reserve_of(uint64_t total, unsigned percent)
{
	return total / 100 * percent + (total % 100 * percent + 99) / 100;
}

static bool
fits(uint64_t avail, uint64_t reserve, uint64_t need)
{
	return avail >= reserve && avail - reserve >= need;
}

static enum ls_rc
refuse_bytes(
    const char *path, const struct space *space, uint64_t need, unsigned percent, uint64_t reserve, struct ls_err *err)
{
	char need_text[32], free_text[32], total_text[32], reserve_text[32];

	return ls_err_set(err, LS_E_REFUSED,
	    "%s: no space: the run needs %s (all nodes together), %s of %s are free, and %u %% (%s) must stay free; "
	    "a smaller file_size, fewer workers or nodes, or a lower reserve_percent would change that",
	    path, units_format_size(need, need_text, sizeof(need_text)),
	    units_format_size(space->free_bytes, free_text, sizeof(free_text)),
	    units_format_size(space->total_bytes, total_text, sizeof(total_text)), percent,
	    units_format_size(reserve, reserve_text, sizeof(reserve_text)));
}

enum ls_rc
space_check(const char *path, const struct space *space, uint64_t need_bytes, uint64_t need_files,
    unsigned reserve_percent, struct ls_err *err)
{
	uint64_t reserve = reserve_of(space->total_bytes, reserve_percent);

	if (need_bytes > 0 && !fits(space->free_bytes, reserve, need_bytes))
		return refuse_bytes(path, space, need_bytes, reserve_percent, reserve, err);
	if (need_files == 0 || space->total_inodes == LS_UNKNOWN_U64 || space->free_inodes == LS_UNKNOWN_U64)
		return LS_OK;

	reserve = reserve_of(space->total_inodes, reserve_percent);
	if (fits(space->free_inodes, reserve, need_files))
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED,
	    "%s: no inodes: the run makes %llu files (all nodes together), %llu of %llu inodes are free, and %u %% "
	    "(%llu) "
	    "must stay free; fewer files, workers or nodes, or a lower reserve_percent would change that",
	    path, (unsigned long long)need_files, (unsigned long long)space->free_inodes,
	    (unsigned long long)space->total_inodes, reserve_percent, (unsigned long long)reserve);
}
