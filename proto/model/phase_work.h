/*
 * What a phase asks of the work on data beside places: sizes of operations, checks.
 */
#ifndef LS_PROTO_MODEL_PHASE_WORK_H
#define LS_PROTO_MODEL_PHASE_WORK_H

#include "proto/model/phase.h"

#define PHASE_SIZES_TEXT 256 /* characters, as phase.def has it */
#define PHASE_SIZES_MAX 16

/* One of several sizes that operations have, and its share among the weights of all. */
struct phase_size {
	uint64_t bytes, weight;
};

/*
 * Reads record_sizes into out, which has room for PHASE_SIZES_MAX; none where the phase names none. Errors: LS_E_INVALID,
 * LS_E_RANGE (a size larger than record_size ...).
 */
enum ls_rc phase_parse_sizes(
    const struct phase *phase, struct phase_size *out, size_t *out_count, struct ls_err *err) LS_MUST_CHECK;

/* Are the blocks that it reads checked? */
bool phase_verifies(const struct phase *phase);

#endif
