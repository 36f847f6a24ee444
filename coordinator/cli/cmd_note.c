#include "coordinator/cli/cmd.h"

#include <stddef.h>

#include "coordinator/cli/labels.h"
#include "proto/model/label.h"

extern const struct cmd cmd_note;

struct note_options {
	bool clear;
};

static const struct option_row rows[] = {
	{ "clear", 0, OPTION_FLAG, offsetof(struct note_options, clear), NULL, "take the note away", 0, 0 },
	{ 0 },
};

static enum cli_exit
run_note(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct note_options *options = opaque;
	struct labels_change change = { .run = words->items[0], .note = words->count > 1 ? words->items[1] : NULL };
	struct ls_err err;

	if (options->clear && change.note != NULL)
		return cli_fail(CLI_USAGE, "note: --clear and a text: which of the two?");
	if (options->clear)
		change.note = "";
	if (label_check(NULL, 0, change.note, &err) != LS_OK)
		return cli_fail_err(&err);
	return labels_run(cli, &change);
}

const struct cmd cmd_note = {
	.name = "note",
	.summary = "write a note on a run",
	.synopsis = "RUN [TEXT] [--clear]",
	.help = "Writes a line of text on a run, in place of what was there; without a text it only shows it. Reports, "
		"comparisons\n"
		"and lists show it. RUN is a run's id, a unique beginning of it, or \"last\".\n"
		"\n"
		"examples:\n"
		"  lockstep note last \"node c had one path only\"\n"
		"  lockstep note last --clear",
	.options = rows,
	.options_size = sizeof(struct note_options),
	.min_words = 1,
	.max_words = 2,
	.run = run_note,
};
