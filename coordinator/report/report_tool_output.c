/* What external programs printed, as they printed it: for each of their runs on each node, the command line, standard output and error. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/format.h"

extern const struct report_format report_tool_output;

static void
stream(struct sink *out, const char *name, const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;

	if (len == 0)
		return;
	sink_printf(out, "--- %s\n", name);
	sink_add(out, text, len);
	if (text[len - 1] != '\n')
		sink_printf(out, "\n");
}

static void
one(struct sink *out, const struct phase_result *phase, const struct node_result *node)
{
	const struct tool_result *t = node->tool;

	sink_printf(out, "=== %s, phase %" PRIu64 " (%s)", node->node, phase->index + 1, phase->name);
	if (phase->repetition > 0)
		sink_printf(out, ", repetition %" PRIu64, phase->repetition + 1);
	sink_printf(out, ": %s %s", t->name, t->version != NULL ? t->version : "of unknown version");
	if (t->exit_status == LS_UNKNOWN_I64)
		sink_printf(out, ", did not end by itself\n");
	else if (t->exit_status < 0)
		sink_printf(out, ", ended by signal %" PRId64 "\n", -t->exit_status);
	else
		sink_printf(out, ", exit status %" PRId64 "\n", t->exit_status);
	if (t->command != NULL)
		sink_printf(out, "--- command\n%s\n", t->command);
	stream(out, "standard output", t->out);
	stream(out, "standard error", t->err);
	if (t->cut_bytes > 0)
		sink_printf(out, "--- %" PRIu64 " bytes more are not here\n", t->cut_bytes);
}

static enum ls_rc
render_tool_output(const struct results *results, struct sink *out, struct ls_err *err)
{
	bool any = false;

	(void)err;
	for (size_t p = 0; p < results->phases_count; p++)
		for (size_t n = 0; n < results->phases[p].nodes_count; n++) {
			const struct tool_result *t = results->phases[p].nodes[n].tool;

			if (t == NULL || (t->out == NULL && t->err == NULL))
				continue;
			one(out, &results->phases[p], &results->phases[p].nodes[n]);
			any = true;
		}
	if (!any)
		sink_printf(out, "No external program has printed anything.\n");
	return LS_OK;
}

const struct report_format report_tool_output = {
	.name = "tool-output",
	.extension = "tool-output.txt",
	.help = "what fio, bonnie++ and iozone printed themselves, node by node",
	.whole = true,
	.render = render_tool_output,
};
