#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/env.h"
#include "common/base/journal.h"

/* Set once by main before any thread exists, read-only afterwards. */
static struct {
	const char *program;
	enum ls_log_level level;
	bool journal;   /* standard error leads there: priorities instead of times */
	int journal_fd; /* its own socket, for fields; -1: none */
} log_conf = { "lockstep", LS_LOG_INFO, false, -1 };

const char *const ls_log_level_names[LS_LOG_LEVEL_COUNT + 1] = { "error", "warning", "info", "debug" };
static const int level_priorities[LS_LOG_LEVEL_COUNT] = { 3, 4, 6, 7 }; /* syslog(3) */

void
ls_log_init(const char *program, enum ls_log_level level)
{
	log_conf.program = program;
	log_conf.level = level;
	log_conf.journal = ls_env("JOURNAL_STREAM") != NULL;
	if (log_conf.journal_fd < 0 && journal_is_stream(STDERR_FILENO, ls_env("JOURNAL_STREAM")))
		log_conf.journal_fd = journal_open();
}

const char *
ls_log_escape(const char *text, char *buf, size_t len)
{
	size_t n = 0;

	if (text == NULL)
		text = "-";
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0' && n + 5 < len; p++) {
		if (*p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
			buf[n++] = (char)*p;
		else
			n += (size_t)snprintf(buf + n, len - n, "\\x%02x", *p);
	}
	if (len > 0)
		buf[n] = '\0';
	return buf;
}

/* The line with its prefix <N>, as an entry with fields; false: it has to go to standard error. */
static bool
to_journal(enum ls_log_level level, const char *line)
{
	char entry[3072];

	if (log_conf.journal_fd < 0)
		return false;
	return journal_send(log_conf.journal_fd, entry,
	    journal_entry(entry, sizeof(entry), level_priorities[level], log_conf.program, line + strlen("<N>")));
}

void
ls_log(enum ls_log_level level, const char *message, const char *fields, ...)
{
	char line[2048];
	char stamp[40];
	size_t n;
	int saved = errno;

	if (level > log_conf.level)
		return;
	if (log_conf.journal)
		n = (size_t)snprintf(line, sizeof(line), "<%d>%s", level_priorities[level], message);
	else
		n = (size_t)snprintf(line, sizeof(line), "%s %s[%d] %s: %s",
		    ls_wall_format(ls_wall_now(), stamp, sizeof(stamp)), log_conf.program, (int)getpid(),
		    ls_log_level_names[level], message);
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	if (fields != NULL && n + 2 < sizeof(line)) {
		va_list ap;

		line[n++] = ' ';
		va_start(ap, fields);
		int m = vsnprintf(line + n, sizeof(line) - 1 - n, fields, ap);
		va_end(ap);
		if (m > 0)
			n = LS_MIN(n + (size_t)m, sizeof(line) - 2);
	}
	line[n] = '\0';
	if (to_journal(level, line)) {
		errno = saved;
		return;
	}
	line[n++] = '\n';

	/* One write a line, so that lines of several processes do not mix; a broken log is not worth failing for. */
	ssize_t rc = write(STDERR_FILENO, line, n);
	(void)rc;
	errno = saved;
}

bool
log_budget_take(struct log_budget *b, struct ls_mono now)
{
	b->used_ns = LS_MAX(b->used_ns - (now.ns - b->at.ns), 0);
	b->at = now;
	if (b->used_ns + LOG_BUDGET_LINE_NS > LOG_BUDGET_LINES * LOG_BUDGET_LINE_NS) {
		b->left_out++;
		return false;
	}
	b->used_ns += LOG_BUDGET_LINE_NS;
	if (b->left_out > 0)
		ls_log(
		    LS_LOG_WARN, "lines about refused peers left out", "count=%llu", (unsigned long long)b->left_out);
	b->left_out = 0;
	return true;
}
