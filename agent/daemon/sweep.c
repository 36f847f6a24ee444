#include "agent/daemon/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "agent/daemon/allow.h"
#include "agent/daemon/cleaner.h"
#include "common/base/log.h"
#include "common/base/mem.h"

struct waiting {
	struct waiting *next;
	char *run;
};

struct sweep {
	struct loop *loop;
	const struct agent_config *config;
	struct assignments *assignments;
	struct waiting *queue;   /* the first is the present one, if there is a cleaner */
	struct cleaner *cleaner; /* NULL: idle */
	struct loop_timer *next; /* begins the next outside of any callback */
};

static void
drop_first(struct sweep *sweep)
{
	struct waiting *first = sweep->queue;

	sweep->queue = first->next;
	free(first->run);
	free(first);
	if (sweep->queue)
		loop_timer_set(sweep->next, 0);
}

static void
on_cleaned(char *const *left, size_t left_count, const char *failure, void *arg)
{
	struct sweep *sweep = arg;
	const char *run = sweep->queue->run;

	cleaner_free(sweep->cleaner);
	sweep->cleaner = NULL;
	if (failure) {
		ls_log(LS_LOG_WARN, "files of an earlier run are left; tried again at the agent's next start",
		    "run=%s error=\"%s\"", run, failure);
	} else {
		ls_log(left_count > 0 ? LS_LOG_WARN : LS_LOG_INFO, "cleaned up after an earlier run",
		    "run=%s left=%zu first_left=%s", run, left_count, left_count > 0 ? left[0] : "-");
		assignments_remove(sweep->assignments, run);
	}
	drop_first(sweep);
}

static enum ls_rc
start_first(struct sweep *sweep, struct ls_err *err)
{
	struct msg msg = { 0 };
	enum ls_rc rc = assignments_read(sweep->assignments, sweep->queue->run, &msg, err);
	if (rc)
		return rc;

	const struct msg_assign *assign = msg.body;
	rc = allow_check(sweep->config->allow, sweep->config->allow_count, assign->job.path, err);
	if (!rc)
		rc = cleaner_start(sweep->loop, sweep->config, assign, on_cleaned, sweep, &sweep->cleaner, err);
	msg_fini(&msg);
	return rc;
}

static void
on_next(void *arg)
{
	struct sweep *sweep = arg;
	struct ls_err err;

	if (sweep->cleaner || !sweep->queue || !start_first(sweep, &err))
		return;
	ls_log(LS_LOG_WARN, "an earlier run cannot be cleaned up", "run=%s error=\"%s\"", sweep->queue->run, err.text);
	drop_first(sweep);
}

struct sweep *
sweep_new(struct loop *loop, const struct agent_config *config, struct assignments *assignments)
{
	struct sweep *sweep = ls_calloc(1, sizeof(*sweep));
	*sweep = (struct sweep){ .loop = loop, .config = config, .assignments = assignments };
	sweep->next = loop_timer_new(loop, on_next, sweep);
	return sweep;
}

void
sweep_free(struct sweep *sweep)
{
	if (!sweep)
		return;
	loop_timer_free(sweep->next);
	cleaner_free(sweep->cleaner);
	while (sweep->queue) {
		struct waiting *first = sweep->queue;
		sweep->queue = first->next;
		free(first->run);
		free(first);
	}
	free(sweep);
}

bool
sweep_has(const struct sweep *sweep, const char *run)
{
	for (const struct waiting *w = sweep->queue; w; w = w->next)
		if (strcmp(w->run, run) == 0)
			return true;
	return false;
}

void
sweep_add(struct sweep *sweep, const char *run)
{
	if (sweep_has(sweep, run))
		return;

	struct waiting *w = ls_calloc(1, sizeof(*w)), **at = &sweep->queue;
	w->run = ls_strdup(run);
	while (*at)
		at = &(*at)->next;
	*at = w;
	if (!sweep->cleaner)
		loop_timer_set(sweep->next, 0);
}

void
sweep_add_all(struct sweep *sweep)
{
	char **runs;
	size_t count;
	struct ls_err err;

	if (assignments_list(sweep->assignments, &runs, &count, &err)) {
		ls_log(LS_LOG_WARN, "assignments of an earlier agent cannot be read", "error=\"%s\"", err.text);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sweep_add(sweep, runs[i]);
		free(runs[i]);
	}
	free(runs);
}
