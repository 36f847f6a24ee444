#include "common/base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *text;
	size_t len; /* of the buffer */
	const char *wanted;
} escape_cases[] = {
	{ "plain text, 100%", 64, "plain text, 100%" },
	{ NULL, 64, "-" },
	{ "", 64, "" },
	{ "a\nb\rc\td", 64, "a\\x0ab\\x0dc\\x09d" },
	{ "say \"hi\" \\ there", 64, "say \\x22hi\\x22 \\x5c there" },
	{ "\x1b[31mred\x7f", 64, "\\x1b[31mred\\x7f" },
	{ "n\xc3\xa4\xff", 64, "n\\xc3\\xa4\\xff" },
	{ "0123456789", 10, "01234" },
	{ "\n\n\n", 10, "\\x0a\\x0a" },
	{ "abc", 1, "" },
};

static void
test_what_peers_say_is_escaped(void **state)
{
	char buf[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(escape_cases); i++)
		assert_string_equal(
		    ls_log_escape(escape_cases[i].text, buf, escape_cases[i].len), escape_cases[i].wanted);
}

static void
test_a_cut_escape_stays_whole(void **state)
{
	char buf[64];

	(void)state;
	for (size_t len = 1; len < sizeof(buf); len++) {
		memset(buf, '#', sizeof(buf));
		ls_log_escape("\n\n\n\n\n\n\n\n", buf, len);
		assert_int_equal(strlen(buf) % 4, 0);
		assert_true(strlen(buf) < len);
	}
}

/* What ls_log wrote to standard error, which is a pipe for that time. */
struct capture {
	int pipe[2], saved;
	char text[4096];
};

static void
capture_begin(struct capture *c)
{
	assert_int_equal(pipe(c->pipe), 0);
	c->saved = dup(STDERR_FILENO);
	dup2(c->pipe[1], STDERR_FILENO);
}

static const char *
capture_end(struct capture *c)
{
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	close(c->pipe[1]);
	ssize_t n = read(c->pipe[0], c->text, sizeof(c->text) - 1);
	c->text[n > 0 ? n : 0] = '\0';
	close(c->pipe[0]);
	return c->text;
}

static void
test_a_line_has_time_program_level_and_fields(void **state)
{
	struct capture c;

	(void)state;
	unsetenv("JOURNAL_STREAM");
	ls_log_init("tester", LS_LOG_INFO);
	capture_begin(&c);
	errno = ENOSPC;
	ls_log(LS_LOG_WARN, "disk full", "node=%s n=%d", "a", 3);
	assert_int_equal(errno, ENOSPC);
	ls_log(LS_LOG_DEBUG, "not shown", NULL);
	ls_log(LS_LOG_ERROR, "alone", NULL);
	const char *text = capture_end(&c);
	assert_non_null(strstr(text, "Z tester["));
	assert_non_null(strstr(text, "] warning: disk full node=a n=3\n"));
	assert_non_null(strstr(text, "] error: alone\n"));
	assert_null(strstr(text, "not shown"));
}

static void
test_the_journal_gets_priorities(void **state)
{
	struct capture c;

	(void)state;
	setenv("JOURNAL_STREAM", "1:2", 1);
	ls_log_init("tester", LS_LOG_DEBUG);
	capture_begin(&c);
	ls_log(LS_LOG_DEBUG, "detail", "x=%d", 1);
	assert_string_equal(capture_end(&c), "<7>detail x=1\n");
	unsetenv("JOURNAL_STREAM");
}

static void
test_a_long_line_is_cut_and_still_ends(void **state)
{
	char *wide = calloc(1, 3001);
	struct capture c;

	(void)state;
	memset(wide, 'w', 3000);
	ls_log_init("tester", LS_LOG_INFO);
	capture_begin(&c);
	ls_log(LS_LOG_INFO, "long", "v=%s", wide);
	const char *text = capture_end(&c);
	assert_true(strlen(text) < 2100);
	assert_int_equal(text[strlen(text) - 1], '\n');
	capture_begin(&c);
	ls_log(LS_LOG_INFO, wide, "v=%d", 1);
	text = capture_end(&c);
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(wide);
}

static void
test_peers_cannot_fill_the_log(void **state)
{
	struct log_budget b = { 0 };
	struct ls_mono now = { 1000 * NS_PER_S };
	unsigned written = 0;

	(void)state;
	ls_log_init("test", LS_LOG_ERROR); /* the line about those left out is a warning */
	for (unsigned i = 0; i < 2000; i++)
		written += log_budget_take(&b, now);
	assert_int_equal(written, LOG_BUDGET_LINES);
	assert_int_equal(b.left_out, 1500);
	now.ns += NS_PER_S;
	for (unsigned i = 0; i < 100; i++)
		written += log_budget_take(&b, now);
	assert_int_equal(written, LOG_BUDGET_LINES + 10);
	now.ns += 3600 * NS_PER_S;
	assert_true(log_budget_take(&b, now));
	assert_int_equal(b.left_out, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_peers_say_is_escaped),
		cmocka_unit_test(test_a_cut_escape_stays_whole),
		cmocka_unit_test(test_peers_cannot_fill_the_log),
		cmocka_unit_test(test_a_line_has_time_program_level_and_fields),
		cmocka_unit_test(test_the_journal_gets_priorities),
		cmocka_unit_test(test_a_long_line_is_cut_and_still_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
