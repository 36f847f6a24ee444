/*
 * Report formats: pure functions from the results model to text. No clock, no file, no database, no locale. A format is one
 * file (report_<name>.c) and a row in formats.c.
 */
#ifndef LS_COORDINATOR_REPORT_FORMAT_H
#define LS_COORDINATOR_REPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/sink.h"
#include "proto/model/results.h"

struct report_format {
	const char *name;
	const char *extension; /* without the dot */
	const char *help;
	bool is_binary;  /* nothing for a terminal */
	bool for_people; /* sizes and rates in the units that are asked for; else always the same */
	bool whole;      /* wants all that external programs have printed, not only its end */
	enum ls_rc (*render)(const struct results *results, struct sink *out, struct ls_err *err);
};

/* All formats, NULL-terminated. Static. */
extern const struct report_format *const report_formats[];

/* What pages are made with: the style of reports, and dygraphs ("" where it was not there at build time). Static. */
const char *report_page_css(void);
const char *report_dygraphs(void);

/* By name; NULL if there is none. */
const struct report_format *report_format_find(const char *name);

#endif
