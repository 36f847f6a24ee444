/*
 * What a phase asks of the work on data beside places: sizes of operations, checks.
 */
#ifndef LS_PROTO_MODEL_PHASE_WORK_H
#define LS_PROTO_MODEL_PHASE_WORK_H

#include "proto/model/phase.h"

#define PHASE_SIZES_TEXT 256 /* characters, as phase.def has it */
#define PHASE_SIZES_MAX  16

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

/*
 * What all workers together will have done at the phase's end: bytes or files, as the kind counts; 0 when its time decides.
 * node_workers[i] workers run on node i. Saturates at UINT64_MAX.
 */
uint64_t phase_planned(const struct phase *phase, const uint64_t *node_workers, size_t node_count);

/*
 * Bytes that the phase will move, all nodes together, as far as its parameters tell: by its work, or by its rate and time. Of small files
 * whose sizes vary it is the mean. False, *out untouched, when neither tells: as fast as the volume goes for a time, or an external program.
 */
bool phase_estimate_bytes(
    const struct phase *phase, const uint64_t *node_workers, size_t node_count, uint64_t *out) LS_MUST_CHECK;

/*
 * Holds a phase to a cap that all its workers share equally: rate_bytes and rate_ops become the share unless they are lower already.
 * bytes_per_s and ops_per_s: of all workers together, 0: none. think, which a rate replaces, is refused. Errors: LS_E_INVALID for a phase
 * that has no rate to set and would go beyond (what an external program does; small files, which no rate of bytes covers; names under a cap of
 * operations); LS_E_RANGE when a share is less than 1 per second. The phase is unchanged then.
 */
enum ls_rc phase_hold(
    struct phase *phase, uint64_t bytes_per_s, uint64_t ops_per_s, uint64_t workers, struct ls_err *err) LS_MUST_CHECK;

#endif
