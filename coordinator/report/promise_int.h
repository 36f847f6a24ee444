/*
 * What nodes saw of each other, as all reports show it: one row for each row of the job, and of visibility each pair of nodes. Not for other
 * folders.
 */
#ifndef LS_COORDINATOR_REPORT_PROMISE_INT_H
#define LS_COORDINATOR_REPORT_PROMISE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/sink.h"
#include "proto/model/results.h"

/* The steps of one row of the job together. Borrows from the results. */
struct promise_line {
	const struct phase_result *first;
	const struct promise_result *worst;
	uint64_t looked, broken;
	int64_t median_ns, longest_ns; /* visibility: the worst pair's; 0 where nothing was seen */
	char rates[160];               /* locks per second on 1, 2, ... nodes; "": it is not about locks */
};

struct promise_lines {
	struct promise_line *items;
	size_t count;
};

struct promise_lines promise_lines_of(const struct results *results);
void promise_lines_free(struct promise_lines *rows);

/* What the rates and times of a row say, in a sentence; "" when there are none. Returns buf. */
const char *promise_line_note(const struct promise_line *row, char *buf, size_t len);

/* How the times of a pair are to be read, in a sentence. Returns buf (512 bytes). */
const char *promise_pairs_note(const struct phase_result *phase, char *buf, size_t len);

/* The table of all, nothing where there are none; and that of a phase's pairs, nothing where it has none. */
void promises_markdown(struct sink *out, const struct results *results);
void promise_pairs_markdown(struct sink *out, const struct phase_result *phase);
void promises_html(struct sink *out, const struct results *results);
void promise_pairs_html(struct sink *out, const struct phase_result *phase);

#endif
