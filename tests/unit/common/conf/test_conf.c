#include "common/conf/conf.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const sample_level_names[] = { "error", "info", "debug", NULL };

#include "common/base/field_decl.h"
#include "tests/unit/common/conf/sample.def"
#include "common/base/field_undef.h"

#include "common/base/field_table.h"
#include "tests/unit/common/conf/sample.def"
#include "common/base/field_undef.h"

static enum ls_rc
read_text(const char *text, size_t len, struct sample *out, struct ls_err *err)
{
	static char empty[] = "\n";
	char *copy = len > 0 ? malloc(len) : empty;

	memcpy(copy, len > 0 ? text : "\n", len > 0 ? len : 1);
	FILE *in = fmemopen(copy, len > 0 ? len : 1, "r");
	assert_non_null(in);
	field_struct_init(&sample_desc, out);
	enum ls_rc rc = conf_read(in, "f.conf", "sample", &sample_desc, out, NULL, err);
	fclose(in);
	if (len > 0)
		free(copy);
	return rc;
}

static void
expect(enum ls_rc wanted, enum ls_rc got, const struct ls_err *err)
{
	if (got != wanted)
		fail_msg("wanted %s, got %s: %s", ls_rc_name(wanted), ls_rc_name(got), err->text);
}

static void
test_defaults_stand_without_a_file(void **state)
{
	struct sample s;
	struct ls_err err = { 0 };

	(void)state;
	expect(LS_OK, conf_load(NULL, "sample", &sample_desc, &s, &err), &err);
	assert_false(s.verbose);
	assert_int_equal(s.backlog, 128);
	assert_int_equal(s.buffer_size, 65536);
	assert_true(s.cap == LS_UNKNOWN_U64);
	assert_int_equal(s.heartbeat, NS_PER_S);
	assert_true(s.pause == LS_UNKNOWN_I64);
	assert_true(isnan(s.weight));
	assert_int_equal(s.level, 1);
	assert_string_equal(s.listen, "0.0.0.0:1");
	assert_null(s.motto);
	assert_int_equal(s.allow_count, 0);
	field_struct_fini(&sample_desc, &s);
}

static void
test_every_kind_is_read(void **state)
{
	static const char text[] =
	    "\xef\xbb\xbf# comment\n[sample]\nverbose = yes\nniceness=-5\nbacklog: 7\n"
	    "seed = 18446744073709551614\nbuffer_size = 64KiB ; inline\ncap = 1.5GiB\nheartbeat = 250ms\n"
	    "pause=2m\nweight = 2.5e-1\nlevel = debug\nlisten = [::1]:7\n  \nmotto = a b = c\n"
	    "allow = /a\nallow = /b\ncpus = 1\ncpus = -3";
	struct sample s;
	struct ls_err err = { 0 };

	(void)state;
	expect(LS_OK, read_text(text, sizeof(text) - 1, &s, &err), &err);
	assert_true(s.verbose);
	assert_int_equal(s.niceness, -5);
	assert_int_equal(s.backlog, 7);
	assert_true(s.seed == UINT64_MAX - 1);
	assert_int_equal(s.buffer_size, 65536);
	assert_int_equal(s.cap, 3LL << 29);
	assert_int_equal(s.heartbeat, 250 * NS_PER_MS);
	assert_int_equal(s.pause, 120 * NS_PER_S);
	assert_true(s.weight > 0.2499 && s.weight < 0.2501);
	assert_int_equal(s.level, 2);
	assert_string_equal(s.listen, "[::1]:7");
	assert_string_equal(s.motto, "a b = c");
	assert_int_equal(s.allow_count, 2);
	assert_string_equal(s.allow[1], "/b");
	assert_int_equal(s.cpus_count, 2);
	assert_int_equal(s.cpus[1], -3);
	field_struct_fini(&sample_desc, &s);
}

static const struct {
	const char *name, *text;
	enum ls_rc rc;
	const char *said; /* in the error's sentence */
} error_cases[] = {
	{ "unknown key with a neighbour", "[sample]\nverbose = yes\nheartbeet = 1s\n", LS_E_INVALID,
	    "f.conf:3: unknown key 'heartbeet'; did you mean 'heartbeat'?" },
	{ "unknown key without one", "[sample]\nxyzzyxyzzy = 1\n", LS_E_INVALID, "f.conf:2: unknown key 'xyzzyxyzzy'" },
	{ "unknown section", "[sample]\n[simple]\nverbose = yes\n", LS_E_INVALID,
	    "f.conf:2: unknown section [simple]; only [sample] is known" },
	{ "unknown section without keys", "[other]\n", LS_E_INVALID, "f.conf:1: unknown section [other]" },
	{ "key before the section", "verbose = yes\n[sample]\n", LS_E_INVALID, "f.conf:1: 'verbose' stands outside" },
	{ "no equals sign", "[sample]\n\nverbose\n", LS_E_INVALID, "f.conf:3: neither" },
	{ "unclosed section", "[sample\n", LS_E_INVALID, "f.conf:1: neither" },
	{ "the first error is told: syntax", "[sample]\nx\nniceness = a\n", LS_E_INVALID, "f.conf:2: neither" },
	{ "the first error is told: value", "[sample]\nniceness = a\nx\n", LS_E_INVALID, "f.conf:2: niceness = a" },
	{ "scalar given twice", "[sample]\nverbose = yes\nverbose = no\n", LS_E_INVALID,
	    "f.conf:3: 'verbose' is given" },
	{ "continued value", "[sample]\nmotto = a\n  b\n", LS_E_INVALID, "f.conf:3: neither" },
	{ "indented key", "[sample]\nmotto = a\n  backlog = x\n", LS_E_INVALID, "f.conf:3: backlog = x" },
	{ "comment without a blank", "[sample]\nmotto =;a\n", LS_E_INVALID, "f.conf:2: value of 'motto' begins" },
	{ "text after the section", "[sample] motto = a\n", LS_E_INVALID, "f.conf:1: text after" },
	{ "bool", "[sample]\nverbose = maybe\n", LS_E_INVALID, "yes or no" },
	{ "integer with a tail", "[sample]\nbacklog = 7x\n", LS_E_INVALID, "an integer" },
	{ "integer, empty", "[sample]\nbacklog =\n", LS_E_INVALID, "an integer" },
	{ "integer, only a sign", "[sample]\nniceness = -\n", LS_E_INVALID, "an integer" },
	{ "unsigned, negative", "[sample]\nbacklog = -1\n", LS_E_INVALID, "an integer" },
	{ "below the limit", "[sample]\nniceness = -21\n", LS_E_RANGE, "must be from -20 to 19" },
	{ "above the limit", "[sample]\nbacklog = 4097\n", LS_E_RANGE, "must be from 1 to 4096" },
	{ "beyond 64 bits", "[sample]\nseed = 18446744073709551616\n", LS_E_RANGE, "too large" },
	{ "beyond 63 bits", "[sample]\nniceness = 9223372036854775808\n", LS_E_RANGE, "too large" },
	{ "size, ambiguous", "[sample]\nbuffer_size = 64KB\n", LS_E_INVALID, "f.conf:2: buffer_size: '64KB'" },
	{ "size, too small", "[sample]\nbuffer_size = 1k\n", LS_E_RANGE, "bytes" },
	{ "duration without a unit", "[sample]\nheartbeat = 5\n", LS_E_INVALID, "needs a unit" },
	{ "duration, too long", "[sample]\nheartbeat = 2h\n", LS_E_RANGE, "must be from" },
	{ "number, hexadecimal", "[sample]\nweight = 0x10\n", LS_E_INVALID, "a number" },
	{ "number, nan", "[sample]\nweight = nan\n", LS_E_INVALID, "a number" },
	{ "number, infinite", "[sample]\nweight = 1e999\n", LS_E_RANGE, "too large" },
	{ "number, decimal comma", "[sample]\nweight = 0,5\n", LS_E_INVALID, "a number" },
	{ "enum", "[sample]\nlevel = all\n", LS_E_INVALID, "known are error, info, debug" },
	{ "text too long", "[sample]\nlisten = 123456789012345678901\n", LS_E_RANGE, "longer than 20 bytes" },
	{ "list too long", "[sample]\nallow=a\nallow=b\nallow=c\nallow=d\n", LS_E_LIMIT,
	    "f.conf:5: allow: more than 3" },
	{ "no text form", "[sample]\npairs = 1\n", LS_E_INVALID, "no text form" },
};

static void
test_errors_name_file_line_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(error_cases); i++) {
		struct sample s;
		struct ls_err err = { 0 };
		enum ls_rc rc = read_text(error_cases[i].text, strlen(error_cases[i].text), &s, &err);

		if (rc != error_cases[i].rc || strstr(err.text, error_cases[i].said) == NULL)
			fail_msg("%s: %s: %s", error_cases[i].name, ls_rc_name(rc), err.text);
		field_struct_fini(&sample_desc, &s);
	}
}

static void
test_a_nul_byte_and_a_long_line_are_errors(void **state)
{
	static const char nul[] = "[sample]\nmotto = a\0b\n";
	char line[400] = "[sample]\nmotto = ";
	struct sample s;
	struct ls_err err = { 0 };

	(void)state;
	expect(LS_E_INVALID, read_text(nul, sizeof(nul) - 1, &s, &err), &err);
	assert_non_null(strstr(err.text, "f.conf:2: has a NUL"));
	field_struct_fini(&sample_desc, &s);

	memset(line + strlen(line), 'x', 300);
	expect(LS_E_INVALID, read_text(line, strlen(line), &s, &err), &err);
	assert_non_null(strstr(err.text, "f.conf:2: line is longer"));
	field_struct_fini(&sample_desc, &s);

	expect(LS_OK, read_text("", 0, &s, &err), &err);
	field_struct_fini(&sample_desc, &s);
}

static void
test_an_empty_value_makes_unknown_or_empties(void **state)
{
	static const char text[] = "[sample]\nallow = /a\nallow =\nallow = /b\nmotto =\ncap =\npause =\nweight =\n";
	struct sample s;
	struct ls_err err = { 0 };

	(void)state;
	field_struct_init(&sample_desc, &s);
	s.cap = 7;
	s.pause = 8;
	s.weight = 1;
	FILE *in = fmemopen((void *)(uintptr_t)text, sizeof(text) - 1, "r");
	expect(LS_OK, conf_read(in, "f.conf", "sample", &sample_desc, &s, NULL, &err), &err);
	fclose(in);
	assert_int_equal(s.allow_count, 1);
	assert_string_equal(s.allow[0], "/b");
	assert_null(s.motto);
	assert_true(s.cap == LS_UNKNOWN_U64);
	assert_true(s.pause == LS_UNKNOWN_I64);
	assert_true(isnan(s.weight));
	field_struct_fini(&sample_desc, &s);
}

static void
test_a_refused_value_changes_nothing(void **state)
{
	struct sample s;

	(void)state;
	field_struct_init(&sample_desc, &s);
	assert_int_equal(conf_set(&sample_desc, &s, "backlog", "0", "--set", NULL), LS_E_RANGE);
	assert_int_equal(conf_set(&sample_desc, &s, "listen", "123456789012345678901", "--set", NULL), LS_E_RANGE);
	assert_int_equal(conf_set(&sample_desc, &s, "level", "all", "--set", NULL), LS_E_INVALID);
	assert_int_equal(s.backlog, 128);
	assert_string_equal(s.listen, "0.0.0.0:1");
	assert_int_equal(s.level, 1);
	field_struct_fini(&sample_desc, &s);
}

/* --- files ----------------------------------------------------------------------------------------------------------- */

struct fixture {
	char dir[32];
	char path[64];
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/ls-conf-XXXXXX");
	*state = f;
	if (mkdtemp(f->dir) == NULL)
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/s.conf", f->dir);
	return 0;
}

static int
teardown(void **state)
{
	static const char *const files[] = { "s.conf.d/10-a.conf", "s.conf.d/20-b.conf", "s.conf.d/x.txt",
		"s.conf.d/.h.conf", "s.conf" };
	struct fixture *f = *state;
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->dir, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/s.conf.d", f->dir);
	rmdir(path);
	int rc = rmdir(f->dir);
	free(f);
	return rc;
}

static void
put_file(const struct fixture *f, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void
make_drop_in_folder(const struct fixture *f)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/s.conf.d", f->dir);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void
test_drop_ins_follow_by_name(void **state)
{
	const struct fixture *f = *state;
	struct sample s;
	struct ls_err err = { 0 };

	make_drop_in_folder(f);
	put_file(f, "s.conf", "[sample]\nbacklog = 1\nallow = /a\nlisten = main\n");
	put_file(f, "s.conf.d/20-b.conf", "[sample]\nbacklog = 3\n");
	put_file(f, "s.conf.d/10-a.conf", "[sample]\nbacklog = 2\nallow = /b\nseed = 9\n");
	put_file(f, "s.conf.d/x.txt", "nonsense");
	put_file(f, "s.conf.d/.h.conf", "nonsense");
	expect(LS_OK, conf_load(f->path, "sample", &sample_desc, &s, &err), &err);
	assert_int_equal(s.backlog, 3);
	assert_int_equal(s.seed, 9);
	assert_int_equal(s.allow_count, 2);
	field_struct_fini(&sample_desc, &s);
}

static void
test_an_error_in_a_drop_in_names_it(void **state)
{
	const struct fixture *f = *state;
	struct sample s;
	struct ls_err err = { 0 };

	make_drop_in_folder(f);
	put_file(f, "s.conf", "[sample]\nmotto = to be freed\nlisten = x\n");
	put_file(f, "s.conf.d/10-a.conf", "[sample]\nbacklog = no\n");
	expect(LS_E_INVALID, conf_load(f->path, "sample", &sample_desc, &s, &err), &err);
	assert_non_null(strstr(err.text, "s.conf.d/10-a.conf:2: backlog"));
}

static void
test_a_missing_file_or_key_is_an_error(void **state)
{
	const struct fixture *f = *state;
	struct sample s;
	struct ls_err err = { 0 };

	expect(LS_E_SYS, conf_load(f->path, "sample", &sample_desc, &s, &err), &err);
	assert_non_null(strstr(err.text, "s.conf"));
	put_file(f, "s.conf", "[sample]\nverbose = yes\n");
	expect(LS_E_INVALID, conf_load(f->path, "sample", &sample_desc, &s, &err), &err);
	assert_non_null(strstr(err.text, "'listen' is missing"));
	expect(LS_E_SYS, conf_load(f->dir, "sample", &sample_desc, &s, &err), &err);
}

static void
check_round_trip(const struct fixture *f, const struct sample *s, bool with_help)
{
	char *first = NULL, *second = NULL;
	size_t first_len, second_len;
	struct sample again;
	struct ls_err err = { 0 };
	FILE *out = open_memstream(&first, &first_len);

	conf_print("sample", &sample_desc, s, with_help, out);
	fclose(out);
	put_file(f, "s.conf", first);
	expect(LS_OK, conf_load(f->path, "sample", &sample_desc, &again, &err), &err);
	out = open_memstream(&second, &second_len);
	conf_print("sample", &sample_desc, &again, with_help, out);
	fclose(out);
	assert_string_equal(first, second);
	field_struct_fini(&sample_desc, &again);
	free(first);
	free(second);
}

static void
test_what_is_printed_is_read_back(void **state)
{
	static const char text[] =
	    "[sample]\nverbose = on\nniceness = -1\nbacklog = 9\nseed = 18446744073709551615\n"
	    "buffer_size = 12345\ncap = 3MiB\nheartbeat = 1500us\npause = 1d\nweight = 0.1\nlevel = error\n"
	    "listen = l\nmotto = m\nallow = /x\nallow = /y\ncpus = 3\n";
	struct sample s;
	struct ls_err err = { 0 };

	field_struct_init(&sample_desc, &s);
	check_round_trip(*state, &s, false);
	check_round_trip(*state, &s, true);
	field_struct_fini(&sample_desc, &s);

	expect(LS_OK, read_text(text, sizeof(text) - 1, &s, &err), &err);
	check_round_trip(*state, &s, false);
	check_round_trip(*state, &s, true);
	free(s.listen);
	s.listen = calloc(1, 1);
	check_round_trip(*state, &s, true);
	field_struct_fini(&sample_desc, &s);
}

static void
test_help_stands_above_each_key(void **state)
{
	char *text = NULL;
	size_t len;
	struct sample s;

	(void)state;
	field_struct_init(&sample_desc, &s);
	FILE *out = open_memstream(&text, &len);
	conf_print("sample", &sample_desc, &s, true, out);
	fclose(out);
	assert_non_null(strstr(text,
	    "# waiting connections\n# (integer; default 128; from 1 to 4096; a change needs a restart)\n"
	    "backlog = 128\n"));
	assert_non_null(strstr(text, "# (duration such as 100ms; default 1s; from 1ms to 1h)\nheartbeat = 1s\n"));
	assert_non_null(strstr(text, "# (one of error info debug; default info)\nlevel = info\n"));
	assert_non_null(strstr(text, "# directories\n# (text, may be repeated)\n# allow =\n"));
	assert_null(strstr(text, "pairs"));
	field_struct_fini(&sample_desc, &s);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_stand_without_a_file),
		cmocka_unit_test(test_every_kind_is_read),
		cmocka_unit_test(test_errors_name_file_line_and_reason),
		cmocka_unit_test(test_a_nul_byte_and_a_long_line_are_errors),
		cmocka_unit_test(test_an_empty_value_makes_unknown_or_empties),
		cmocka_unit_test(test_a_refused_value_changes_nothing),
		cmocka_unit_test_setup_teardown(test_drop_ins_follow_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_error_in_a_drop_in_names_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_missing_file_or_key_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_printed_is_read_back, setup, teardown),
		cmocka_unit_test(test_help_stands_above_each_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
