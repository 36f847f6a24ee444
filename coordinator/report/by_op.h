/*
 * Rows by operation, for phases that do several (their rates are never added up) or that keep two times of each.
 */
#ifndef LS_COORDINATOR_REPORT_BY_OP_H
#define LS_COORDINATOR_REPORT_BY_OP_H

#include <stdbool.h>

#include "common/base/sink.h"
#include "proto/model/results.h"

/* Did the phase do reads and writes side by side, so that one rate for both means nothing? Kinds that define their total excepted. */
bool by_op_mixes(const struct phase_result *phase);

/* "read 5.86 MiB/s, write 2.51 MiB/s": each operation of all nodes, last done. Returns buf. */
const char *by_op_rates(const struct phase_result *phase, char *buf, size_t len);

/* Rates of all operations added up: only for the forms of tools that do so. */
struct rate by_op_sum(const struct by_op *by_op);

/* The rows in the form of a format, each node and all together; nothing where the phase's own rows say it all. */
void by_op_text(struct sink *out, const struct phase_result *phase);
void by_op_markdown(struct sink *out, const struct phase_result *phase);
void by_op_html(struct sink *out, const struct phase_result *phase);

#endif
