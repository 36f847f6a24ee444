/*
 * What reports say of a phase in which a node was expected to be lost: a sentence on all, and a table with a row for each node, whose
 * columns stand in one place for all formats.
 */
#ifndef LS_COORDINATOR_REPORT_RECOVERY_H
#define LS_COORDINATOR_REPORT_RECOVERY_H

#include <stddef.h>

#include "common/base/sink.h"
#include "proto/model/results.h"

struct recovery_column {
	const char *title;  /* for people, at most 10 columns */
	const char *metric; /* for tables of single values */
	const char *unit;   /* "ns", "1" or "bool" */
	size_t offset;      /* in struct recovery_node: int64_t of ns, uint64_t of 1, bool of bool */
};

#define RECOVERY_COLUMNS 8
extern const struct recovery_column recovery_columns[RECOVERY_COLUMNS];

/* A cell for people: "12.3 s", "4711", "yes"; "-" where the node has no such value. buf: 32 bytes. Returns buf. */
const char *recovery_cell(const struct recovery_node *node, size_t column, char *buf, size_t len);

/* The same as a number; false: there is none. */
bool recovery_value(const struct recovery_node *node, size_t column, int64_t *out);

/* Sentences without the last one's full stop; nothing where the phase has no such result. Plain text, the caller escapes it. */
void recovery_sentence(struct sink *out, const struct phase_result *phase);

#endif
