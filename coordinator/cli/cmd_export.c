#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "coordinator/cli/client.h"
#include "coordinator/cli/files.h"

extern const struct cmd cmd_export;

struct export_options {
	const char *output;
};

static const struct option_row rows[] = {
	{ "output", 'o', OPTION_TEXT, offsetof(struct export_options, output), "FILE",
	    "write there; default, or \"-\": standard output", 0, 0 },
	{ 0 },
};

static enum ls_rc
fetch(const struct cli *cli, const char *run, char **text, size_t *len, struct ls_err *err)
{
	struct client *client;
	enum ls_rc rc = client_open(cli, NULL, &client, err);

	if (rc != LS_OK)
		return rc;
	rc = client_export(client, run, CLIENT_WHOLE, text, len, err);
	client_close(client);
	return rc;
}

static enum cli_exit
run_export(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct export_options *options = opaque;
	const char *file = options->output != NULL ? options->output : "-";
	struct ls_err err;
	char *text;
	size_t len;

	if (file_check_writable(file, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "export: %s", err.text);
	if (fetch(cli, words->items[0], &text, &len, &err) != LS_OK)
		return cli_fail(CLI_FAILED, "%s", err.text);
	enum ls_rc rc = file_write(file, text, len, &err);
	free(text);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}

const struct cmd cmd_export = {
	.name = "export",
	.summary = "write a whole run into a file, for another lockstepd or an archive",
	.synopsis = "RUN [--output FILE]",
	.help =
	    "Writes all that lockstepd keeps of a run, with tags and note, as one results document (schema "
	    "lockstep-results/1).\n"
	    "\"lockstep import FILE\" takes it in again, here or elsewhere, under the same id; report and compare read "
	    "the file\n"
	    "itself. RUN is a run's id, a unique beginning of it, or \"last\".\n"
	    "\n"
	    "examples:\n"
	    "  lockstep export last -o run.json\n"
	    "  lockstep export 20261130-1502 | xz > run.json.xz",
	.options = rows,
	.options_size = sizeof(struct export_options),
	.min_words = 1,
	.max_words = 1,
	.run = run_export,
};
