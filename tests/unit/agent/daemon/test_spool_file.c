#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/daemon/spool_file.h"
#include "common/base/mem.h"

struct seen {
	char text[256]; /* records, each followed by '|' */
};

static void
note(const char *text, size_t len, void *arg)
{
	struct seen *seen = arg;

	assert_int_equal(strlen(text), len);
	strcat(seen->text, text);
	strcat(seen->text, "|");
}

static char *
new_path(void)
{
	char path[] = "/tmp/lockstep-spool-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	return ls_strdup(path);
}

static void
open_and_replay(const char *path, struct spool_file *file, const char *wanted, bool torn)
{
	struct seen seen = { "" };
	struct ls_err err;
	uint64_t bytes;

	assert_int_equal(spool_file_open(path, file, &err), LS_OK);
	assert_int_equal(spool_file_replay(file, note, &seen, &bytes, &err), LS_OK);
	assert_string_equal(seen.text, wanted);
	assert_int_equal(bytes > 0, torn);
}

static void
append(struct spool_file *file, const char *text)
{
	struct ls_err err;
	assert_int_equal(spool_file_append(file, text, strlen(text), &err), LS_OK);
}

static void
test_records_come_back_in_order(void **state)
{
	char *path = new_path();
	struct spool_file file;
	struct ls_err err;

	(void)state;
	open_and_replay(path, &file, "", false);
	append(&file, "one");
	append(&file, "two");
	spool_file_close(&file);
	open_and_replay(path, &file, "one|two|", false);
	append(&file, "three");
	spool_file_close(&file);
	open_and_replay(path, &file, "one|two|three|", false);
	assert_int_equal(spool_file_empty(&file, &err), LS_OK);
	append(&file, "four");
	spool_file_close(&file);
	open_and_replay(path, &file, "four|", false);
	spool_file_close(&file);
	unlink(path);
	free(path);
}

/* Whatever length the file was cut to: whole records, and a place to go on. */
static void
test_torn_tail_is_left_out_at_every_length(void **state)
{
	(void)state;
	for (off_t cut = 0; cut < 2 * (12 + 3); cut++) {
		char *path = new_path();
		struct spool_file file;

		open_and_replay(path, &file, "", false);
		append(&file, "one");
		append(&file, "two");
		spool_file_close(&file);
		assert_int_equal(truncate(path, cut), 0);
		open_and_replay(path, &file, cut < 15 ? "" : "one|", cut != 0 && cut != 15);
		append(&file, "new");
		spool_file_close(&file);
		open_and_replay(path, &file, cut < 15 ? "new|" : "one|new|", false);
		spool_file_close(&file);
		unlink(path);
		free(path);
	}
}

static void
test_every_flipped_byte_is_found(void **state)
{
	(void)state;
	for (off_t at = 0; at < 15; at++) {
		char *path = new_path(), byte;
		struct spool_file file;

		open_and_replay(path, &file, "", false);
		append(&file, "one");
		assert_int_equal(pread(file.fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(file.fd, &byte, 1, at), 1);
		spool_file_close(&file);
		open_and_replay(path, &file, "", true);
		spool_file_close(&file);
		unlink(path);
		free(path);
	}
}

/* The disk takes n bytes and no more, n = 0, 1, ... until the append passes; then the file is whole, before and after. */
static void
test_full_disk_leaves_the_records_before(void **state)
{
	struct rlimit before, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	bool passed = false;
	for (rlim_t extra = 0; !passed; extra++) {
		char *path = new_path();
		struct spool_file file;
		struct ls_err err;

		open_and_replay(path, &file, "", false);
		append(&file, "one");
		limit = before;
		limit.rlim_cur = 15 + extra;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		passed = spool_file_append(&file, "two", 3, &err) == LS_OK;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		if (!passed)
			append(&file, "again");
		spool_file_close(&file);
		open_and_replay(path, &file, passed ? "one|two|" : "one|again|", false);
		spool_file_close(&file);
		unlink(path);
		free(path);
		assert_true(extra <= 15);
	}
}

static void
test_faults_are_told(void **state)
{
	struct spool_file file;
	struct ls_err err;

	(void)state;
	assert_int_equal(spool_file_open("/nonexistent/spool", &file, &err), LS_E_SYS);
	assert_non_null(strstr(err.text, "/nonexistent/spool"));
	file = (struct spool_file){ .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	assert_int_equal(spool_file_append(&file, "x", 1, &err), LS_E_SYS);
	assert_int_equal(file.end, 0);
	assert_int_equal(spool_file_append(&file, "x", (size_t)SPOOL_RECORD_MAX + 1, &err), LS_E_LIMIT);
	spool_file_close(&file);
	spool_file_close(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_come_back_in_order),
		cmocka_unit_test(test_torn_tail_is_left_out_at_every_length),
		cmocka_unit_test(test_every_flipped_byte_is_found),
		cmocka_unit_test(test_full_disk_leaves_the_records_before),
		cmocka_unit_test(test_faults_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
