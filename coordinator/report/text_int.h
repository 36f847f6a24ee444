/*
 * Pieces of the text report: cells of a table and wrapped lines of at most TEXT_COLUMNS columns. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_TEXT_INT_H
#define LS_COORDINATOR_REPORT_TEXT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/defs.h"
#include "common/base/sink.h"
#include "proto/model/results.h"

#define TEXT_COLUMNS    100
#define TEXT_NAME_WIDTH 16

/* A formatted paragraph after a first prefix, wrapped at blanks; further lines are indented by as many blanks. */
void text_wrap(struct sink *out, const char *prefix, const char *fmt, ...) LS_PRINTF(3, 4);

/* The run's tags and note, a line each, if it has any. */
void text_labels(struct sink *out, const struct run_info *run);

/* The warnings of a list, each a paragraph beginning with "! ". */
void text_warnings(struct sink *out, const char *indent, char *const *list, size_t count);

/* A number with about three significant digits, all before the point; "n/a" for NAN. buf: 64 bytes. */
const char *text_number(double value, char *buf, size_t len);

/* A number right-aligned in width columns, about three significant digits; "n/a" for NAN. */
void text_cell(struct sink *out, int width, double value);

/* A word right-aligned in width columns. */
void text_cell_word(struct sink *out, int width, const char *word);

/* A name left-aligned in TEXT_NAME_WIDTH columns; a longer one loses its middle. */
void text_name(struct sink *out, const char *name);

/* "12.3 us" or "n/a" for LS_UNKNOWN_I64 into buf (32 bytes); returns buf. */
const char *text_duration(int64_t ns, char *buf, size_t len);

/* What a phase did, with its parameters, in a sentence. buf: 512 bytes. */
void text_phase_about(const struct results *results, const struct phase_result *phase, char *buf, size_t len);

/* The title of a phase with its parameters, wrapped. */
void text_phase_title(struct sink *out, const struct results *results, const struct phase_result *phase);

/* What the nodes of a phase used together. */
struct text_totals {
	struct cpu_time cpu;     /* of the workers; unknown when one node's is */
	struct device_io device; /* valid when has_device */
	bool has_device;         /* at least one node knows its device */
	int64_t agent_cpu_ns;
	uint64_t agent_net_bytes;
};

/* Nodes of one machine see one device: it counts once, with the largest figures that any of them saw. */
struct text_totals text_totals_of(const struct results *results, const struct phase_result *phase);

/* A phase: title, warnings, void attempts, a row per node, all together. */
void text_phase(struct sink *out, const struct results *results, const struct phase_result *phase);

/* Mean, deviation, interval and median over the repetitions; nothing when there was only one. */
void text_repetitions(struct sink *out, const struct results *results);

/* The whole report of an imported run, less its footer. results->run.origin is there. */
void text_import(struct sink *out, const struct results *results);

/* Appends to a line about a phase with data what its operations were told beside places: rates, sizes, contents, checks. */
void text_work_about(const struct phase *spec, char *buf, size_t len);

/* What a phase that looks at what other nodes did is told to do, in a line. */
void text_promise_about(const struct phase *spec, char *buf, size_t len);

/* What it has beside its rates (side_table.h). */
void text_side_tables(struct sink *out, const struct phase_result *phase);

/* Do rates of the phase mean anything? Of most steps in which nodes look at each other they do not. */
bool text_has_rates(const struct phase_result *phase);

/* Is it a step of locks in which nodes count under them, so that it has a rate? */
bool text_counts_locks(const struct phase *spec);

/* What came of such a phase, and of visibility the times of each pair of nodes; nothing for other phases. */
void text_promise(struct sink *out, const struct phase_result *phase);

/* All of them in a table, a row for each row of the job; nothing where there are none. */
void text_promises(struct sink *out, const struct results *results);

/* One line on what checking the data found; none where nothing was checked. */
void text_verified(struct sink *out, const struct phase_result *phase);

#endif
