/*
 * What the two readers of bonnie++ output share: a row of its twelve tests, from a CSV line or a console table. Not for others.
 */
#ifndef LS_COORDINATOR_IMPORT_BONNIE_INT_H
#define LS_COORDINATOR_IMPORT_BONNIE_INT_H

#include "coordinator/import/import_int.h"

#define BONNIE_IO    6
#define BONNIE_TESTS 12
#define BONNIE_TEXT  24

/* Texts as printed; "" where a field is empty. */
struct bonnie_row {
	size_t line, last; /* from 0: where it begins and ends */
	const char *format;
	char version[BONNIE_TEXT];
	char name[256];
	char size[BONNIE_TEXT]; /* of the data set, with its unit */
	char rate[BONNIE_TESTS][BONNIE_TEXT];
	char cpu[BONNIE_TESTS][BONNIE_TEXT];
	char latency[BONNIE_TESTS][BONNIE_TEXT];
	char chunk[BONNIE_TEXT];
	char concurrency[BONNIE_TEXT];
	char seed[BONNIE_TEXT];
	char seeks[BONNIE_TEXT];
	char seekers[BONNIE_TEXT];
	char files[BONNIE_TEXT]; /* as printed; with 1.03 "16:4096:1024/4" is possible */
	char file_max[BONNIE_TEXT];
	char file_min[BONNIE_TEXT];
	char dirs[BONNIE_TEXT];
	bool own;        /* lockstep wrote it, from phases of its own */
	bool console;    /* rates may be rounded ("50.6m"), file rates of 2.00 wrong */
	const char *bad; /* a console table that cannot be read: why; NULL: good */
};

struct bonnie_rows {
	struct bonnie_row *rows; /* owned */
	size_t count;
};

/* Is that line a CSV line of bonnie++, and is it whole? LS_OK with *is false: something else. Errors: LS_E_INVALID. */
enum ls_rc import_bonnie_csv_row(
    const struct import_text *text, size_t line, bool *is, struct bonnie_row *out, struct ls_err *err);

/*
 * The console tables of a text, in order. Those that cannot be read are there too, with bad set: the CSV line behind them may tell
 * the same.
 */
void import_bonnie_console_rows(const struct import_text *text, struct bonnie_rows *out);

#endif
