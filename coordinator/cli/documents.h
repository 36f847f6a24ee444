/*
 * Results documents by what an operator calls them: a run of lockstepd, a results file, or the output of another tool.
 */
#ifndef LS_COORDINATOR_CLI_DOCUMENTS_H
#define LS_COORDINATOR_CLI_DOCUMENTS_H

#include "common/base/err.h"
#include "coordinator/cli/cmd.h"
#include "coordinator/report/format.h"
#include "proto/model/results.h"

#include "common/base/field_decl.h"
#include "coordinator/cli/documents.def"
#include "common/base/field_undef.h"

/*
 * Reads what belongs to a word: the document of a run (its id, a unique beginning, or "last"; NULL is "last") from lockstepd; or
 * that of a file (needs no lockstepd), which may be a results document, a list of them, or what another tool has printed, with
 * any number of runs in it. whole: of a run in the store with all that external programs printed, else with the ends. FILE#NAME takes only the runs of that name, FILE#2 the second one. *out is ended with
 * field_struct_fini(&document_list_desc, out) and holds at least one. Errors: LS_E_INVALID when it is nothing of this, LS_E_NOTFOUND
 * when there is no such run in the file; others as client_open, client_export and file_read.
 */
enum ls_rc documents_load(
    const struct cli *cli, const char *what, bool whole, struct document_list *out, struct ls_err *err) LS_MUST_CHECK;

/* Loads the one document of a word and writes its report (output NULL: standard output); says why not, and returns the exit status. */
enum cli_exit documents_report(
    const struct cli *cli, const char *what, const struct report_format *format, const char *output);

/* Is that text a results document or a list of them, and not the output of another tool? By its beginning. */
bool document_in_text(const char *text);

/* Documents of a text of either kind. what: its name. *out, also on error, is ended as above. Errors: LS_E_INVALID, LS_E_RANGE. */
enum ls_rc documents_parse(
    const char *text, size_t len, const char *what, struct document_list *out, struct ls_err *err) LS_MUST_CHECK;

/* The name of a document's run without the name of the tool before it ("iozone: ext2" is "ext2"). Borrowed from doc. */
const char *document_short_name(const struct results *doc);

/* Error for a list in a place where one run can stand: names the runs in it. Returns LS_E_INVALID. */
enum ls_rc documents_too_many(const char *what, const struct document_list *list, struct ls_err *err);

#endif
