#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/field.h"
#include "common/base/mem.h"
#include "common/pki/pki.h"
#include "common/pki/pki_enroll.h"
#include "coordinator/cli/output.h"
#include "proto/codec/json.h"

/* clang-format off: a .def file is read twice, in this order */
#include "common/base/field_decl.h"
#include "coordinator/cli/pki_row.def"
#include "common/base/field_undef.h"
#include "common/base/field_table.h"
#include "coordinator/cli/pki_row.def"
#include "common/base/field_undef.h"
/* clang-format on */

extern const struct cmd cmd_pki;

#define ROOT_DAYS 3650
#define CERT_DAYS 825

struct pki_options {
	uint64_t days;
	const char *name;
	bool json;
};

#define O(member) offsetof(struct pki_options, member)

static const struct option_row rows[] = {
	{ "days", 'd', OPTION_COUNT, O(days), "N", "validity; default 3650 for the root, 825 for others", 1,
	    PKI_DAYS_MAX },
	{ "name", 'n', OPTION_TEXT, O(name), "TEXT", "init: name of the authority; default \"lockstep\"", 0, 0 },
	{ "json", 0, OPTION_FLAG, O(json), NULL, "list: as a JSON array, for programs", 0, 0 },
	{ 0 },
};

static enum cli_exit
pki_failed(const struct ls_err *err)
{
	return cli_fail(
	    err->rc == LS_E_INVALID || err->rc == LS_E_RANGE ? CLI_USAGE : CLI_FAILED, "pki: %s", err->text);
}

static enum cli_exit
run_init(const struct cli *cli, const struct pki_options *options, const struct option_texts *words)
{
	struct ls_err err;
	const char *dir = words->items[1];
	unsigned days = options->days != 0 ? (unsigned)options->days : ROOT_DAYS;

	if (pki_init(dir, options->name != NULL ? options->name : "lockstep", days, &err) != LS_OK)
		return pki_failed(&err);
	cli_say(cli, "made %s/ca.crt and %s/ca.key; keep the key safe, it is needed only to issue certificates\n", dir,
	    dir);
	return CLI_OK;
}

static enum cli_exit
issue(const struct cli *cli, const struct pki_options *options, const struct option_texts *words, bool renew)
{
	struct identity id = { .role = ROLE_NONE };
	struct ls_err err;
	const char *dir = words->items[1];
	int role = field_enum_value(identity_role_names, words->items[2]);

	if (role <= ROLE_NONE)
		return cli_fail(
		    CLI_USAGE, "pki: \"%s\" is no role; roles: coordinator, agent, operator", words->items[2]);
	if (!identity_name_valid(words->items[3]))
		return cli_fail(CLI_USAGE,
		    "pki: \"%s\" is no name: 1 to %d of A-Z a-z 0-9 . _ -, not beginning with . or -", words->items[3],
		    IDENTITY_NAME_MAX);
	id.role = (enum identity_role)role;
	snprintf(id.name, sizeof(id.name), "%s", words->items[3]);
	if (pki_issue(dir, &id, options->days != 0 ? (unsigned)options->days : CERT_DAYS, renew, &err) != LS_OK)
		return pki_failed(&err);
	cli_say(cli, "%s %s/%s-%s.crt and .key\n", renew ? "renewed" : "made", dir, words->items[2], id.name);
	return CLI_OK;
}

static enum cli_exit
run_issue(const struct cli *cli, const struct pki_options *options, const struct option_texts *words)
{
	return issue(cli, options, words, false);
}

static enum cli_exit
run_renew(const struct cli *cli, const struct pki_options *options, const struct option_texts *words)
{
	return issue(cli, options, words, true);
}

/* lockstepd sees the list change within 2 s. */
static enum cli_exit
run_revoke(const struct cli *cli, const struct pki_options *options, const struct option_texts *words)
{
	struct identity id = { .role = ROLE_NONE };
	size_t count;
	struct ls_err err;

	(void)options;
	int role = field_enum_value(identity_role_names, words->items[2]);
	if (role <= ROLE_NONE || !identity_name_valid(words->items[3]))
		return cli_fail(
		    CLI_USAGE, "pki: usage: lockstep pki revoke DIR ROLE NAME; roles: coordinator, agent, operator");
	id.role = (enum identity_role)role;
	snprintf(id.name, sizeof(id.name), "%s", words->items[3]);
	if (pki_revoke(words->items[1], &id, &count, &err) != LS_OK)
		return pki_failed(&err);
	cli_say(cli, "revoked %zu certificates of %s %s; %s/ca.crl is what lockstepd goes by\n", count, words->items[2],
	    id.name, words->items[1]);
	return CLI_OK;
}

static void
row_fill(struct pki_row *row, const struct pki_entry *entry)
{
	char from[40];
	char until[40];
	bool root = entry->id.role == ROLE_NONE;

	ls_wall_format((struct ls_wall){ entry->not_before * NS_PER_S }, from, sizeof(from));
	ls_wall_format((struct ls_wall){ entry->not_after * NS_PER_S }, until, sizeof(until));
	*row = (struct pki_row){
		.role = ls_strdup(root ? "root" : field_enum_name(identity_role_names, (int)entry->id.role)),
		.name = ls_strdup(entry->id.name),
		.path = ls_strdup(entry->path),
		.serial = ls_strdup(entry->serial),
		.not_before = ls_strdup(from),
		.not_after = ls_strdup(until),
		.revoked = entry->revoked,
		.days_left = (entry->not_after - ls_wall_now().ns / NS_PER_S) / 86400,
	};
}

static void
list_rows(const struct pki_entry *entries, size_t count, bool json)
{
	struct table table = { .columns = 5 };
	static const char *const heads[] = { "ROLE", "NAME", "VALID UNTIL (UTC)", "DAYS LEFT", "FILE" };

	for (size_t i = 0; !json && i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	for (size_t i = 0; i < count; i++) {
		struct pki_row row;

		row_fill(&row, &entries[i]);
		if (json) {
			char *text = json_encode_struct(&pki_row_desc, &row, false, NULL);
			printf("%s%s", i == 0 ? "[\n" : ",\n", text);
			free(text);
		} else {
			table_add(&table, row.role);
			table_add(&table, row.name);
			table_add(&table, row.not_after);
			if (row.revoked)
				table_add(&table, "revoked");
			else
				table_addf(&table, "%" PRId64, row.days_left);
			table_add(&table, row.path);
		}
		field_struct_fini(&pki_row_desc, &row);
	}
	if (json)
		printf("%s]\n", count == 0 ? "[" : "\n");
	table_print(&table);
}

static enum cli_exit
run_list(const struct cli *cli, const struct pki_options *options, const struct option_texts *words)
{
	struct pki_entry *entries;
	size_t count;
	struct ls_err err;

	(void)cli;
	if (pki_list(words->items[1], &entries, &count, &err) != LS_OK)
		return pki_failed(&err);
	list_rows(entries, count, options->json);
	free(entries);
	return CLI_OK;
}

static const struct {
	const char *name;
	size_t words; /* with its own name */
	const char *usage;
	enum cli_exit (*run)(
	    const struct cli *cli, const struct pki_options *options, const struct option_texts *words);
} actions[] = {
	{ "init", 2, "init DIR", run_init },
	{ "issue", 4, "issue DIR ROLE NAME [--days N]", run_issue },
	{ "renew", 4, "renew DIR ROLE NAME [--days N]", run_renew },
	{ "revoke", 4, "revoke DIR ROLE NAME", run_revoke },
	{ "list", 2, "list DIR [--json]", run_list },
};

static enum cli_exit
run_pki(const struct cli *cli, const void *options, const struct option_texts *words)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (strcmp(actions[i].name, words->items[0]) != 0)
			continue;
		if (words->count != actions[i].words)
			return cli_fail(CLI_USAGE, "pki: usage: lockstep pki %s", actions[i].usage);
		return actions[i].run(cli, options, words);
	}
	return cli_fail(
	    CLI_USAGE, "pki: \"%s\" is not known; there are init, issue, renew, revoke and list", words->items[0]);
}

const struct cmd cmd_pki = {
	.name = "pki",
	.summary = "make, renew and revoke the certificates of coordinator, agents and operators",
	.synopsis = "init DIR | issue DIR ROLE NAME | renew DIR ROLE NAME | revoke DIR ROLE NAME | list DIR",
	.help = "A small certificate authority in a directory. Each certificate says what its owner is (coordinator, "
		"agent or\n"
		"operator) and its name; an agent's name is the name of its node. Needs no lockstepd.\n"
		"\n"
		"  init DIR             makes DIR/ca.crt and DIR/ca.key; ca.crt goes to every machine, ca.key to none\n"
		"  issue DIR ROLE NAME  makes DIR/ROLE-NAME.crt and .key\n"
		"  renew DIR ROLE NAME  makes them anew; the old ones stay valid until they end\n"
		"  revoke DIR ROLE NAME revokes all of them in DIR/ca.crl (lockstepd: pki = DIR, or crl = DIR/ca.crl)\n"
		"  list DIR             shows what there is, how long it is valid, and what is revoked\n"
		"\n"
		"examples:\n"
		"  lockstep pki init /root/lockstep-pki\n"
		"  lockstep pki issue /root/lockstep-pki coordinator lab\n"
		"  for n in a b c; do lockstep pki issue /root/lockstep-pki agent $n; done\n"
		"  lockstep pki issue /root/lockstep-pki operator alice --days 365",
	.options = rows,
	.options_size = sizeof(struct pki_options),
	.min_words = 1,
	.max_words = 4,
	.run = run_pki,
};
