/* What the files of the phase's model share. */
#ifndef LS_PROTO_MODEL_PHASE_INT_H
#define LS_PROTO_MODEL_PHASE_INT_H

#include "proto/model/phase_work.h"

/* Blocks that are stamped, and copied where duplicates are asked for. */
#define PHASE_BLOCK_BYTES 4096

/* What is written, how it is checked, when operations begin: limits that depend on each other, as phase_validate. */
enum ls_rc phase_validate_work(const struct phase *phase, struct ls_err *err) LS_MUST_CHECK;

/* How a phase with data does its I/O: which settings exclude or need each other. Errors as phase_validate. */
enum ls_rc phase_check_io(const struct phase *phase, struct ls_err *err) LS_MUST_CHECK;

/* record_sizes alone. */
enum ls_rc phase_validate_sizes(const struct phase *phase, struct ls_err *err) LS_MUST_CHECK;

#endif
