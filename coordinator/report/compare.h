/*
 * Comparison of runs: what is the ratio, is it more than chance, and may these runs be compared at all. Pure functions of
 * results documents; no files, no clock, no locale.
 */
#ifndef LS_COORDINATOR_REPORT_COMPARE_H
#define LS_COORDINATOR_REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/base/sink.h"
#include "proto/model/results.h"

enum compare_verdict {
	COMPARE_UNKNOWN = 0, /* no figure on one side */
	COMPARE_NOT_REPEATED,
	COMPARE_FASTER,
	COMPARE_SLOWER,
	COMPARE_NO_DIFFERENCE,
	COMPARE_VERDICT_COUNT
};

extern const char *const compare_verdict_names[COMPARE_VERDICT_COUNT + 1];

#include "common/base/field_decl.h"
#include "coordinator/report/compare.def"
#include "common/base/field_undef.h"

/* What can be compared; the first one is the default. */
struct compare_metric {
	const char *name;
	const char *help;
	bool higher_is_better;
	double (*value)(const struct phase_result *phase); /* NAN: not known; bytes/s, operations/s or ns */
	bool is_latency;
	/* The same of one operation: phases that mix reads and writes have a row, or a series, for each. NULL: there is none, and they have one row, without a figure unless value has it. */
	double (*apart)(const struct phase_result *phase, enum op_kind op);
};

/* All metrics; an element without a name ends them. */
extern const struct compare_metric compare_metrics[];

/* A phase, or one operation of a phase that mixes reads and writes, as a metric sees it. */
struct compare_part {
	const struct phase_result *phase;
	int op; /* -1: the whole phase */
};

/* The parts of a phase for a metric; returns how many (1 to OP_COUNT). */
size_t compare_parts_of(
    const struct phase_result *phase, const struct compare_metric *metric, struct compare_part out[OP_COUNT]);

/* The figure of a part, NAN where there is none; its test ("mixed-read") and title ("mix, read"), in buf or borrowed. */
double compare_value_of(const struct compare_part *part, const struct compare_metric *metric);
const char *compare_test_of(const struct compare_part *part, char *buf, size_t len);
const char *compare_name_of(const struct compare_part *part, char *buf, size_t len);

/* Or NULL. */
const struct compare_metric *compare_metric_find(const char *name);

/* One side: runs that are repeats of each other, at least one. Borrowed. */
struct compare_side {
	const char *label;
	const struct results *const *runs;
	size_t count;
};

/*
 * Compares sides (at least two). subject: number of the side that stands above the line in each ratio, to all others; SIZE_MAX: each
 * other side over the first one. out is ended with field_struct_fini(&comparison_desc, out).
 */
void compare_runs(const struct compare_side *sides, size_t count, const struct compare_metric *metric, size_t subject,
    struct comparison *out);

/* A form in which a comparison is written: one file (compare_<name>.c) and a row in compare_formats.c. Pure functions. */
struct compare_format {
	const char *name;
	const char *help;
	void (*render)(const struct comparison *comparison, struct sink *out);
};

/* All forms, the default first; an element without a name ends them. */
extern const struct compare_format compare_formats[];

/* Or NULL. */
const struct compare_format *compare_format_find(const char *name);

/*
 * Is any side more than tolerance (0.05: 5 %) slower than the one it is compared with? Where both sides have repeats the interval must
 * show a difference too. A row without a figure on one side counts as slower. why (may be NULL) gets a line for each.
 */
bool compare_is_slower(const struct comparison *comparison, double tolerance, struct sink *why);

#endif
