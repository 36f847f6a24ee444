#include "common/base/journal.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/defs.h"

static const struct {
	const char *name, *line, *fields; /* what follows MESSAGE */
} entry_cases[] = {
	{ "no fields", "connection opened", "" },
	{ "a run", "run starts run=01k7 phases=3", "RUN=01k7\n" },
	{ "all three", "x run=01k7 node=alpha phase=2", "RUN=01k7\nNODE=alpha\nPHASE=2\n" },
	{ "quotes go", "x node=\"a b\" error=\"run=9 away\"", "NODE=a b\n" },
	{ "an open quote ends with the line", "x node=\"a b", "NODE=a b\n" },
	{ "other keys that end alike", "x rerun=1 nodes=3 phases=4", "" },
	{ "nothing after the sign", "x run=", "RUN=\n" },
	{ "words with signs and quotes", "a = b \"run=1\" == run=2", "RUN=2\n" },
};

static void
test_an_entry_has_fields(void **state)
{
	char buf[512], wanted[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(entry_cases); i++) {
		size_t n = journal_entry(buf, sizeof(buf), 6, "tester", entry_cases[i].line);

		(void)snprintf(wanted, sizeof(wanted), "PRIORITY=6\nSYSLOG_IDENTIFIER=tester\nMESSAGE=%s\n%s",
		    entry_cases[i].line, entry_cases[i].fields);
		if (n != strlen(wanted) || memcmp(buf, wanted, n) != 0)
			fail_msg("%s: got %.*s, wanted %s", entry_cases[i].name, (int)n, buf, wanted);
	}
}

static void
test_a_newline_smuggles_no_field_in(void **state)
{
	char buf[256];
	size_t n = journal_entry(buf, sizeof(buf), 3, "tester", "x run=1\nCODE=2");

	(void)state;
	buf[n] = '\0';
	assert_non_null(strstr(buf, "MESSAGE=x run=1 CODE=2\n"));
	assert_non_null(strstr(buf, "RUN=1 CODE=2\n"));
	assert_null(strstr(buf, "\nCODE"));
}

static void
test_a_small_buffer_holds_whole_fields(void **state)
{
	char buf[128];

	(void)state;
	for (size_t len = 0; len < sizeof(buf); len++) {
		memset(buf, '#', sizeof(buf));
		size_t n = journal_entry(buf, len, 3, "tester", "x run=1 node=2");
		assert_true(n <= len);
		assert_true(n == 0 || buf[n - 1] == '\n');
		assert_true(buf[len] == '#');
	}
}

static void
test_the_stream_is_told_from_others(void **state)
{
	char is[64];
	struct stat st;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fstat(fds[1], &st), 0);
	(void)snprintf(is, sizeof(is), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	assert_true(journal_is_stream(fds[1], is));
	assert_false(journal_is_stream(fds[1], "1:2"));
	assert_false(journal_is_stream(fds[1], NULL));
	assert_false(journal_is_stream(-1, is));
	close(fds[0]);
	close(fds[1]);
}

static void
test_sending_does_not_wait(void **state)
{
	char entry[1024] = "MESSAGE=x\n";
	bool full = false;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
	assert_true(journal_send(fds[0], entry, sizeof(entry)));
	for (int i = 0; i < 100000 && !full; i++)
		full = !journal_send(fds[0], entry, sizeof(entry));
	assert_true(full);
	close(fds[1]);
	assert_false(journal_send(fds[0], entry, sizeof(entry)));
	close(fds[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_entry_has_fields),
		cmocka_unit_test(test_a_newline_smuggles_no_field_in),
		cmocka_unit_test(test_a_small_buffer_holds_whole_fields),
		cmocka_unit_test(test_the_stream_is_told_from_others),
		cmocka_unit_test(test_sending_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
