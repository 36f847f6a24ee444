#include "coordinator/cli/cmd.h"

#include <stddef.h>

#include "coordinator/cli/documents.h"
#include "coordinator/cli/output.h"

extern const struct cmd cmd_report;

struct report_options {
	const char *format, *output;
};

#define O(member) offsetof(struct report_options, member)

static const struct option_row rows[] = {
	{ "format", 'f', OPTION_TEXT, O(format), "FORMAT", "one of the formats above; default text", 0, 0 },
	{ "output", 'o', OPTION_TEXT, O(output), "FILE", "write there instead of to standard output", 0, 0 },
	{ 0 },
};

static enum cli_exit
run_report(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct report_options *options = opaque;
	const struct report_format *format;
	struct ls_err err;

	if (output_format(options->format != NULL ? options->format : "text", &format, &err) != LS_OK)
		return cli_fail_err(&err);
	return documents_report(cli, words->count > 0 ? words->items[0] : "last", format, options->output);
}

static void
formats_help(struct sink *out)
{
	sink_printf(out, "\nformats:\n");
	for (size_t i = 0; report_formats[i] != NULL; i++)
		sink_printf(out, "  %-13s %s\n", report_formats[i]->name, report_formats[i]->help);
}

const struct cmd cmd_report = {
	.name = "report",
	.summary = "print the results of a run, or of a results file",
	.synopsis = "[RUN|FILE] [--format FORMAT] [--output FILE]",
	.help =
	    "Prints what a run has measured. RUN is a run's id, a unique beginning of it, or \"last\" (the "
	    "default) for the\n"
	    "newest run; FILE is a results file that \"lockstep run --json FILE\" wrote, or the output of another tool "
	    "as\n"
	    "\"lockstep import\" reads it, and needs no lockstepd; FILE#NAME or FILE#2 is one of several runs in it.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep report\n"
	    "  lockstep report 01k --format csv --output run.csv\n"
	    "  lockstep report out.json\n"
	    "  lockstep report --format bonnie-csv | bon_csv2html > bonnie.html",
	.more_help = formats_help,
	.options = rows,
	.options_size = sizeof(struct report_options),
	.max_words = 1,
	.run = run_report,
};
