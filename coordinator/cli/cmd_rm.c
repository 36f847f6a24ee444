#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "coordinator/cli/client.h"

extern const struct cmd cmd_rm;

struct rm_options {
	bool yes;
};

static const struct option_row rows[] = {
	{ "yes", 'y', OPTION_FLAG, offsetof(struct rm_options, yes), NULL, "do not ask", 0, 0 },
	{ 0 },
};

static enum ls_rc
send_remove(struct client *client, const char *run, bool ask, struct msg *out, struct ls_err *err)
{
	struct msg_remove m;
	struct msg end;

	msg_body_init(MSG_REMOVE, &m);
	free(m.run);
	m.run = ls_strdup(run);
	m.ask = ask;
	enum ls_rc rc = client_send(client, MSG_REMOVE, &m, err);
	msg_body_fini(MSG_REMOVE, &m);
	if (rc == LS_OK)
		rc = client_expect(client, MSG_REMOVED, out, err);
	if (rc != LS_OK)
		return rc;
	rc = client_expect(client, MSG_DONE, &end, err);
	if (rc == LS_OK)
		msg_fini(&end);
	else
		msg_fini(out);
	return rc;
}

/* The whole id into *id; heap. */
static enum ls_rc
resolve(struct client *client, const char *run, char **id, char **about, struct ls_err *err)
{
	struct msg msg;
	enum ls_rc rc = send_remove(client, run, true, &msg, err);

	if (rc != LS_OK)
		return rc;
	const struct run_row *row = &((struct msg_removed *)msg.body)->run;
	*id = ls_strdup(row->id);
	*about = ls_asprintf("%s, started %s, %s", row->name, row->started_at != NULL ? row->started_at : "?",
	    field_enum_name(run_state_names, row->state));
	msg_fini(&msg);
	return LS_OK;
}

static bool
answered_yes(const char *id, const char *about)
{
	char line[16];

	printf("remove run %s (%s) and all its results? [y/N] ", id, about);
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	line[strcspn(line, "\n")] = '\0';
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

static enum ls_rc
remove_one(const struct cli *cli, struct client *client, const char *run, bool yes, struct ls_err *err)
{
	char *id = NULL, *about = NULL;
	struct msg msg;
	enum ls_rc rc = resolve(client, run, &id, &about, err);

	if (rc != LS_OK)
		return rc;
	if (yes || answered_yes(id, about)) {
		rc = send_remove(client, id, false, &msg, err);
		if (rc == LS_OK) {
			cli_say(cli, "removed %s\n", id);
			msg_fini(&msg);
		}
	} else {
		cli_say(cli, "%s stays\n", id);
	}
	free(id);
	free(about);
	return rc;
}

static enum cli_exit
run_rm(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct rm_options *options = opaque;
	enum cli_exit status = CLI_OK;
	struct client *client;
	struct ls_err err;

	if (!options->yes && !isatty(STDIN_FILENO))
		return cli_fail(CLI_USAGE, "rm: nobody can be asked here: say --yes");
	if (client_open(cli, NULL, &client, &err) != LS_OK)
		return cli_fail_err(&err);
	for (size_t i = 0; i < words->count; i++) {
		enum ls_rc rc = remove_one(cli, client, words->items[i], options->yes, &err);

		if (rc != LS_OK)
			status = cli_fail(rc == LS_E_REFUSED ? CLI_REFUSED : CLI_FAILED, "%s", err.text);
		if (rc != LS_OK && rc != LS_E_REFUSED)
			break;
	}
	client_close(client);
	return status;
}

const struct cmd cmd_rm = {
	.name = "rm",
	.summary = "remove runs with all their results",
	.synopsis = "RUN... [--yes]",
	.help =
	    "Removes runs that have ended from lockstepd's store, for good; \"lockstep export\" first keeps a copy. "
	    "Asks "
	    "for each\n"
	    "unless --yes is given. A run that has not ended is refused. RUN is a run's id or a unique beginning of "
	    "it; \"last\"\n"
	    "is not taken, as another run may have ended meanwhile.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep rm 20261130-1502\n"
	    "  lockstep runs --state failed --json | jq -r '.[].id' | xargs lockstep rm --yes",
	.options = rows,
	.options_size = sizeof(struct rm_options),
	.min_words = 1,
	.max_words = 100000,
	.run = run_rm,
};
