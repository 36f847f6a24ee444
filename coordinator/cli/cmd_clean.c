#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/leftovers.h"
#include "coordinator/cli/output.h"
#include "proto/model/results.h"

extern const struct cmd cmd_clean;

struct clean_options {
	bool remove, yes, force, json;
};

#define O(member) offsetof(struct clean_options, member)

static const struct option_row rows[] = {
	{ "remove", 0, OPTION_FLAG, O(remove), NULL, "remove what is shown, after asking", 0, 0 },
	{ "yes", 'y', OPTION_FLAG, O(yes), NULL, "do not ask", 0, 0 },
	{ "force", 0, OPTION_FLAG, O(force), NULL,
	    "also what lockstepd does not know or could not be asked about; never a run that it knows to go on", 0, 0 },
	{ "json", 0, OPTION_FLAG, O(json), NULL, "the list as a JSON array, for programs; not with --remove", 0, 0 },
	{ 0 },
};

static const char *const state_names[] = {
	[LEFTOVER_NOT_ASKED] = "not known",
	[LEFTOVER_UNKNOWN] = "not of this lockstepd",
	[LEFTOVER_ACTIVE] = "active",
	[LEFTOVER_ENDED] = "ended",
};

static void
take_run(struct leftovers *l, const struct run_row *row)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i].run, row->id) == 0)
			l->list[i].state = row->state < (int)RUN_FINISHED ? LEFTOVER_ACTIVE : LEFTOVER_ENDED;
}

/* What lockstepd says of these runs. Without one they stay not asked, and why goes to err. */
static enum ls_rc
ask_states(const struct cli *cli, struct leftovers *l, struct ls_err *err)
{
	struct client *client;
	struct msg_list ask;
	struct msg msg;
	enum ls_rc rc = client_open(cli, NULL, &client, err);

	if (rc != LS_OK)
		return rc;
	msg_body_init(MSG_LIST, &ask);
	ask.limit = 0;
	rc = client_send(client, MSG_LIST, &ask, err);
	msg_body_fini(MSG_LIST, &ask);
	for (size_t i = 0; rc == LS_OK && i < l->count; i++)
		l->list[i].state = LEFTOVER_UNKNOWN;
	while (rc == LS_OK && (rc = client_expect(client, MSG_LISTED, &msg, err)) == LS_OK) {
		take_run(l, &((const struct msg_listed *)msg.body)->run);
		msg_fini(&msg);
	}
	client_close(client);
	if (rc == LS_E_NOTFOUND)
		return LS_OK;
	for (size_t i = 0; i < l->count; i++)
		l->list[i].state = LEFTOVER_NOT_ASKED;
	return rc;
}

static void
print_table(const struct leftovers *l)
{
	static const char *const heads[] = { "RUN", "STATE", "AGE", "SIZE", "FILES", "NODES", "NOTE" };
	struct table table = { .columns = ARRAY_LEN(heads) };
	char text[32];

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	for (size_t i = 0; i < l->count; i++) {
		const struct leftover *f = &l->list[i];

		table_add(&table, f->run);
		table_add(&table, state_names[f->state]);
		table_add(
		    &table, f->age_ns != LS_UNKNOWN_I64 ? units_format_duration(f->age_ns, text, sizeof(text)) : NULL);
		table_add(&table, units_format_size(f->bytes, text, sizeof(text)));
		table_addf(&table, "%" PRIu64, f->files);
		table_add(&table, f->nodes);
		table_add(&table, f->problem);
	}
	table_print(&table);
}

/* The runner lets nothing into its lines that JSON would have to escape. */
static void
print_json(const struct leftovers *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct leftover *f = &l->list[i];

		printf("%s{\"run\":\"%s\",\"state\":\"%s\",\"created\":\"%s\",\"bytes\":%" PRIu64 ",\"files\":%" PRIu64
		       ",\"nodes\":\"%s\",\"problem\":",
		    i == 0 ? "[\n" : ",\n", f->run, state_names[f->state], f->created, f->bytes, f->files, f->nodes);
		printf(f->problem != NULL ? "\"%s\"}" : "null}", f->problem != NULL ? f->problem : "");
	}
	printf("%s]\n", l->count == 0 ? "[" : "\n");
}

/* Without names all that have a marker: what has none is shown only. */
static bool
is_meant(const struct leftover *f, const struct option_texts *words)
{
	for (size_t i = 1; i < words->count; i++)
		if (strcmp(words->items[i], f->run) == 0)
			return true;
	return words->count == 1 && strcmp(f->nodes, "-") != 0;
}

static bool
answered_yes(const struct leftover *f)
{
	char line[16], size[32];

	printf("remove .lockstep-%s (%s) of %s? [y/N] ", f->run, units_format_size(f->bytes, size, sizeof(size)),
	    f->nodes);
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	line[strcspn(line, "\n")] = '\0';
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

static enum cli_exit
remove_one(const struct cli *cli, const char *path, const struct leftover *f, const struct clean_options *options)
{
	const char *why = leftovers_refusal(f, options->force);
	struct ls_err err;
	char *left;

	if (why != NULL)
		return cli_fail(CLI_REFUSED, ".lockstep-%s stays: %s", f->run, why);
	if (!options->yes && !answered_yes(f)) {
		cli_say(cli, ".lockstep-%s stays\n", f->run);
		return CLI_OK;
	}
	if (leftovers_remove(path, f->run, &left, &err) != LS_OK)
		return cli_fail(CLI_FAILED, ".lockstep-%s: %s", f->run, err.text);
	if (left == NULL) {
		cli_say(cli, "removed .lockstep-%s\n", f->run);
		return CLI_OK;
	}

	enum cli_exit status = cli_fail(CLI_FAILED, ".lockstep-%s is not wholly removed:\n%s", f->run, left);

	free(left);
	return status;
}

static enum cli_exit
remove_all(const struct cli *cli, const char *path, const struct leftovers *l, const struct clean_options *options,
    const struct option_texts *words)
{
	enum cli_exit status = CLI_OK;

	for (size_t i = 0; i < l->count; i++) {
		enum cli_exit one = is_meant(&l->list[i], words) ? remove_one(cli, path, &l->list[i], options) : CLI_OK;

		if (one != CLI_OK)
			status = one;
	}
	for (size_t w = 1; w < words->count; w++) {
		size_t i = 0;

		while (i < l->count && strcmp(l->list[i].run, words->items[w]) != 0)
			i++;
		if (i == l->count)
			status = cli_fail(CLI_FAILED, "there is no .lockstep-%s in %s", words->items[w], path);
	}
	return status;
}

static enum cli_exit
run_clean(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct clean_options *options = opaque;
	const char *path = words->items[0];
	enum cli_exit status = CLI_OK;
	struct leftovers l;
	struct ls_err err;

	if (options->json && options->remove)
		return cli_fail(CLI_USAGE, "clean: --json lists, it does not go with --remove");
	if (!options->remove && words->count > 1)
		return cli_fail(CLI_USAGE, "clean: runs are named with --remove only");
	if (options->remove && !options->yes && !isatty(STDIN_FILENO))
		return cli_fail(CLI_USAGE, "clean: nobody can be asked here: say --yes");
	if (leftovers_find(path, &l, &err) != LS_OK)
		return cli_fail(CLI_FAILED, "clean: %s", err.text);
	if (l.count > 0 && ask_states(cli, &l, &err) != LS_OK)
		(void)fprintf(stderr, "lockstep: the runs' states are not known: %s\n", err.text);
	if (options->json)
		print_json(&l);
	else if (l.count == 0)
		cli_say(cli, "no run has left anything in %s\n", path);
	else
		print_table(&l);
	if (options->remove)
		status = remove_all(cli, path, &l, options, words);
	leftovers_free(&l);
	return status;
}

const struct cmd cmd_clean = {
	.name = "clean",
	.summary = "find and remove what runs left on a volume",
	.synopsis = "DIR [--remove [RUN...]] [--yes] [--force] [--json]",
	.help =
	    "Lists the directories .lockstep-RUN in DIR that carry a run's markers: whose they are, how large and how "
	    "old. It\n"
	    "works on this machine, which must have the volume mounted, as a user who may remove those files (root, or "
	    "the\n"
	    "agent's). Agents clean up by themselves, also after a restart; what remains is that of a node that never "
	    "came\n"
	    "back. --remove removes what a run makes and nothing else; anything foreign stays, and keeps the "
	    "directory. "
	    "Runs\n"
	    "that have not ended are refused, so lockstepd is asked (--server); if it cannot be, only --force "
	    "removes.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep clean /mnt/vol\n"
	    "  lockstep clean /mnt/vol --remove\n"
	    "  lockstep clean /mnt/vol --remove 20261130-150201-ab12 --yes",
	.options = rows,
	.options_size = sizeof(struct clean_options),
	.min_words = 1,
	.max_words = 100000,
	.run = run_clean,
};
