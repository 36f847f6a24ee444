/*
 * Log lines of the daemons, to standard error: "<level> message key=value ...". A fixed message, then fields; what came
 * from a peer is escaped. Libraries log at debug level at most; who owns the session, run or process logs, once.
 * Keeps errno. Any thread.
 */
#ifndef LS_COMMON_BASE_LOG_H
#define LS_COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/defs.h"

enum ls_log_level { LS_LOG_ERROR = 0, LS_LOG_WARN, LS_LOG_INFO, LS_LOG_DEBUG, LS_LOG_LEVEL_COUNT };

extern const char *const ls_log_level_names[LS_LOG_LEVEL_COUNT + 1]; /* by level, NULL at the end */

/*
 * Sets up the log of this process: program name (borrowed for good) and the most verbose level that is written. Under
 * systemd (JOURNAL_STREAM set) lines carry the <N> priority prefix instead of a time; where standard error is the journal, they
 * go there with fields of their own (RUN, NODE, PHASE).
 */
void ls_log_init(const char *program, enum ls_log_level level);

/*
 * Writes one line. fields is a printf format of " key=value" text without a leading blank, or NULL. Strings from peers
 * go through ls_log_escape first.
 */
void ls_log(enum ls_log_level level, const char *message, const char *fields, ...) LS_PRINTF(3, 4);

/*
 * text with control characters, quotes, backslashes and bytes beyond ASCII as \xNN, cut to fit buf between two characters;
 * returns buf. NULL gives "-".
 */
const char *ls_log_escape(const char *text, char *buf, size_t len);

/*
 * What peers can cause must not fill the disk: 500 lines at once, then 10 a second. take: may this line be written? The first that
 * may after others were left out tells how many. Zeroed to begin with.
 */
struct log_budget {
	struct ls_mono at; /* last look; 0: never */
	int64_t used_ns;   /* of LOG_BUDGET_LINES * LOG_BUDGET_LINE_NS */
	uint64_t left_out;
};
#define LOG_BUDGET_LINES   500
#define LOG_BUDGET_LINE_NS (100 * NS_PER_MS)
bool log_budget_take(struct log_budget *b, struct ls_mono now);

#endif
