/*
 * The frame around all commands: global options, help, the search for the command.
 */
#include "coordinator/cli/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/field.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/base/version.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "proto/codec/json.h"

#define G(member) offsetof(struct cli, member)

const struct option_row cli_options[] = {
	{ "server", 0, OPTION_TEXT, G(server), "ADDRESS",
	    "lockstepd: unix:/path, or HOST:PORT over TLS; default $LOCKSTEP_SERVER, else "
	    "unix:/run/lockstep/lockstepd.sock",
	    0, 0 },
	{ "ca", 0, OPTION_TEXT, G(ca), "FILE", "for TLS: trusted roots (PEM); default $LOCKSTEP_CA", 0, 0 },
	{ "cert", 0, OPTION_TEXT, G(cert), "FILE", "for TLS: an operator's certificate (PEM); default $LOCKSTEP_CERT",
	    0, 0 },
	{ "key", 0, OPTION_TEXT, G(key), "FILE", "for TLS: its private key (PEM); default $LOCKSTEP_KEY", 0, 0 },
	{ "units", 0, OPTION_TEXT, G(units), "binary|si",
	    "sizes and rates for people in powers of 1024 (KiB, MiB; the default) or of 1000 (kB, MB); forms for "
	    "programs "
	    "never change",
	    0, 0 },
	{ "quiet", 'q', OPTION_FLAG, G(quiet), NULL, "no progress and no remarks: only what was asked for, and errors",
	    0, 0 },
	{ "verbose", 'v', OPTION_FLAG, G(verbose), NULL,
	    "tell on standard error what is done: connection, messages, time taken", 0, 0 },
	{ "help", 'h', OPTION_FLAG, G(help), NULL, "explain and exit", 0, 0 },
	{ "version", 0, OPTION_FLAG, G(version), NULL, "print version, build and libraries and exit", 0, 0 },
	{ 0 },
};

/* Texts of peers and file names must not control the terminal. */
static void
mask_controls(char *text)
{
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
}

void
cli_say(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

void
cli_trace(const struct cli *cli, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (!cli->verbose)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mask_controls(text);
	fprintf(stderr, "lockstep: %s\n", text);
}

enum cli_exit
cli_fail(enum cli_exit status, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mask_controls(text);
	fprintf(stderr, "lockstep: %s\n", text);
	return status;
}

enum cli_exit
cli_fail_err(const struct ls_err *err)
{
	enum cli_exit status = CLI_FAILED;

	if (err->rc == LS_E_INVALID || err->rc == LS_E_RANGE)
		status = CLI_USAGE;
	if (err->rc == LS_E_REFUSED)
		status = CLI_REFUSED;
	return cli_fail(status, "%s", err->text);
}

static void
print_top_help(void)
{
	struct sink out = { 0 };

	sink_printf(&out,
	    "lockstep measures a shared volume from several machines at the same time.\n\n"
	    "usage: lockstep COMMAND [options]\n\ncommands:\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		sink_printf(&out, "  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	sink_printf(&out, "\noptions of all commands:\n");
	options_help(cli_options, &out);
	sink_printf(&out,
	    "\nexamples:\n"
	    "  lockstep run --local 3 --path /mnt/vol quick     try it on this machine alone, nothing to set up\n"
	    "  lockstep check --path /mnt/vol                   are all nodes fit for a run?\n"
	    "  lockstep run --path /mnt/vol bonnie              run a preset on all connected nodes\n"
	    "  lockstep report last --format csv                the newest run as a table\n"
	    "  lockstep run --help                              what a command does, with examples\n"
	    "\nexit status: 0 finished, 1 failed or aborted, 2 usage, 3 refused before the start,\n"
	    "4 compare: slower than allowed, 5 run: verification found blocks that are not what was written, or "
	    "coherence a violation\n");
	fputs(out.text, stdout);
	sink_free(&out);
}

static void
print_help(const struct cmd *cmd)
{
	struct sink out = { 0 };

	sink_printf(&out, "usage: lockstep %s%s%s\n\n%s\n", cmd->name, cmd->synopsis[0] != '\0' ? " " : "",
	    cmd->synopsis, cmd->help);
	if (cmd->more_help != NULL)
		cmd->more_help(&out);
	if (cmd->options[0].name != NULL) {
		sink_printf(&out, "\noptions:\n");
		options_help(cmd->options, &out);
	}
	sink_printf(&out, "\noptions of all commands:\n");
	options_help(cli_options, &out);
	sink_printf(&out,
	    "\nexit status: 0 finished, 1 failed or aborted, 2 usage, 3 refused before the start,\n"
	    "4 compare: slower than allowed, 5 run: verification found blocks that are not what was written, or "
	    "coherence a violation\n");
	fputs(out.text, stdout);
	sink_free(&out);
}

static const struct cmd *
find_cmd(const char *name)
{
	for (size_t i = 0; cmds[i] != NULL; i++)
		if (strcmp(cmds[i]->name, name) == 0)
			return cmds[i];
	return NULL;
}

static enum cli_exit
unknown_cmd(const char *name)
{
	const struct cmd *nearest = NULL;
	unsigned best = 4;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		unsigned distance = field_distance(name, cmds[i]->name);

		if (distance < best) {
			best = distance;
			nearest = cmds[i];
		}
	}
	if (nearest == NULL)
		return cli_fail(CLI_USAGE, "unknown command \"%s\"; lockstep --help lists them", name);
	return cli_fail(CLI_USAGE, "unknown command \"%s\", did you mean \"%s\"?", name, nearest->name);
}

static enum cli_exit
check_words(const struct cmd *cmd, const struct option_texts *words)
{
	if (words->count < cmd->min_words)
		return cli_fail(
		    CLI_USAGE, "%s: something is missing; usage: lockstep %s %s", cmd->name, cmd->name, cmd->synopsis);
	if (words->count > cmd->max_words)
		return cli_fail(CLI_USAGE, "%s: \"%s\" is one word too many; usage: lockstep %s %s", cmd->name,
		    words->items[cmd->max_words], cmd->name, cmd->synopsis);
	return CLI_OK;
}

/* Before anything is printed: --units. */
static enum cli_exit
choose_units(const struct cli *cli)
{
	static const char *const names[] = { [UNITS_BINARY] = "binary", [UNITS_SI] = "si", NULL };
	int style = cli->units != NULL ? field_enum_value(names, cli->units) : UNITS_BINARY;

	if (style < 0)
		return cli_fail(CLI_USAGE, "--units: \"%s\" is not known; there are binary and si", cli->units);
	units_use((enum units_style)style);
	return CLI_OK;
}

static enum cli_exit
do_cmd(struct cli *cli, const struct cmd *cmd, const void *options, const struct option_texts *words)
{
	struct ls_mono began = ls_mono_now();
	char took[32];

	if (cli->quiet && cli->verbose)
		return cli_fail(CLI_USAGE, "--quiet and --verbose exclude each other");
	enum cli_exit status = choose_units(cli);
	if (status == CLI_OK)
		status = check_words(cmd, words);
	if (status != CLI_OK)
		return status;
	cli_trace(cli, "%s of lockstep %s (%s)", cmd->name, lockstep_version, lockstep_build);
	status = cmd->run(cli, options, words);
	cli_trace(cli, "%s took %s, exit status %d", cmd->name,
	    units_format_duration(ls_mono_now().ns - began.ns, took, sizeof(took)), (int)status);
	return status;
}

static enum cli_exit
run_cmd(struct cli *cli, const struct cmd *cmd, int argc, char *const *argv)
{
	void *options = ls_calloc(1, cmd->options_size + 1);
	struct option_set sets[] = { { cmd->options, options }, { cli_options, cli } };
	struct option_texts words = { 0 };
	struct ls_err err;
	enum cli_exit status = CLI_OK;

	if (options_parse(argc, argv, sets, ARRAY_LEN(sets), false, &words, NULL, &err) != LS_OK)
		status = cli_fail(CLI_USAGE, "%s: %s (lockstep %s --help explains)", cmd->name, err.text, cmd->name);
	else if (cli->help)
		print_help(cmd);
	else
		status = do_cmd(cli, cmd, options, &words);
	options_release(cmd->options, options);
	option_texts_free(&words);
	free(options);
	return status;
}

enum cli_exit
cli_main(int argc, char *const *argv)
{
	struct cli cli = { 0 };
	struct option_set sets[] = { { cli_options, &cli } };
	struct ls_err err;
	int used = 0;

	if (argc < 2) {
		print_top_help();
		return CLI_USAGE;
	}
	if (options_parse(argc - 1, argv + 1, sets, 1, true, NULL, &used, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "%s (lockstep --help explains)", err.text);
	if (cli.version) {
		printf("lockstep %s (%s), protocol lockstep/1\n%s, %s, jansson %s\n", lockstep_version, lockstep_build,
		    loop_library(), tls_library(), json_library());
		return CLI_OK;
	}
	const char *name = used + 1 < argc ? argv[used + 1] : NULL;
	if (name != NULL && strcmp(name, "help") == 0) {
		name = used + 2 < argc ? argv[used + 2] : NULL;
		cli.help = true;
		used++;
	}
	if (name == NULL) {
		if (!cli.help)
			return cli_fail(CLI_USAGE, "no command given; lockstep --help lists them");
		print_top_help();
		return CLI_OK;
	}
	const struct cmd *cmd = find_cmd(name);
	if (cmd == NULL)
		return unknown_cmd(name);
	return run_cmd(&cli, cmd, argc - used - 2, argv + used + 2);
}
