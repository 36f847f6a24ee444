#include "coordinator/cli/listing.h"

#include <stdio.h>
#include <stdlib.h>

#include "coordinator/cli/client.h"
#include "proto/codec/json.h"

static void
print_json(const struct struct_desc *desc, const void *row, size_t number)
{
	char *text = json_encode_struct(desc, row, false, NULL);

	printf("%s%s", number == 0 ? "[\n" : ",\n", text);
	free(text);
}

static bool
keeps(const struct listing_filter *filter, const void *row, size_t count)
{
	if (filter == NULL)
		return true;
	if (filter->most > 0 && count >= filter->most)
		return false;
	return filter->keeps == NULL || filter->keeps(filter->with, row);
}

/* Until lockstepd has no more to say, which is LS_OK here. */
static enum ls_rc
take_rows(struct client *client, const struct listing *l, bool json, const struct listing_filter *filter,
    struct table *table, size_t *count, struct ls_err *err)
{
	for (;;) {
		struct msg msg;
		enum ls_rc rc = client_expect(client, l->answer, &msg, err);

		if (rc != LS_OK)
			return rc == LS_E_NOTFOUND ? LS_OK : rc;
		const void *row = (const char *)msg.body + l->row_offset;
		if (keeps(filter, row, *count)) {
			if (json)
				print_json(l->desc, row, *count);
			else
				l->add(table, row);
			++*count;
		}
		msg_fini(&msg);
	}
}

enum cli_exit
listing_run(const struct cli *cli, const struct listing *l, const void *ask, bool json)
{
	return listing_run_filtered(cli, l, ask, json, NULL);
}

enum cli_exit
listing_run_filtered(
    const struct cli *cli, const struct listing *l, const void *ask, bool json, const struct listing_filter *filter)
{
	struct table table = { .columns = l->columns };
	struct client *client;
	struct ls_err err;
	size_t count = 0;

	if (client_open(cli, NULL, &client, &err) != LS_OK)
		return cli_fail_err(&err);
	for (size_t i = 0; i < l->columns; i++)
		table_add(&table, l->heads[i]);
	enum ls_rc rc = client_send(client, l->ask, ask, &err);
	if (rc == LS_OK)
		rc = take_rows(client, l, json, filter, &table, &count, &err);
	client_close(client);

	if (json && (rc == LS_OK || count > 0))
		printf("%s]\n", count == 0 ? "[" : "\n");
	else if (!json && count == 0 && rc == LS_OK)
		printf("%s\n", l->none);
	if (json || count == 0)
		table_drop(&table);
	else
		table_print(&table);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}
