/*
 * What iozone would have called the phases of a run; shared by its console output and its -R report. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_IOZONE_INT_H
#define LS_COORDINATOR_REPORT_IOZONE_INT_H

#include "common/base/sink.h"
#include "coordinator/report/rows_int.h"

struct iozone_test {
	const char *kind;   /* kind of phase */
	int number;         /* of iozone's option -i */
	int width;          /* of its column, as 3.487 prints */
	const char *head;   /* first line of its column's title, "" for none */
	const char *column; /* second line; NULL: it has no column */
	const char *report; /* title in the -R report, NULL: it has none */
	const char *many;   /* who is seen in throughput mode: "initial writers" */
	const char *brief;  /* its name in the throughput report */
};

/* In the order of the columns; what has no column follows. */
extern const struct iozone_test iozone_tests[];
extern const size_t iozone_test_count;

/* kB/s of a cell (1 kB = 1024 bytes), or NAN. */
double iozone_kb_per_s(const struct report_cell *cell);

/* Sizes in kB as iozone prints them; not whole: with decimals. buf: 32 bytes. */
const char *iozone_kb(uint64_t bytes, char *buf, size_t len);

/* What all machines together are called, and how their rate is made. buf: 96 bytes. */
const char *iozone_all(const struct results *results, char *buf, size_t len);

/*
 * Rates of the single workers: until the first one ended (stonewalled), or each to its own end. Of imports and of older documents what
 * they tell of the latter. False: not known.
 */
bool iozone_rates(const struct phase_result *phase, bool stonewalled, struct worker_rates *out);

/* The phases of a run that are tests of iozone, in rows of one size; report_rows_free frees them. */
struct report_rows iozone_rows(const struct results *results);

/* Was a test of that number run in any of the rows? */
bool iozone_was_run(const struct report_rows *rows, int number);

/* The block of lines "Throughput report Y-axis ..." over all rows. */
void iozone_throughput_report(struct sink *out, const struct report_rows *rows);

#endif
