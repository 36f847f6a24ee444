#include "coordinator/cli/cmd.h"

#include <stdio.h>

#include "coordinator/cli/output.h"
#include "proto/codec/jobfile.h"

extern const struct cmd cmd_presets;

static const struct option_row rows[] = { { 0 } };

static enum cli_exit
run_presets(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	size_t count;
	const struct job_preset *presets = job_presets(&count);
	struct table table = { .columns = 2 };

	(void)cli;
	(void)opaque;
	if (words->count == 1) {
		const struct job_preset *preset = job_preset_find(words->items[0]);

		if (preset == NULL)
			return cli_fail(
			    CLI_USAGE, "there is no preset \"%s\"; lockstep presets lists them", words->items[0]);
		fputs(preset->text, stdout);
		return CLI_OK;
	}
	for (size_t i = 0; i < count; i++) {
		table_add(&table, presets[i].name);
		table_add(&table, presets[i].help);
	}
	table_print(&table);
	return CLI_OK;
}

const struct cmd cmd_presets = {
	.name = "presets",
	.summary = "list the built-in jobs, or print one as a job file",
	.synopsis = "[NAME]",
	.help = "Without NAME lists the built-in jobs; with NAME prints one as the job file that it is, to start one's "
		"own from.\n"
		"\n"
		"examples:\n"
		"  lockstep presets\n"
		"  lockstep presets bonnie > mine.json\n"
		"  lockstep run --path /mnt/vol --set phases.record_size=1MiB bonnie",
	.options = rows,
	.options_size = 0,
	.max_words = 1,
	.run = run_presets,
};
