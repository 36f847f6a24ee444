#include "common/conf/conf_args.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"

struct settings {
	uint64_t size;
	char *name;
};

static const struct field_desc settings_fields[] = {
	{ .name = "size",
	    .kind = FIELD_U64,
	    .offset = offsetof(struct settings, size),
	    .max = 100,
	    .dflt = 7,
	    .help = "a number" },
	{ .name = "name", .kind = FIELD_STR, .offset = offsetof(struct settings, name), .max = 20, .help = "a text" },
};

static const struct struct_desc settings_desc = {
	.name = "settings",
	.help = "for this test",
	.size = sizeof(struct settings),
	.fields = settings_fields,
	.field_count = ARRAY_LEN(settings_fields),
};

#define WORDS_MAX 6

/* argv of so many words behind the program's name. */
static enum ls_rc
parse(const char *const words[WORDS_MAX], const char *own_word, struct conf_args *out, struct ls_err *err)
{
	static char copies[WORDS_MAX + 1][64];
	char *argv[WORDS_MAX + 2] = { copies[0] };
	int argc = 1;

	for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++) {
		argv[argc] = copies[argc];
		snprintf(argv[argc], sizeof(copies[argc]), "%s", words[argc - 1]);
	}
	static const struct option_row own[] = CONF_OWN_OPTION("ready-fd", "N", "for this test");

	return conf_args_parse(argc, argv, own, own_word, out, err);
}

struct refused_case {
	const char *name, *words[WORDS_MAX], *own_word, *text;
};

static void
test_what_is_not_known_is_named(void **state)
{
	static const struct refused_case cases[] = {
		{ "option", { "--what" }, NULL, "--what" },
		{ "option that begins like one", { "--setting=a" }, NULL, "--setting=a" },
		{ "word", { "go" }, NULL, "go" },
		{ "another word than the own one", { "go" }, "stop", "go" },
		{ "the own word twice", { "stop", "stop" }, "stop", "stop" },
		{ "a word behind the own one", { "stop", "now" }, "stop", "now" },
		{ "no value at the end", { "--config", "f", "--set" }, NULL, "--set needs a value" },
		{ "no value for the own option", { "--ready-fd" }, NULL, "--ready-fd needs a value" },
		{ "flag with a value", { "--help=yes" }, NULL, "--help takes no value" },
		{ "as much as as little", { "-q", "--verbose" }, NULL, "exclude each other" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct conf_args args;
		struct ls_err err = { 0 };
		enum ls_rc rc = parse(cases[i].words, cases[i].own_word, &args, &err);

		if (rc != LS_E_INVALID || strstr(err.text, cases[i].text) == NULL)
			fail_msg("%s: got %s (%s)", cases[i].name, ls_rc_name(rc), err.text);
	}
}

static void
test_everything_is_taken_in_any_order(void **state)
{
	static const char *const words[WORDS_MAX] = { "--set=a=b", "stop", "--config", "f", "--ready-fd=3", "--set" };
	static const char *const flags[WORDS_MAX] = { "--check-config", "--print-config", "--version", "-h" };
	struct conf_args args;
	struct ls_err err;

	(void)state;
	assert_int_equal(parse(words, "stop", &args, &err), LS_E_INVALID); /* the last --set has no value */
	static const char *const whole[WORDS_MAX] = { "--set=a=b", "stop", "--config", "f", "--ready-fd=3",
		"--set=c=" };
	assert_int_equal(parse(whole, "stop", &args, &err), LS_OK);
	assert_int_equal(args.set.count, 2);
	assert_string_equal(args.set.items[0], "a=b");
	assert_string_equal(args.set.items[1], "c=");
	assert_string_equal(args.file, "f");
	assert_string_equal(args.own, "3");
	assert_string_equal(args.word, "stop");
	assert_false(args.check || args.print || args.version || args.help);
	conf_args_fini(&args);

	assert_int_equal(parse(flags, NULL, &args, &err), LS_OK);
	assert_true(args.check && args.print && args.version && args.help);
	assert_null(args.word);
	conf_args_fini(&args);
}

static void
test_settings_come_over_the_usual_file(void **state)
{
	static const char *const words[WORDS_MAX] = { "--set", "size=9" };
	static const char *const none[WORDS_MAX] = { NULL };
	char file[] = "/tmp/lockstep-args-XXXXXX";
	struct conf_args args;
	struct settings s;
	struct ls_err err = { 0 };
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(dprintf(fd, "[x]\nsize = 8\nname = from the file\n"), 34);
	close(fd);
	assert_int_equal(parse(words, NULL, &args, &err), LS_OK);
	if (conf_args_load(&args, file, "x", &settings_desc, &s, &err) != LS_OK)
		fail_msg("%s", err.text);
	assert_int_equal(s.size, 9);
	assert_string_equal(s.name, "from the file");
	field_struct_fini(&settings_desc, &s);
	conf_args_fini(&args);
	unlink(file);

	/* the usual file need not be there */
	assert_int_equal(parse(none, NULL, &args, &err), LS_OK);
	assert_int_equal(conf_args_load(&args, file, "x", &settings_desc, &s, &err), LS_OK);
	assert_int_equal(s.size, 7);
	field_struct_fini(&settings_desc, &s);
	conf_args_fini(&args);
}

static void
test_bad_settings_are_named(void **state)
{
	static const struct {
		const char *words[WORDS_MAX], *text;
		enum ls_rc rc;
	} cases[] = {
		{ { "--set", "size" }, "--set size: expected KEY=VALUE", LS_E_INVALID },
		{ { "--set", "=3" }, "--set =3: expected KEY=VALUE", LS_E_INVALID },
		{ { "--set", "sice=3" }, "size", LS_E_INVALID },
		{ { "--set", "size=300" }, "size", LS_E_RANGE },
		{ { "--config", "/nonexistent/x.conf" }, "/nonexistent/x.conf", LS_E_SYS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct conf_args args;
		struct settings s;
		struct ls_err err = { 0 };

		assert_int_equal(parse(cases[i].words, NULL, &args, &err), LS_OK);
		enum ls_rc rc = conf_args_load(&args, "/nonexistent/usual.conf", "x", &settings_desc, &s, &err);
		if (rc != cases[i].rc || strstr(err.text, cases[i].text) == NULL)
			fail_msg("%s: got %s (%s)", cases[i].text, ls_rc_name(rc), err.text);
		conf_args_fini(&args);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_known_is_named),
		cmocka_unit_test(test_everything_is_taken_in_any_order),
		cmocka_unit_test(test_settings_come_over_the_usual_file),
		cmocka_unit_test(test_bad_settings_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
