#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/cli/client.h"

extern const struct cmd cmd_abort;

struct abort_options {
	const char *reason;
};

static const struct option_row rows[] = {
	{ "reason", 'r', OPTION_TEXT, offsetof(struct abort_options, reason), "TEXT", "why; stands in the report", 0,
	    0 },
	{ 0 },
};

/*
 * The whole id of the run meant: an id, a unique beginning of one, or "last" for the newest that has not ended. *out is heap.
 */
static enum ls_rc
find_run(struct client *client, const char *what, char **out, struct ls_err *err)
{
	bool last = strcmp(what, "last") == 0;
	char *found = NULL;
	size_t matches = 0;
	struct msg_list ask;
	enum ls_rc rc;

	msg_body_init(MSG_LIST, &ask);
	ask.limit = 0;
	rc = client_send(client, MSG_LIST, &ask, err);
	msg_body_fini(MSG_LIST, &ask);
	while (rc == LS_OK) {
		struct msg msg;

		rc = client_expect(client, MSG_LISTED, &msg, err);
		if (rc != LS_OK)
			break;
		const struct run_row *run = &((struct msg_listed *)msg.body)->run;
		bool match = last ? found == NULL && !run_state_is_end((enum run_state)run->state)
				  : strncmp(run->id, what, strlen(what)) == 0;
		if (match) {
			matches++;
			free(found);
			found = ls_strdup(run->id);
		}
		msg_fini(&msg);
	}
	if (rc == LS_E_NOTFOUND && matches == 1) {
		*out = found;
		return LS_OK;
	}
	free(found);
	if (rc != LS_E_NOTFOUND)
		return rc;
	if (matches > 1)
		return ls_err_set(err, LS_E_STATE, "%zu runs begin with \"%s\"", matches, what);
	return ls_err_set(err, LS_E_STATE, last ? "no run is waiting or running" : "there is no run \"%s\"", what);
}

static enum ls_rc
abort_run(struct client *client, const char *id, const char *reason, struct ls_err *err)
{
	struct msg_abort ask;
	struct msg msg;

	msg_body_init(MSG_ABORT, &ask);
	free(ask.run);
	free(ask.reason);
	ask.run = ls_strdup(id);
	ask.reason = ls_strdup(reason != NULL ? reason : "lockstep abort");
	enum ls_rc rc = client_send(client, MSG_ABORT, &ask, err);
	msg_body_fini(MSG_ABORT, &ask);
	if (rc != LS_OK)
		return rc;
	rc = client_expect(client, MSG_ABORTED, &msg, err);
	if (rc == LS_OK)
		msg_fini(&msg);
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

static enum cli_exit
run_abort(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct abort_options *options = opaque;
	struct client *client;
	struct ls_err err;
	char *id = NULL;

	if (client_open(cli, NULL, &client, &err) != LS_OK)
		return cli_fail_err(&err);
	enum ls_rc rc = find_run(client, words->items[0], &id, &err);
	if (rc == LS_OK)
		rc = abort_run(client, id, options->reason, &err);
	client_close(client);
	if (rc == LS_OK)
		cli_say(cli, "aborted %s\n", id);
	free(id);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}

const struct cmd cmd_abort = {
	.name = "abort",
	.summary = "stop a run and remove its files",
	.synopsis = "RUN [--reason TEXT]",
	.help =
	    "Stops the load of a run on all nodes, keeps what was measured until then, and removes the run's files.\n"
	    "RUN is a run's id, a unique beginning of it, or \"last\" for the newest that has not ended.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep abort last\n"
	    "  lockstep abort 01k7 --reason 'heartbeat too slow'",
	.options = rows,
	.options_size = sizeof(struct abort_options),
	.min_words = 1,
	.max_words = 1,
	.run = run_abort,
};
