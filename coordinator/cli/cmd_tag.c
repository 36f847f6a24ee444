#include "coordinator/cli/cmd.h"

#include <stddef.h>

#include "coordinator/cli/labels.h"
#include "proto/model/label.h"

extern const struct cmd cmd_tag;

struct tag_options {
	struct option_texts remove;
};

#define O(member) offsetof(struct tag_options, member)

static const struct option_row rows[] = {
	{ "remove", 'r', OPTION_TEXTS, O(remove), "TAG", "take this tag away; may be repeated", 0, 0 },
	{ 0 },
};

static enum cli_exit
run_tag(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct tag_options *options = opaque;
	const struct labels_change change = {
		.run = words->items[0],
		.add = words->items + 1,
		.add_count = words->count - 1,
		.remove = options->remove.items,
		.remove_count = options->remove.count,
	};
	struct ls_err err;

	for (size_t i = 0; i < change.add_count; i++)
		if (label_check_tag(change.add[i], &err) != LS_OK)
			return cli_fail_err(&err);
	return labels_run(cli, &change);
}

const struct cmd cmd_tag = {
	.name = "tag",
	.summary = "give a run tags, by which it is found again",
	.synopsis = "RUN [TAG...] [--remove TAG]",
	.help = "Adds tags to a run and takes others away; without any it only shows them. RUN is a run's id, a unique "
		"beginning\n"
		"of it, or \"last\". A tag has letters, digits and . _ : = / + -. Runs that are tagged \"keep\" are "
		"never removed\n"
		"by lockstepd's keep_runs and keep_days. \"lockstep run --tag TAG\" does it from the beginning.\n"
		"\n"
		"examples:\n"
		"  lockstep tag last baseline keep\n"
		"  lockstep tag 20261130-1502 firmware=2.1 --remove baseline\n"
		"  lockstep runs --tag baseline",
	.options = rows,
	.options_size = sizeof(struct tag_options),
	.min_words = 1,
	.max_words = 1 + LABEL_TAGS_MAX,
	.run = run_tag,
};
