/*
 * What the readers of elbencho's forms share: one phase with both of its columns, first done and last done. Not for others.
 */
#ifndef LS_COORDINATOR_IMPORT_ELBENCHO_INT_H
#define LS_COORDINATOR_IMPORT_ELBENCHO_INT_H

#include "coordinator/import/import_int.h"

/* First and last done, NAN where a value is not there. */
struct elbencho_pair {
	double first, last;
};

struct elbencho_phase {
	char name[32];
	size_t line, end;
	struct elbencho_pair elapsed_ms, iops, mib_s, mib, entries_s, entries;
	struct elbencho_pair cpu;
	double io_latency[3]; /* us: min, avg, max */
	double entry_latency[3];
};

/* With nothing known. */
void import_elbencho_phase_init(struct elbencho_phase *p, const char *name, size_t line);

/* Adds it to a document, unless it is only a pause between others (SYNC, DROPCACHE). */
void import_elbencho_add(struct results *doc, const struct elbencho_phase *p);

/* The CSV of results and the live CSV. *line is the line of titles and becomes the last that was taken. LS_OK with *took false: neither. */
enum ls_rc import_elbencho_csv(
    const struct import_text *text, struct import_set *set, size_t *line, bool *took, struct ls_err *err);

#endif
