/*
 * Pieces of the page. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_HTML_INT_H
#define LS_COORDINATOR_REPORT_HTML_INT_H

#include <stdbool.h>

#include "common/base/sink.h"
#include "proto/model/results.h"

/* Put in at build time (page/embed.sh); html_dygraph_js is "" where dygraphs was not there. */
extern const char html_page_css[];
extern const char html_page_js[];
extern const char html_dygraph_js[];

/* Text that others gave, as text: markup and control characters are harmless. NULL is "n/a". */
void html_text(struct sink *out, const char *text);

/* The same within a JSON string that stands in a script element, with its quotes. */
void html_json_text(struct sink *out, const char *text);

/* The beginning of a page up to its body. Its policy allows nothing but what stands in it. */
void html_page_head(struct sink *out, const char *title);

/* A number as in the other reports, "n/a" for NAN. */
void html_number(struct sink *out, double value);

/* A table cell with a number. */
void html_cell(struct sink *out, double value);

/* Is a phase told in bytes first? */
bool html_in_bytes(const struct phase_result *phase);

/* Its unit ("MiB/s", "op/s"), and a rate in it. */
const char *html_unit(const struct phase_result *phase);
double html_rate(const struct phase_result *phase, double bytes_per_s, double ops_per_s);

/* The name of a phase, with its repetition if there are several. */
void html_phase_name(struct sink *out, const struct results *results, const struct phase_result *phase);

/* The card of phase number p. */
void html_phase(struct sink *out, const struct results *results, size_t p);

/* Tests that were run at several sizes, as tables coloured by rate. cards: how many phases have a card to link to. */
void html_grids(struct sink *out, const struct results *results, size_t cards);

/* When each worker began: a picture, or nothing when it is not known. */
void html_skew(struct sink *out, const struct results *results, const struct phase_result *phase);

/* Are there numbers for that chart of a phase? */
bool html_has_time_chart(const struct phase_result *phase);
bool html_has_latency_chart(const struct phase_result *phase);

/* The JSON that page.js draws: an array with an object for each of the first count phases. */
void html_chart_data(struct sink *out, const struct results *results, size_t count);

#endif
