#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "agent/daemon/config.h"
#include "agent/daemon/options.h"
#include "common/base/log.h"

static void
test_settings_come_over_the_file(void **state)
{
	const char *const settings[] = { "coordinator=bench0:7437", "allow=/mnt/a", "allow=/mnt/b", "log_level=debug",
		"prepare_timeout=2s", "spool=relative/spool" };
	struct agent_config config;
	struct ls_err err;

	(void)state;
	if (agent_config_load("/dev/null", settings, ARRAY_LEN(settings), &config, &err))
		fail_msg("%s", err.text);
	assert_string_equal(config.coordinator, "bench0:7437");
	assert_int_equal(config.allow_count, 2);
	assert_string_equal(config.allow[1], "/mnt/b");
	assert_int_equal(config.log_level, LS_LOG_DEBUG);
	assert_int_equal(config.prepare_timeout, 2 * NS_PER_S);
	assert_int_equal(config.spool[0], '/');
	assert_non_null(strstr(config.spool, "relative/spool"));
	assert_int_equal(config.runner[0], '/');
	assert_int_equal(agent_config_check(&config, &err), LS_OK);
	agent_config_fini(&config);
}

struct bad_case {
	const char *setting, *word;
};

static void
test_bad_settings_are_named(void **state)
{
	static const struct bad_case cases[] = {
		{ "colour=red", "colour" },
		{ "nothing", "nothing" },
		{ "prepare_timeout=never", "prepare_timeout" },
		{ "log_level=loud", "log_level" },
		{ "alow=/mnt", "allow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct agent_config config;
		struct ls_err err;
		if (!agent_config_load("/dev/null", &cases[i].setting, 1, &config, &err))
			fail_msg("%s: taken", cases[i].setting);
		if (!strstr(err.text, cases[i].word))
			fail_msg("%s: %s", cases[i].setting, err.text);
	}
}

static void
test_check_names_the_key(void **state)
{
	static const struct bad_case cases[] = {
		{ "allow=/mnt", "coordinator" },
		{ "coordinator=unix:/run/x", "coordinator" },
		{ "coordinator=host:notaport", "coordinator" },
		{ "allow=mnt", "allow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *settings[] = { "coordinator=a:1", cases[i].setting };
		struct agent_config config;
		struct ls_err err = { 0 };
		assert_int_equal(agent_config_load(
				     "/dev/null", i == 0 ? &cases[i].setting : settings, i == 0 ? 1 : 2, &config, &err),
		    LS_OK);
		if (!agent_config_check(&config, &err) || !strstr(err.text, cases[i].word))
			fail_msg("%s: %s", cases[i].setting, err.text);
		agent_config_fini(&config);
	}
}

static void
test_every_key_has_help(void **state)
{
	(void)state;
	for (size_t i = 0; i < agent_config_desc.field_count; i++)
		assert_true(strlen(agent_config_desc.fields[i].help) > 10);
}

struct words_case {
	const char *name;
	const char *words[6];
	enum ls_rc rc;
	enum options_command command;
};

static void
test_command_line(void **state)
{
	static const struct words_case cases[] = {
		{ "nothing", { NULL }, LS_OK, OPTIONS_RUN },
		{ "stop", { "stop", NULL }, LS_OK, OPTIONS_STOP },
		{ "options and stop", { "--config", "f", "stop", NULL }, LS_OK, OPTIONS_STOP },
		{ "stop and options", { "stop", "--set", "a=b", NULL }, LS_OK, OPTIONS_STOP },
		{ "check", { "--check-config", NULL }, LS_OK, OPTIONS_CHECK_CONFIG },
		{ "print", { "--print-config", NULL }, LS_OK, OPTIONS_PRINT_CONFIG },
		{ "version", { "--version", NULL }, LS_OK, OPTIONS_VERSION },
		{ "help", { "-h", NULL }, LS_OK, OPTIONS_HELP },
		{ "unknown", { "--what", NULL }, LS_E_INVALID, OPTIONS_RUN },
		{ "no argument", { "--set", NULL }, LS_E_INVALID, OPTIONS_RUN },
		{ "unknown word", { "go", NULL }, LS_E_INVALID, OPTIONS_RUN },
		{ "two words", { "stop", "now", NULL }, LS_E_INVALID, OPTIONS_RUN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char copies[7][32];
		char *argv[8] = { NULL };
		struct options options;
		struct ls_err err = { 0 };
		int argc = 1;

		strcpy(copies[0], "lockstep-agent");
		argv[0] = copies[0];
		for (; cases[i].words[argc - 1]; argc++)
			argv[argc] = strcpy(copies[argc], cases[i].words[argc - 1]);
		enum ls_rc rc = options_parse(argc, argv, &options, &err);
		if (rc != cases[i].rc || (!rc && options.command != cases[i].command))
			fail_msg("%s: got %s (%s)", cases[i].name, ls_rc_name(rc), err.text);
		if (!rc)
			options_fini(&options);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_come_over_the_file),
		cmocka_unit_test(test_bad_settings_are_named),
		cmocka_unit_test(test_check_names_the_key),
		cmocka_unit_test(test_every_key_has_help),
		cmocka_unit_test(test_command_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
