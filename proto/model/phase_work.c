/* Parameters of the work on data: contents, checking, sizes, rates. */
#include "proto/model/phase_work.h"

#include <inttypes.h>

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
