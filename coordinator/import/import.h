/*
 * From the output of other tools to the results model: fio, bonnie++, iozone, IOR, mdtest, elbencho and a few tables as people
 * published them. Pure functions of text; no files are opened, nothing is sent.
 *
 * What is the same for all formats. Integers are bytes; where a tool prints rates only, bytes and operations are unknown (null).
 * A test that was not run has no phase, a test that was too fast to measure has one whose rate is null. No aggregate is made
 * of results that no barrier held together: only their sum, labelled as one. What a tool itself says of all its processes stands
 * as the aggregate that it is (last done, first done, sum of rates). A block that is recognised and cannot be read to its end is
 * an error for the whole file: half a result is never taken for a whole.
 */
#ifndef LS_COORDINATOR_IMPORT_IMPORT_H
#define LS_COORDINATOR_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "proto/model/results.h"

/* Documents that were read, in the order in which they stand in the file. */
struct import_set {
	struct results **docs; /* owned, each on the heap */
	size_t count;
};

struct import_text;

/* One format. importers.c lists them all. */
struct importer {
	const char *name; /* as origin.format says it */
	const char *help; /* one line: what it reads */

	/* May that text hold blocks of this format? Cheap, and never an error. */
	bool (*sees)(const struct import_text *text);

	/* Appends a document for each run in the text. Errors: LS_E_INVALID, "line N: why"; the set is freed by the caller. */
	enum ls_rc (*read)(const struct import_text *text, struct import_set *set, struct ls_err *err);
};

/* All formats, NULL-terminated. */
extern const struct importer *const importers[];

/*
 * Reads all runs in len bytes of text, whatever the format, and noise between them. name: the file's, for errors
 * ("NAME:LINE: why") and for origin.file. Documents are appended to set, which the caller initialises with zero and frees
 * in any case. Two equal runs in one set are one; the second is a warning of the first. Errors: LS_E_INVALID when nothing is recognised
 * or something recognised cannot be read.
 */
enum ls_rc import_read(
    const char *name, const char *text, size_t len, struct import_set *set, struct ls_err *err) LS_MUST_CHECK;

/*
 * Makes one document of all documents of the set: runs on different machines that belong together. Phases of the same test and
 * sizes become one phase with a node each, and the labelled sum of their rates. Errors: LS_E_INVALID when two runs are of one
 * machine or of different tools, or have phases without nodes. The set is unchanged then.
 */
enum ls_rc import_join(struct import_set *set, struct ls_err *err) LS_MUST_CHECK;

/* Frees all documents. */
void import_set_free(struct import_set *set);

#endif
