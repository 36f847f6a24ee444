/*
 * Between the files of the trend. Not for others.
 */
#ifndef LS_COORDINATOR_REPORT_TREND_INT_H
#define LS_COORDINATOR_REPORT_TREND_INT_H

#include "coordinator/report/trend.h"

struct trend_span {
	double least, most, first, last; /* of the values that are known; NAN when none is */
	size_t known;
};

struct trend_span trend_span_of(const struct trend_series *series);

/* Better, worse or neither, by the direction of the metric: "better", "worse". */
const char *trend_direction(const struct trend *trend, const struct trend_point *changed);

/* "+12.3 %" of a change. buf: 32 bytes. */
const char *trend_percent(const struct trend_point *changed, char *buf, size_t len);

/* What was looked at: a sentence. */
void trend_about(const struct trend *trend, struct sink *out);

/* The run of a point; NULL if it is not there. */
const struct trend_run *trend_run_of(const struct trend *trend, const struct trend_point *point);

#endif
