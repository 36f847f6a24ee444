#include "coordinator/cli/cmd.h"

#include "coordinator/cli/documents.h"
#include "coordinator/cli/output.h"

extern const struct cmd cmd_scale;

static const struct option_row rows[] = { { 0 } };

static enum cli_exit
run_scale(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	(void)opaque;
	return documents_report(cli, words->count > 0 ? words->items[0] : "last", report_format_find("scale"), NULL);
}

const struct cmd cmd_scale = {
	.name = "scale",
	.summary = "each node alone against all together: efficiency and each node's loss",
	.synopsis = "[RUN|FILE]",
	.help = "Prints, for each phase of a run that every node did alone, too, how much of its own rate each node "
		"keeps when "
		"all\n"
		"work at the same time, and what all reach of the sum of the nodes alone. The preset scale makes such "
		"a run; "
		"in any\n"
		"job a phase marked \"solo\" does. RUN and FILE are as for lockstep report, whose text, markdown, "
		"html, csv "
		"and json\n"
		"have the same figures.\n"
		"\n"
		"examples:\n"
		"  lockstep run --path /mnt/vol scale\n"
		"  lockstep scale\n"
		"  lockstep scale results.json",
	.options = rows,
	.options_size = 0,
	.max_words = 1,
	.run = run_scale,
};
