#include "coordinator/daemon/run_tools.h"

#include <stdio.h>
#include <string.h>

#include "common/base/sink.h"

bool
run_wants_tool(const struct job *job, enum tool_kind tool)
{
	for (size_t i = 0; i < job->phases_count; i++)
		if (tool_of((enum phase_kind)job->phases[i].kind) == tool)
			return true;
	return false;
}

enum ls_rc
run_tool_of(const char *node, const struct node_facts *facts, enum tool_kind tool, const struct tool_facts **out,
    struct ls_err *err)
{
	const struct tool_info *info = tool_info(tool);

	for (size_t i = 0; i < facts->tools_count; i++) {
		const struct tool_facts *t = &facts->tools[i];

		if (strcmp(t->name, info->name) != 0)
			continue;
		if (t->problem != NULL && t->problem[0] != '\0')
			return ls_err_set(err, LS_E_REFUSED, "node %s: %s: %s", node,
			    t->path != NULL ? t->path : t->name, t->problem);
		*out = t;
		return LS_OK;
	}
	return ls_err_set(err, LS_E_REFUSED,
	    "node %s may not run %s: its agent.conf names none (%s = /path/to/%s); lockstep tools shows who has what",
	    node, info->name, info->key, info->name);
}

/* The steps that the job has and that both versions measure alike. */
static size_t
comparable(const struct job *job, enum tool_kind tool, const char *a, const char *b, struct sink *names)
{
	size_t n = 0;

	for (size_t i = 0; i < job->phases_count; i++) {
		struct tool_step step;

		if (tool_of((enum phase_kind)job->phases[i].kind) != tool || !tool_step_of(&job->phases[i], &step) ||
		    tool_versions_differ(tool, &step, a, b) != NULL)
			continue;
		sink_printf(names, "%s%s", n++ > 0 ? ", " : "", step.title != NULL ? step.title : "all");
	}
	return n;
}

enum ls_rc
run_tool_versions(const struct job *job, enum tool_kind tool, const char *first_node, const char *first,
    const char *node, const char *version, struct ls_err *err)
{
	struct sink names = { 0 };

	if (first != NULL && version != NULL && strcmp(first, version) == 0)
		return LS_OK;

	size_t n = comparable(job, tool, first, version, &names);

	(void)ls_err_set(err, LS_E_REFUSED,
	    "%s is %s on node %s and %s on node %s; comparable in %s (allow_mixed_tools runs it all the same)",
	    tool_names[tool], first != NULL ? first : "of unknown version", first_node,
	    version != NULL ? version : "of unknown version", node, n > 0 ? names.text : "no phase");
	sink_free(&names);
	return LS_E_REFUSED;
}
