/*
 * A metric over the runs of a name: did it change, and when. Pure functions of results documents; no files, no clock, no locale.
 */
#ifndef LS_COORDINATOR_REPORT_TREND_H
#define LS_COORDINATOR_REPORT_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/sink.h"
#include "coordinator/report/compare.h"

#include "common/base/field_decl.h"
#include "coordinator/report/trend.def"
#include "common/base/field_undef.h"

/*
 * Adds a run; they come in the order of time. phases: only those whose name fits this shell pattern; NULL: all. A phase belongs to the
 * series of the same test, title and sizes; if a run has several such, to the first, the second and so on. trend was initialised
 * with field_struct_init(&trend_desc, trend) and is ended with field_struct_fini.
 */
void trend_add(struct trend *trend, const struct results *run, const struct compare_metric *metric, const char *phases);

/* All runs are there: names the metric and marks where the level changes (common/stat/change.h). */
void trend_end(struct trend *trend, const struct compare_metric *metric, const char *title);

/* For people: a line of bars and the numbers for each series. ascii: no other characters. */
void trend_text(const struct trend *trend, bool ascii, struct sink *out);

/* The page: a chart and the numbers for each series; needs nothing else, runs no script. */
void trend_html(const struct trend *trend, struct sink *out);

#endif
