#include "coordinator/cli/labels.h"

#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/cli/client.h"

static void
copy_texts(const char *const *from, size_t count, char ***to, size_t *to_count)
{
	if (count > 0)
		*to = ls_calloc(count, sizeof(**to));
	for (size_t i = 0; i < count; i++)
		(*to)[(*to_count)++] = ls_strdup(from[i]);
}

/* Notes come from people: what controls a terminal is not passed on. */
static void
print_note(const char *note)
{
	printf("note ");
	for (const char *p = note; *p != '\0'; p++)
		putchar((unsigned char)*p < 0x20 || *p == 0x7f ? ' ' : *p);
	putchar('\n');
}

static void
print_labels(const struct msg_tagged *m)
{
	printf("run  %s\ntags", m->run);
	for (size_t i = 0; i < m->tags_count; i++)
		printf(" %s", m->tags[i]);
	printf("%s\n", m->tags_count == 0 ? " -" : "");
	print_note(m->note != NULL ? m->note : "-");
}

static enum ls_rc
ask_and_print(struct client *client, const struct labels_change *change, struct ls_err *err)
{
	struct msg_tag ask;
	struct msg msg;

	msg_body_init(MSG_TAG, &ask);
	if (change->run != NULL && strcmp(change->run, "last") != 0)
		ask.run = ls_strdup(change->run);
	copy_texts(change->add, change->add_count, &ask.add, &ask.add_count);
	copy_texts(change->remove, change->remove_count, &ask.remove, &ask.remove_count);
	ask.note = ls_strdup(change->note);
	enum ls_rc rc = client_send(client, MSG_TAG, &ask, err);
	msg_body_fini(MSG_TAG, &ask);
	if (rc == LS_OK)
		rc = client_expect(client, MSG_TAGGED, &msg, err);
	if (rc != LS_OK)
		return rc;
	print_labels(msg.body);
	msg_fini(&msg);
	return LS_OK;
}

enum cli_exit
labels_run(const struct cli *cli, const struct labels_change *change)
{
	struct client *client;
	struct ls_err err;
	enum ls_rc rc = client_open(cli, NULL, &client, &err);

	if (rc != LS_OK)
		return cli_fail_err(&err);
	rc = ask_and_print(client, change, &err);
	client_close(client);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}
