/*
 * Between the files of the comparison. Not for others.
 */
#ifndef LS_COORDINATOR_REPORT_COMPARE_INT_H
#define LS_COORDINATOR_REPORT_COMPARE_INT_H

#include "coordinator/report/compare.h"

/* A phase of a run, as one repeat of a row. */
struct compare_sample {
	const struct results *run;
	struct compare_part part;
	uint64_t occurrence; /* among phases of the same test and sizes in its repetition, from 0 */
	uint64_t of_test;    /* among phases of the same test in its repetition */
};

struct compare_samples {
	struct compare_sample *items; /* in the order they ran */
	size_t count;
};

/* A row while it is made: the samples of each group. */
struct compare_cells {
	struct compare_samples *groups; /* as many as there are groups */
};

/* Names the differences between the groups of a row, beginning with what, in comparison->differences. */
struct compare_difference {
	char *text;
	char **rows; /* names of the rows that it is true for, each once */
	size_t rows_count;
	size_t times; /* rows that it is true for */
};

struct compare_differences {
	struct compare_difference *items;
	size_t count;
};

/* What differs between the first samples of a row's groups, added to list. */
void compare_row_differences(
    struct compare_differences *list, const struct comparison *c, const struct compare_cells *row, const char *name);

/* Writes the list into c->differences and frees it. rows: how many rows there are. */
void compare_differences_end(struct compare_differences *list, struct comparison *c, size_t rows);

/* What differs between the runs as a whole: c->differences and c->facts. */
void compare_run_differences(struct comparison *c, const struct compare_side *sides, size_t count);

/* Odd repeats of a row: c->notes. values: those of the group's samples. */
void compare_note_repeats(struct comparison *c, size_t group, const struct compare_row *row,
    const struct compare_samples *samples, const double *values);

/* Rate of the last third of the common span of a phase, or of one of its operations, over that of the first; NAN: too short to tell. */
double compare_drift_of(const struct compare_part *part);

/* Phases whose rate is not steady: a note. title: what the row is about. */
void compare_note_drift(struct comparison *c, size_t group, const char *title, const struct compare_samples *samples);

/* Repeats that vary much: one note for each group. */
void compare_note_spread(struct comparison *c);

/* "write 8 MiB by 64 KiB": what a row is about. buf: 400 bytes. */
const char *compare_row_title(const struct compare_row *row, char *buf, size_t len);

/* "128%", halves go up, as by hand; "n/a" for NAN. buf: 32 bytes. */
const char *compare_percent(double ratio, char *buf, size_t len);

/* "B/A": which side over which. buf: 300 bytes. */
const char *compare_ratio_title(const struct comparison *c, uint64_t of, uint64_t to, char *buf, size_t len);

/* "no difference shown" and so on. */
const char *compare_verdict_text(int verdict);

/* The unit in which a row's values are printed, and what to divide them by. */
double compare_scale(const struct compare_row *row, const char **unit);

/* Rows of a test; is number r the first of its test? Does any ratio have an interval? */
size_t compare_rows_of_test(const struct comparison *c, const char *test);
bool compare_is_first_of_test(const struct comparison *c, size_t r);
bool compare_has_intervals(const struct comparison *c);

/* "8 MiB by 64 KiB", "4 processes" or the row's name. buf: 80 bytes. */
const char *compare_size_title(const struct compare_row *row, char *buf, size_t len);

/* The mean of a test (NULL: of all) in a column, or NULL. */
const struct compare_mean *compare_mean_of(const struct comparison *c, const char *test, size_t column);

/* Sentences that stand below the tables: what is compared, and how values and intervals came about. buf: 512 bytes. */
const char *compare_footer(const struct comparison *c, char *buf, size_t len);

void compare_text(const struct comparison *c, struct sink *out);
void compare_markdown(const struct comparison *c, struct sink *out);
void compare_csv(const struct comparison *c, struct sink *out);
void compare_json(const struct comparison *c, struct sink *out);
void compare_html(const struct comparison *c, struct sink *out);

/* "123 MiB/s", "4.5 k op/s", "12 us": a value with its unit. buf: 64 bytes. */
const char *compare_format(double value, const char *unit, char *buf, size_t len);

#endif
