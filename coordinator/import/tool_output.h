/*
 * What external programs have printed: read, and made short. It is stored whole, as it came; documents carry its end only, as those of many
 * nodes would be hundreds of megabytes otherwise.
 */
#ifndef LS_COORDINATOR_IMPORT_TOOL_OUTPUT_H
#define LS_COORDINATOR_IMPORT_TOOL_OUTPUT_H

#include <stdbool.h>

#include "common/base/err.h"
#include "coordinator/import/import.h"
#include "proto/model/results.h"

#define TOOL_OUTPUT_KEPT (64U << 10) /* bytes of standard output a node and phase in a document */
#define TOOL_ERRORS_KEPT (16U << 10) /* of standard error */

/* Did the node's program end in this phase, and well? Its output is whole then. */
bool tool_output_whole(const struct node_result *node);

/*
 * What the program printed as the one document that it is; set is ended with import_set_free, also on error. Errors: LS_E_INVALID, with
 * the last line that it printed.
 */
enum ls_rc tool_output_read(const struct node_result *node, struct import_set *set, struct ls_err *err) LS_MUST_CHECK;

/* Can it be read? For its last phase; others, and nodes without a program, are fine. Errors: LS_E_INVALID. */
enum ls_rc tool_output_check(const struct node_result *node, struct ls_err *err) LS_MUST_CHECK;

/* Leaves only the ends, in whole lines, and counts the rest into cut_bytes. What was cut before stays as it is. */
void tool_output_cut(struct results *results);

#endif
