/* Versions out of what programs print, and asking real processes for them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/daemon/tools.h"
#include "common/base/mem.h"

static void
test_versions_are_found(void **state)
{
	static const struct {
		const char *tool, *text, *version;
	} cases[] = {
		{ "fio", "fio-3.33\n", "3.33" },
		{ "fio", "fio-3.36-12-gabcd\n", "3.36-12-gabcd" },
		{ "fio", "fio-dirty\n", NULL },
		{ "fio", "3.33\n", NULL },
		{ "bonnie++", "usage: ...\n\nVersion: 2.00a\n", "2.00a" },
		{ "bonnie++", "Version: 1.03e\nVersion: 9\n", "1.03e" },
		{ "iozone", "\n        Version $Revision: 3.471 $\n", "3.471" },
		{ "iozone", "Version: 3.471\n", NULL },
		{ "iozone", "", NULL },
		{ "dd", "dd 9.1\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *version = tools_version_of(cases[i].tool, cases[i].text);

		if (cases[i].version == NULL)
			assert_null(version);
		else
			assert_string_equal(version, cases[i].version);
		free(version);
	}
}

static void
test_a_version_that_does_not_end_is_cut(void **state)
{
	char text[300] = "fio-3";

	(void)state;
	memset(text + 5, '1', sizeof(text) - 6);
	char *version = tools_version_of("fio", text);
	assert_int_equal(strlen(version), 32);
	free(version);
}

/* A program that plays lockstep-runner --probe PROGRAM OPTION. */
struct asked {
	char dir[64];
	char runner[96], fio[96], bonnie[96];
	struct agent_config config;
	struct node_facts facts;
};

static void
write_script(char *path, size_t len, const char *dir, const char *name, const char *text)
{
	snprintf(path, len, "%s/%s", dir, name);

	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fprintf(f, "#!/bin/sh\n%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

static void
ask(struct asked *a, const char *fio, const char *bonnie)
{
	static char none[] = "";

	snprintf(a->dir, sizeof(a->dir), "/tmp/lockstep-test-tools-XXXXXX");
	assert_non_null(mkdtemp(a->dir));
	write_script(
	    a->runner, sizeof(a->runner), a->dir, "runner", "[ \"$1\" = --probe ] || exit 9; shift; exec \"$@\"");
	write_script(a->fio, sizeof(a->fio), a->dir, "fio", fio);
	if (bonnie != NULL)
		write_script(a->bonnie, sizeof(a->bonnie), a->dir, "bonnie", bonnie);
	else
		snprintf(a->bonnie, sizeof(a->bonnie), "%s/nothing", a->dir);
	a->config = (struct agent_config){ .runner = a->runner, .fio = a->fio, .bonnie = a->bonnie, .iozone = none };
	field_struct_init(&node_facts_desc, &a->facts);
	tools_probe(&a->config, &a->facts);
	assert_int_equal(a->facts.tools_count, 2); /* iozone is not named */
	assert_string_equal(a->facts.tools[0].name, "fio");
	assert_string_equal(a->facts.tools[1].name, "bonnie++");
	assert_string_equal(a->facts.tools[1].path, a->bonnie);
}

static void
forget(struct asked *a)
{
	unlink(a->runner);
	unlink(a->fio);
	unlink(a->bonnie);
	rmdir(a->dir);
	field_struct_fini(&node_facts_desc, &a->facts);
}

static void
test_programs_are_asked_with_the_option_of_their_own(void **state)
{
	struct asked a = { 0 };

	(void)state;
	ask(&a, "[ \"$1\" = --version ] && echo fio-3.33", "[ \"$1\" = '-?' ] && echo 'Version: 1.03e' >&2; exit 1");
	assert_string_equal(a.facts.tools[0].version, "3.33");
	assert_null(a.facts.tools[0].problem);
	assert_string_equal(a.facts.tools[1].version, "1.03e");
	assert_null(a.facts.tools[1].problem);
	/* again: the earlier answers are replaced */
	tools_probe(&a.config, &a.facts);
	assert_int_equal(a.facts.tools_count, 2);
	forget(&a);
}

static void
test_what_cannot_be_used_has_a_problem(void **state)
{
	struct asked a = { 0 };

	(void)state;
	ask(&a, "echo fio-2.1.3", NULL);
	assert_non_null(strstr(a.facts.tools[0].problem, "version 2.1.3 is too old"));
	assert_non_null(strstr(a.facts.tools[0].problem, "3.0 or newer"));
	assert_null(a.facts.tools[1].version);
	assert_non_null(a.facts.tools[1].problem);
	forget(&a);
}

static void
test_what_hangs_or_talks_without_end_does_not_hold_up(void **state)
{
	struct asked a = { 0 };

	(void)state;
	ask(&a, "sleep 600", "while :; do echo no version here; done");
	assert_non_null(strstr(a.facts.tools[0].problem, "within 3 s"));
	assert_non_null(strstr(a.facts.tools[1].problem, "within 3 s"));
	forget(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_are_found),
		cmocka_unit_test(test_a_version_that_does_not_end_is_cut),
		cmocka_unit_test(test_programs_are_asked_with_the_option_of_their_own),
		cmocka_unit_test(test_what_cannot_be_used_has_a_problem),
		cmocka_unit_test(test_what_hangs_or_talks_without_end_does_not_hold_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
