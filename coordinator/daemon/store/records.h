/*
 * The structs that the store keeps as JSON text, generated from records.def, and how they are read back.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_RECORDS_H
#define LS_COORDINATOR_DAEMON_STORE_RECORDS_H

#include "coordinator/daemon/store/store.h"
#include "proto/model/results.h"

#include "common/base/field_decl.h"
#include "coordinator/daemon/store/records.def"
#include "common/base/field_undef.h"

/*
 * Decodes text that lockstepd wrote itself; NULL or empty stands for nothing there yet and gives the defaults. what: for errors.
 * obj is uninitialised; on success the caller ends it with field_struct_fini. Errors: as json_decode_struct.
 */
enum ls_rc record_decode(
    const struct struct_desc *desc, const char *text, const char *what, void *obj, struct ls_err *err) LS_MUST_CHECK;

/*
 * Reads a node's result, as it came from the agent: no more values than a message may hold. out as above. Errors: LS_E_NOTFOUND
 * when there is none yet or parts are missing, LS_E_STORE; LS_E_INVALID, LS_E_RANGE and LS_E_LIMIT when it is there and cannot be
 * read. Any thread that may use the store.
 */
enum ls_rc record_read_result(struct store *store, const char *run, uint64_t phase, uint64_t repetition,
    uint64_t attempt, const char *node, struct node_result *out, struct ls_err *err) LS_MUST_CHECK;

#endif
