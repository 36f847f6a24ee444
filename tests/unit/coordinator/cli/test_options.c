#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/cli/cmd.h"
#include "common/conf/options.h"

struct values {
	bool flag;
	const char *text;
	struct option_texts texts;
	uint64_t count;
	int64_t duration;
};

static const struct option_row rows[] = {
	{ "flag", 'f', OPTION_FLAG, offsetof(struct values, flag), NULL, "a flag", 0, 0 },
	{ "text", 't', OPTION_TEXT, offsetof(struct values, text), "TEXT", "a text", 0, 0 },
	{ "set", 's', OPTION_TEXTS, offsetof(struct values, texts), "K=V", "some texts", 0, 0 },
	{ "count", 'n', OPTION_COUNT, offsetof(struct values, count), "N", "a number", 1, 64 },
	{ "wait", 0, OPTION_DURATION, offsetof(struct values, duration), "TIME", "a time", 0, 0 },
	{ 0 },
};

#define MAX_ARGS 8

struct good_case {
	const char *name;
	const char *args[MAX_ARGS];
	struct values want;
	const char *want_text; /* all repeated texts and all words, each followed by a semicolon */
};

static const struct good_case good[] = {
	{ "nothing", { NULL }, { 0 }, "" },
	{ "words around options", { "a", "--flag", "b" }, { .flag = true }, "a;b;" },
	{ "value after =", { "--text=x=y" }, { .text = "x=y" }, "" },
	{ "value as next argument", { "--text", "--flag" }, { .text = "--flag" }, "" },
	{ "empty value", { "--text=" }, { .text = "" }, "" },
	{ "short forms", { "-f", "-t", "x", "-n7" }, { .flag = true, .text = "x", .count = 7 }, "" },
	{ "repeated", { "-s", "a=1", "--set", "b=2", "w" }, { 0 }, "a=1;b=2;w;" },
	{ "end of options", { "--", "--flag", "-x" }, { 0 }, "--flag;-x;" },
	{ "a dash is a word", { "-" }, { 0 }, "-;" },
	{ "a duration", { "--wait", "2m" }, { .duration = 120 * NS_PER_S }, "" },
	{ "limits", { "-n", "64" }, { .count = 64 }, "" },
};

static int
count_args(const char *const *args)
{
	int n = 0;

	while (n < MAX_ARGS && args[n] != NULL)
		n++;
	return n;
}

static enum ls_rc
parse(const char *const *args, struct values *values, struct option_texts *words, struct ls_err *err)
{
	const struct option_set sets[] = { { rows, values } };
	char *argv[MAX_ARGS];
	int argc = count_args(args);

	for (int i = 0; i < argc; i++)
		memcpy(&argv[i], &args[i], sizeof(argv[i])); /* argv is not const, though nobody writes to it */
	return options_parse(argc, argv, sets, 1, false, words, NULL, err);
}

static void
check_good(const struct good_case *c)
{
	struct values got = { 0 };
	struct option_texts words = { 0 };
	struct sink text = { 0 };
	struct ls_err err;

	sink_add(&text, "", 0);
	if (parse(c->args, &got, &words, &err) != LS_OK)
		fail_msg("%s: %s", c->name, err.text);
	for (size_t i = 0; i < got.texts.count; i++)
		sink_printf(&text, "%s;", got.texts.items[i]);
	for (size_t i = 0; i < words.count; i++)
		sink_printf(&text, "%s;", words.items[i]);
	if (got.flag != c->want.flag || got.count != c->want.count || got.duration != c->want.duration)
		fail_msg("%s: flag %d count %llu duration %lld", c->name, got.flag, (unsigned long long)got.count,
		    (long long)got.duration);
	if ((got.text == NULL) != (c->want.text == NULL) || (got.text != NULL && strcmp(got.text, c->want.text) != 0))
		fail_msg("%s: text %s", c->name, got.text);
	if (strcmp(text.text, c->want_text) != 0)
		fail_msg("%s: texts and words %s", c->name, text.text);
	options_release(rows, &got);
	option_texts_free(&words);
	sink_free(&text);
}

static void
test_options_and_words_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		check_good(&good[i]);
}

static const struct {
	const char *name;
	const char *args[MAX_ARGS];
	enum ls_rc rc;
	const char *text;
} bad[] = {
	{ "unknown, near", { "--txt", "x" }, LS_E_INVALID, "did you mean --text?" },
	{ "unknown, far", { "--something-else" }, LS_E_INVALID, "unknown option --something-else" },
	{ "unknown letter", { "-x" }, LS_E_INVALID, "-x" },
	{ "no value", { "--text" }, LS_E_INVALID, "--text needs a value (TEXT)" },
	{ "value for a flag", { "--flag=1" }, LS_E_INVALID, "--flag takes no value" },
	{ "not a number", { "--count", "many" }, LS_E_INVALID, "\"many\" is not a whole number" },
	{ "negative", { "--count=-1" }, LS_E_INVALID, "not a whole number" },
	{ "number with rest", { "--count", "3x" }, LS_E_INVALID, "not a whole number" },
	{ "too large", { "--count", "65" }, LS_E_RANGE, "within 1 and 64" },
	{ "too small", { "--count", "0" }, LS_E_RANGE, "within 1 and 64" },
	{ "beyond 64 bits", { "--count", "99999999999999999999" }, LS_E_RANGE, "within 1 and 64" },
	{ "no unit", { "--wait", "10x" }, LS_E_INVALID, "--wait" },
};

static void
test_mistakes_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct values got = { 0 };
		struct option_texts words = { 0 };
		struct ls_err err = { 0 };
		enum ls_rc rc = parse(bad[i].args, &got, &words, &err);

		if (rc != bad[i].rc || strstr(err.text, bad[i].text) == NULL)
			fail_msg("%s: %s: %s", bad[i].name, ls_rc_name(rc), err.text);
		options_release(rows, &got);
		option_texts_free(&words);
	}
}

static void
check_columns(const char *what, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		if (len > 120)
			fail_msg("%s: %zu columns: %.*s", what, len, (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void
test_every_command_explains_itself(void **state)
{
	(void)state;
	for (size_t i = 0; cmds[i] != NULL; i++) {
		const struct cmd *cmd = cmds[i];
		char example[64];
		struct sink help = { 0 };

		snprintf(example, sizeof(example), "lockstep %s", cmd->name);
		if (strstr(cmd->help, "examples:\n") == NULL || strstr(cmd->help, example) == NULL)
			fail_msg("%s: no example in its help", cmd->name);
		check_columns(cmd->name, cmd->help);
		sink_add(&help, "", 0);
		options_help(cmd->options, &help);
		check_columns(cmd->name, help.text);
		for (const struct option_row *row = cmd->options; row->name != NULL; row++)
			if (strstr(help.text, row->name) == NULL || row->help[0] == '\0')
				fail_msg("%s: --%s is not explained", cmd->name, row->name);
		sink_free(&help);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_and_words_are_told_apart),
		cmocka_unit_test(test_mistakes_are_named),
		cmocka_unit_test(test_every_command_explains_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
