#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/follow.h"

extern const struct cmd cmd_watch;

struct watch_options {
	bool no_tty;
};

static const struct option_row rows[] = {
	{ "no-tty", 0, OPTION_FLAG, offsetof(struct watch_options, no_tty), NULL, "plain lines even on a terminal", 0,
	    0 },
	{ 0 },
};

static enum cli_exit
conclude(const struct follow_result *result)
{
	if (result->detached)
		return CLI_OK;
	if (result->run[0] == '\0')
		return cli_fail(CLI_FAILED, "%s", result->text[0] != '\0' ? result->text : "there is no such run");
	printf("run %s %s\n", result->run, field_enum_name(run_state_names, (int)result->state));
	if (result->state == RUN_FINISHED)
		return CLI_OK;
	return cli_fail(result->state == RUN_REFUSED ? CLI_REFUSED : CLI_FAILED, "%s",
	    result->text[0] != '\0' ? result->text : "no reason given");
}

static enum cli_exit
run_watch(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct watch_options *options = opaque;
	struct follow_options follow = {
		.style = options->no_tty ? LIVE_LINES : live_style_here(),
		.interrupt = FOLLOW_DETACHES,
	};
	struct follow_result result = { 0 };
	struct client *client;
	struct msg_watch ask;
	struct ls_err err;

	if (client_open(cli, NULL, &client, &err) != LS_OK)
		return cli_fail_err(&err);
	msg_body_init(MSG_WATCH, &ask);
	if (words->count > 0 && strcmp(words->items[0], "last") != 0)
		ask.run = ls_strdup(words->items[0]);
	enum ls_rc rc = client_send(client, MSG_WATCH, &ask, &err);
	msg_body_fini(MSG_WATCH, &ask);
	if (rc == LS_OK)
		rc = follow_run(client, &follow, &result, &err);
	client_close(client);
	return rc == LS_OK ? conclude(&result) : cli_fail(CLI_FAILED, "%s", err.text);
}

const struct cmd cmd_watch = {
	.name = "watch",
	.summary = "watch a run until it ends",
	.synopsis = "[RUN]",
	.help = "Shows what a run does, as \"lockstep run\" does, until it ends. RUN is a run's id or a unique "
		"beginning of it;\n"
		"without it the run that goes on now. Ctrl-C stops the watching, not the run.\n"
		"\n"
		"examples:\n"
		"  lockstep watch\n"
		"  lockstep watch 01k7 && lockstep report 01k7",
	.options = rows,
	.options_size = sizeof(struct watch_options),
	.max_words = 1,
	.run = run_watch,
};
