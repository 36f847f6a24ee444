/*
 * Fields of CSV as RFC 4180 says. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_CSV_INT_H
#define LS_COORDINATOR_REPORT_CSV_INT_H

#include "common/base/sink.h"

/* A field, in quotes where it needs them; text NULL: empty. Names come from anywhere: what begins like a formula of a spreadsheet gets an apostrophe. */
void csv_field(struct sink *out, const char *text);

#endif
