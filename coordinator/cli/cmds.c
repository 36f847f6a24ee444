#include "coordinator/cli/cmd.h"

extern const struct cmd cmd_run, cmd_watch, cmd_abort, cmd_runs, cmd_report, cmd_tag, cmd_note, cmd_rm, cmd_export,
    cmd_import, cmd_compare, cmd_trend, cmd_scale, cmd_nodes, cmd_tools, cmd_check, cmd_clean, cmd_presets, cmd_pki,
    cmd_node;

const struct cmd *const cmds[] = {
	&cmd_run,
	&cmd_watch,
	&cmd_abort,
	&cmd_runs,
	&cmd_report,
	&cmd_tag,
	&cmd_note,
	&cmd_rm,
	&cmd_export,
	&cmd_import,
	&cmd_compare,
	&cmd_trend,
	&cmd_scale,
	&cmd_nodes,
	&cmd_node,
	&cmd_tools,
	&cmd_check,
	&cmd_clean,
	&cmd_presets,
	&cmd_pki,
	NULL,
};
