/*
 * Pictures of the page of a comparison. Not for others.
 */
#ifndef LS_COORDINATOR_REPORT_COMPARE_HTML_INT_H
#define LS_COORDINATOR_REPORT_COMPARE_HTML_INT_H

#include "coordinator/report/compare_int.h"

/* Ratios on a logarithmic axis around 100 %, with their intervals: a line for each row, or for each test when there are many. */
void compare_html_ratios(struct sink *out, const struct comparison *c);

/* Bars of all sides for each row that stands alone with its test, in one scale for each unit. */
void compare_html_bars(struct sink *out, const struct comparison *c);

/*
 * A test that was run at several file and record sizes: the surface of each side as a heat map, all in one scale, and the ratios beside
 * them. False: its sizes form no grid, nothing was written.
 */
bool compare_html_surfaces(struct sink *out, const struct comparison *c, const char *test);

/* The class of a ratio for colours: "good", "bad" or "". */
const char *compare_html_class(const struct comparison *c, const struct compare_ratio *ratio);

#endif
