/*
 * Pieces of the Markdown report. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_MARKDOWN_INT_H
#define LS_COORDINATOR_REPORT_MARKDOWN_INT_H

#include "common/base/sink.h"

/* Text of others, which must neither end a cell nor become markup. */
void markdown_text(struct sink *out, const char *text);

/* A number and the end of its cell; "n/a" for NAN. */
void markdown_cell(struct sink *out, double value);

#endif
