/* Parameters of the work on data: contents, checking, sizes, rates. */
#include "proto/model/phase_work.h"

#include <inttypes.h>
#include <math.h>

#include "common/base/sat.h"
#include "proto/model/phase_int.h"

bool
phase_verifies(const struct phase *phase)
{
	return phase->verify || phase->kind == PHASE_VERIFY;
}

static enum ls_rc
need_blocks(const struct phase *phase, const char *key, struct ls_err *err)
{
	if (phase->record_size % PHASE_BLOCK_BYTES == 0)
		return LS_OK;
	return ls_err_set(err, LS_E_INVALID,
	    "record_size: %" PRIu64 " is not a multiple of %d, the size of a stamped block, which %s needs",
	    phase->record_size, PHASE_BLOCK_BYTES, key);
}

static enum ls_rc
validate_verify(const struct phase *phase, struct ls_err *err)
{
	if (!phase_verifies(phase))
		return LS_OK;
	if (phase->engine == ENGINE_NULL)
		return ls_err_set(err, LS_E_INVALID, "verify: engine null reads nothing that could be checked");
	if (phase->duplicate > 0)
		return ls_err_set(err, LS_E_INVALID,
		    "verify: duplicate blocks carry no stamp of their own and cannot be checked; duplicate must be 0");
	if (phase->kind == PHASE_MIXED && phase->mix == MIX_OPERATIONS && phase->depth > 1)
		return ls_err_set(err, LS_E_INVALID,
		    "verify: with depth %" PRIu64
		    " a mixed phase may read a block while it writes it; depth must be 1, or mix alternate or workers",
		    phase->depth);
	return need_blocks(phase, "verify", err);
}

enum ls_rc
phase_validate_work(const struct phase *phase, struct ls_err *err)
{
	enum ls_rc rc = validate_verify(phase, err);

	if (rc == LS_OK && phase->duplicate > 0)
		rc = need_blocks(phase, "duplicate", err);
	if (rc == LS_OK && phase->think > 0 && (phase->rate_ops > 0 || phase->rate_bytes > 0))
		rc = ls_err_set(err, LS_E_INVALID, "think: %s says when operations begin, there is no pause beside it",
		    phase->rate_ops > 0 ? "rate_ops" : "rate_bytes");
	if (rc == LS_OK && !(phase->zipf >= 0 && phase->zipf <= 10))
		rc = ls_err_set(err, LS_E_RANGE, "zipf: must be 0 (all records alike) to 10");
	return rc == LS_OK ? phase_validate_sizes(phase, err) : rc;
}

uint64_t
phase_planned(const struct phase *p, const uint64_t *node_workers, size_t node_count)
{
	uint64_t workers = 0, nodes = 0;

	for (size_t i = 0; i < node_count; i++) {
		workers += node_workers[i];
		nodes += node_workers[i] > 0;
	}
	if (p->time > 0)
		return 0;
	if ((phase_kind_info((enum phase_kind)p->kind)->groups & PHASE_META) != 0)
		return sat_mul(p->files, workers);
	if (p->kind == PHASE_SEEKS)
		return sat_mul(p->seeks, nodes);
	if (p->amount > 0)
		return sat_mul(p->amount, workers);
	uint64_t once = phase_bytes_once(p, nodes, workers);

	return phase_byte_limit(p) > 0 ? LS_MIN(once, sat_mul(phase_byte_limit(p), workers)) : once;
}

/* What its workers begin in its time, where a rate holds them; 0: nothing does. */
static uint64_t
paced_bytes(const struct phase *p, uint64_t workers)
{
	double per_second = (double)INFINITY;

	if (p->rate_bytes > 0)
		per_second = (double)p->rate_bytes;
	if (p->rate_ops > 0)
		per_second = fmin(per_second, (double)p->rate_ops * (double)p->record_size);
	if (isinf(per_second))
		return 0;

	double all = per_second * (double)workers * (double)p->time / 1e9;
	return all >= (double)INT64_MAX ? INT64_MAX : (uint64_t)all;
}

/* Names have a size when they are made. */
static uint64_t
created_bytes(const struct phase *p, uint64_t files)
{
	const struct phase_kind_info *info = phase_kind_info((enum phase_kind)p->kind);

	if (info->op != OP_CREATE || p->links != LINKS_NONE)
		return 0;
	return sat_mul(files, (info->groups & PHASE_TREE) != 0 ? (p->min_size + p->size) / 2 : p->size);
}

bool
phase_estimate_bytes(const struct phase *p, const uint64_t *node_workers, size_t node_count, uint64_t *out)
{
	const struct phase_kind_info *info = phase_kind_info((enum phase_kind)p->kind);
	uint64_t workers = 0;
	uint64_t bytes;

	for (size_t i = 0; i < node_count; i++)
		workers += node_workers[i];
	if ((info->groups & PHASE_TOOL) != 0)
		return false;
	if ((info->groups & PHASE_META) != 0 && created_bytes(p, 1) == 0) {
		*out = 0;
		return true;
	}
	if (p->time > 0) {
		bytes = (info->groups & PHASE_DATA) != 0 ? paced_bytes(p, workers) : 0;
		if (bytes > 0)
			*out = bytes;
		return bytes > 0;
	}
	bytes = phase_planned(p, node_workers, node_count);
	if ((info->groups & PHASE_META) != 0)
		bytes = created_bytes(p, bytes);
	else if (p->kind == PHASE_SEEKS)
		bytes = sat_mul(bytes, p->record_size);
	*out = bytes;
	return true;
}

/* Can the phase go beyond a cap, with no rate of its own to hold it? */
static const char *
beyond_rates(const struct phase *p, bool bytes, bool ops)
{
	unsigned groups = phase_kind_info((enum phase_kind)p->kind)->groups;

	if ((groups & PHASE_DATA) != 0)
		return p->think > 0 ? "has think, which says when operations begin" : NULL;
	if ((groups & PHASE_TOOL) != 0)
		return "is done by an external program, which nothing holds";
	if (ops)
		return "works on names, at no rate of operations that could be set";
	if (bytes && (p->size > 0 || (groups & PHASE_XATTR) != 0))
		return "writes small files, at no rate of bytes that could be set";
	return NULL;
}

static uint64_t
lower_rate(uint64_t own, uint64_t share)
{
	return own == 0 || share < own ? share : own;
}

enum ls_rc
phase_hold(struct phase *p, uint64_t bytes_per_s, uint64_t ops_per_s, uint64_t workers, struct ls_err *err)
{
	const char *why = beyond_rates(p, bytes_per_s > 0, ops_per_s > 0);

	if ((bytes_per_s == 0 && ops_per_s == 0) || workers == 0)
		return LS_OK;
	if (why != NULL)
		return ls_err_set(err, LS_E_INVALID, "phase %s %s", phase_title(p), why);
	if ((phase_kind_info((enum phase_kind)p->kind)->groups & PHASE_DATA) == 0)
		return LS_OK;
	if ((bytes_per_s > 0 && bytes_per_s < workers) || (ops_per_s > 0 && ops_per_s < workers))
		return ls_err_set(err, LS_E_RANGE,
		    "phase %s: %" PRIu64 " per second are less than 1 for each of %" PRIu64 " workers", phase_title(p),
		    bytes_per_s > 0 && bytes_per_s < workers ? bytes_per_s : ops_per_s, workers);
	if (bytes_per_s > 0)
		p->rate_bytes = lower_rate(p->rate_bytes, bytes_per_s / workers);
	if (ops_per_s > 0)
		p->rate_ops = LS_MIN(lower_rate(p->rate_ops, ops_per_s / workers), (uint64_t)1000000000);
	return LS_OK;
}
