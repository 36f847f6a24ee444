/*
 * Results documents by what an operator calls them: a run of lockstepd, or a file.
 */
#ifndef LS_COORDINATOR_CLI_DOCUMENTS_H
#define LS_COORDINATOR_CLI_DOCUMENTS_H

#include "common/base/err.h"
#include "coordinator/cli/cmd.h"
#include "proto/model/results.h"

/*
 * Reads the document of a run (its id, a unique beginning, or "last"; NULL is "last") from lockstepd, or that of a file (needs no
 * lockstepd). out is ended with field_struct_fini(&results_desc, out). Errors: LS_E_INVALID when it is no results document; others
 * as client_open, client_export and file_read.
 */
enum ls_rc document_load(
    const struct cli *cli, const char *what, struct results *out, struct ls_err *err) LS_MUST_CHECK;

#endif
