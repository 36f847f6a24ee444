/*
 * A results document from what the store holds. Runs in a thread of its own: everything comes from the store.
 */
#ifndef LS_COORDINATOR_DAEMON_ASSEMBLE_H
#define LS_COORDINATOR_DAEMON_ASSEMBLE_H

#include "coordinator/daemon/store/store.h"
#include "proto/model/results.h"

/*
 * The whole document of a run, ended or not; only data of attempts that counted. out ends with
 * field_struct_fini(&results_desc, out). Errors: LS_E_NOTFOUND, LS_E_STORE, LS_E_INVALID when a stored text is malformed.
 */
enum ls_rc assemble_run(struct store *store, const char *run, struct results *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * One phase in a sentence for people: "write: last done 1.20 GiB/s, all active 1.25 GiB/s, start skew 35.0 us +- 60.0 us". Heap.
 */
enum ls_rc assemble_phase_line(struct store *store, const char *run, uint64_t phase, uint64_t repetition, char **out,
    struct ls_err *err) LS_MUST_CHECK;

#endif
