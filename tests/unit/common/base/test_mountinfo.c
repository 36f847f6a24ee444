#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mountinfo.h"

struct mount_case {
	const char *name, *text;
	int id;
	enum ls_rc rc;
	unsigned major, minor;
	const char *point, *options, *type, *source;
};

#define EXT4 "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"

static const struct mount_case cases[] = {
	{ "plain", EXT4, 27, LS_OK, 254, 0, "/", "rw,relatime,discard", "ext4", "/dev/vda" },
	{ "second line", EXT4 "30 27 0:42 /e /mnt rw master:1 shared:2 - nfs4 srv:/e rw,vers=4.2\n", 30, LS_OK, 0, 42,
	    "/mnt", "rw,vers=4.2", "nfs4", "srv:/e" },
	{ "no newline at the end", "5 1 8:1 / /a ro - xfs /dev/sda1 rw", 5, LS_OK, 8, 1, "/a", "ro,rw", "xfs",
	    "/dev/sda1" },
	{ "blanks and tabs escaped", "5 1 8:1 / /a\\040b\\011c\\134d rw - ocfs2 /dev/x\\040y rw\n", 5, LS_OK, 8, 1,
	    "/a b\tc\\d", "rw", "ocfs2", "/dev/x y" },
	{ "what only looks like an escape", "5 1 8:1 / /a\\04 rw - ext4 b\\999\\ rw\n", 5, LS_OK, 8, 1, "/a\\04", "rw",
	    "ext4", "b\\999\\" },
	{ "escaped NUL stays text", "5 1 8:1 / /a\\000b rw - ext4 x rw\n", 5, LS_OK, 8, 1, "/a\\000b", "rw", "ext4",
	    "x" },
	{ "empty source", "5 1 0:9 / /a rw - tmpfs  rw,size=1k\n", 5, LS_OK, 0, 9, "/a", "rw,size=1k", "tmpfs", "" },
	{ "no super block options", "5 1 0:9 / /a rw - tmpfs none\n", 5, LS_OK, 0, 9, "/a", "rw", "tmpfs", "none" },
	{ "unknown id", EXT4, 28, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "empty text", "", 1, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "only an id", "5", 5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "no separator", "5 1 8:1 / /a rw shared:1 ext4 x rw\n", 5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "nothing behind the separator", "5 1 8:1 / /a rw -\n", 5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "no source", "5 1 8:1 / /a rw - ext4\n", 5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "device without a colon", "5 1 81 / /a rw - ext4 x rw\n", 5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "device with letters", "5 1 8:x / /a rw - ext4 x rw\n", 5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "id too long for a number", "99999999999999999999 1 8:1 / /a rw - ext4 x rw\n", 5, LS_E_NOTFOUND, 0, 0, NULL,
	    NULL, NULL, NULL },
	{ "negative id", "-5 1 8:1 / /a rw - ext4 x rw\n", -5, LS_E_NOTFOUND, 0, 0, NULL, NULL, NULL, NULL },
	{ "broken lines before a good one", "\n\n5\n5 1\n \n" EXT4, 27, LS_OK, 254, 0, "/", "rw,relatime,discard",
	    "ext4", "/dev/vda" },
};

static void
check_text(const char *name, const char *what, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s is \"%s\", not \"%s\"", name, what, got, want);
}

static void
check_case(const struct mount_case *c)
{
	struct mount_entry e = { 0 };
	struct ls_err err;
	size_t len = strlen(c->text);
	char *exact = malloc(len + 1); /* a read behind the end is found by the sanitizer */

	memcpy(exact, c->text, len);
	char *text = realloc(exact, len > 0 ? len : 1);
	enum ls_rc rc = mountinfo_find(text, len, c->id, &e, &err);

	if (rc != c->rc)
		fail_msg("%s: rc %d, not %d", c->name, rc, c->rc);
	if (rc == LS_OK) {
		char *options = mountinfo_options(&e);

		if (e.major != c->major || e.minor != c->minor)
			fail_msg("%s: device %u:%u", c->name, e.major, e.minor);
		check_text(c->name, "mount point", e.mount_point, c->point);
		check_text(c->name, "options", options, c->options);
		check_text(c->name, "type", e.fs_type, c->type);
		check_text(c->name, "source", e.source, c->source);
		free(options);
	}
	mount_entry_fini(&e);
	free(text);
}

static void
test_the_mount_of_an_id_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_case(&cases[i]);
}

/* Each beginning of a good line: never read past it, never half an entry. */
static void
test_a_cut_line_gives_a_whole_entry_or_none(void **state)
{
	static const char line[] = "5 1 8:1 /r /a\\040b rw,noatime shared:1 - ext4 /dev/x rw,data=ordered";

	(void)state;
	for (size_t n = 0; n < strlen(line); n++) {
		struct mount_entry e = { 0 };
		char *text = malloc(n > 0 ? n : 1);

		memcpy(text, line, n);
		if (mountinfo_find(text, n, 5, &e, NULL) == LS_OK) {
			assert_non_null(e.source);
			assert_non_null(e.super_options);
			assert_string_equal(e.mount_point, "/a b");
		} else {
			assert_null(e.source);
		}
		mount_entry_fini(&e);
		free(text);
	}
}

static void
test_find_by_mount_point(void **state)
{
	static const char text[] = EXT4 "30 27 8:1 / /mnt rw shared:1 - ext4 /dev/a rw\n"
					"31 27 8:2 / /mnt/b\\040c rw master:3 - ocfs2 /dev/b rw\n"
					"32 30 8:3 / /mnt ro - xfs /dev/c rw\n";
	struct mount_entry entry = { 0 };

	(void)state;
	assert_int_equal(0, mountinfo_find_point(text, sizeof(text) - 1, "/mn", &entry));
	assert_int_equal(0, mountinfo_find_point(text, sizeof(text) - 1, "/mnt/", &entry));
	assert_null(entry.source);
	/* the last one covers the first */
	assert_int_equal(2, mountinfo_find_point(text, sizeof(text) - 1, "/mnt", &entry));
	assert_string_equal("/dev/c", entry.source);
	assert_false(entry.slave);
	mount_entry_fini(&entry);
	assert_int_equal(1, mountinfo_find_point(text, sizeof(text) - 1, "/mnt/b c", &entry));
	assert_string_equal("ocfs2", entry.fs_type);
	assert_true(entry.slave);
	mount_entry_fini(&entry);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_mount_of_an_id_is_found),
		cmocka_unit_test(test_a_cut_line_gives_a_whole_entry_or_none),
		cmocka_unit_test(test_find_by_mount_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
