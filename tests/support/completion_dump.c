/*
 * Writes what completion in a shell must know to standard output: completion_dump bash|zsh. The Makefile puts it in place of
 * @TABLE@ in deploy/completion/. Read from the command's own tables, so that no command and no option is forgotten.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/defs.h"
#include "coordinator/cli/cmd.h"
#include "coordinator/report/compare.h"
#include "coordinator/report/format.h"
#include "proto/codec/jobfile.h"

/* One row of a table of options, for one command. */
typedef void (*row_fn)(const struct cmd *cmd, const struct option_row *row);

static void
each_row(const struct cmd *cmd, row_fn fn)
{
	const struct option_row *const tables[] = { cmd->options, cli_options };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct option_row *row = tables[i]; row != NULL && row->name != NULL; row++)
			fn(cmd, row);
}

/* Text within single quotes; the characters that zsh's _arguments takes for its own are escaped when zsh is set. */
static void
print_quoted(const char *text, bool zsh)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\'')
			fputs("'\\''", stdout);
		else if (zsh && strchr("[]\\", *p) != NULL)
			printf("\\%c", *p);
		else
			putchar(*p);
	}
}

static void
print_names(void)
{
	size_t count;
	const struct job_preset *presets = job_presets(&count);

	printf("_lockstep_formats='");
	for (size_t i = 0; report_formats[i] != NULL; i++)
		printf("%s%s", i > 0 ? " " : "", report_formats[i]->name);
	printf("'\n_lockstep_forms='");
	for (size_t i = 0; compare_formats[i].name != NULL; i++)
		printf("%s%s", i > 0 ? " " : "", compare_formats[i].name);
	printf("'\n_lockstep_presets='");
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i > 0 ? " " : "", presets[i].name);
	printf("'\n");
}

static void
bash_option(const struct cmd *cmd, const struct option_row *row)
{
	(void)cmd;
	printf(" --%s", row->name);
	if (row->letter != 0)
		printf(" -%c", row->letter);
}

static void
bash_value(const struct cmd *cmd, const struct option_row *row)
{
	if (row->value == NULL)
		return;
	printf("\t%s:--%s", cmd->name, row->name);
	if (row->letter != 0)
		printf(" | %s:-%c", cmd->name, row->letter);
	printf(") echo '%s' ;;\n", row->value);
}

static void
dump_bash(void)
{
	printf("_lockstep_commands='");
	for (size_t i = 0; cmds[i] != NULL; i++)
		printf("%s%s", i > 0 ? " " : "", cmds[i]->name);
	printf("'\n\n_lockstep_options()\n{\n\tcase $1 in\n");
	for (size_t i = 0; cmds[i] != NULL; i++) {
		printf("\t%s) echo '", cmds[i]->name);
		each_row(cmds[i], bash_option);
		printf("' ;;\n");
	}
	printf("\t*) echo '");
	each_row(&(const struct cmd){ .name = "" }, bash_option);
	printf("' ;;\n\tesac\n}\n\n_lockstep_value()\n{\n\tcase $1:$2 in\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		each_row(cmds[i], bash_value);
	printf("\tesac\n}\n");
}

static void
zsh_option(const struct cmd *cmd, const struct option_row *row)
{
	const char *many = row->kind == OPTION_TEXTS ? "*" : "";

	(void)cmd;
	if (row->letter != 0)
		printf("\t\t'%s'{-%c,--%s}'", *many != '\0' ? many : "", row->letter, row->name);
	else
		printf("\t\t'%s--%s", many, row->name);
	putchar('[');
	print_quoted(row->help, true);
	putchar(']');
	if (row->value != NULL)
		printf(":%s:_lockstep_value %s", row->value, row->value);
	printf("'\n");
}

static void
dump_zsh(void)
{
	printf("_lockstep_commands=(\n");
	for (size_t i = 0; cmds[i] != NULL; i++) {
		printf("\t'%s:", cmds[i]->name);
		print_quoted(cmds[i]->summary, false);
		printf("'\n");
	}
	printf(")\n\n_lockstep_options()\n{\n\tcase $1 in\n");
	for (size_t i = 0; cmds[i] != NULL; i++) {
		printf("\t%s) specs=(\n", cmds[i]->name);
		each_row(cmds[i], zsh_option);
		printf("\t\t) ;;\n");
	}
	printf("\t*) specs=(\n");
	each_row(&(const struct cmd){ .name = "" }, zsh_option);
	printf("\t\t) ;;\n\tesac\n}\n");
}

int
main(int argc, char **argv)
{
	const char *shell = argc == 2 ? argv[1] : "";

	if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0) {
		fprintf(stderr, "usage: completion_dump bash|zsh\n");
		return 2;
	}
	print_names();
	if (strcmp(shell, "bash") == 0)
		dump_bash();
	else
		dump_zsh();
	return 0;
}
