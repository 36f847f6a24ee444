#include "agent/daemon/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "agent/daemon/allow.h"
#include "agent/daemon/cleaner.h"
#include "common/base/log.h"
#include "common/base/mem.h"

/* Between two tries of what could not be removed: its volume may be mounted meanwhile, or be writable again. */
#define AGAIN_NS (10 * NS_PER_S)

struct waiting {
	struct waiting *next;
	char *run;
	bool held;  /* a runner of it hangs */
	bool later; /* something was left */
	bool told;  /* that was logged */
};

struct sweep {
	struct loop *loop;
	const struct agent_config *config;
	struct assignments *assignments;
	struct hung *hung;
	struct waiting *queue;
	struct waiting *present;  /* the one that the cleaner is for */
	struct cleaner *cleaner;  /* NULL: idle */
	struct loop_timer *next;  /* begins the next outside of any callback */
	struct loop_timer *again; /* ends "later" */
};

static struct waiting *
find(const struct sweep *sweep, const char *run)
{
	for (struct waiting *w = sweep->queue; w; w = w->next)
		if (strcmp(w->run, run) == 0)
			return w;
	return NULL;
}

/* The present one is done with; the next one's turn. */
static void
drop_present(struct sweep *sweep)
{
	struct waiting **at = &sweep->queue, *gone = sweep->present;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	free(gone->run);
	free(gone);
	sweep->present = NULL;
	loop_timer_set(sweep->next, 0);
}

static void
on_hung_gone(const char *run, void *arg)
{
	sweep_add(arg, run);
}

static void
on_again(void *arg)
{
	struct sweep *sweep = arg;

	for (struct waiting *w = sweep->queue; w; w = w->next)
		w->later = false;
	loop_timer_set(sweep->next, 0);
}

/* The present one keeps its place and its assignment: at a boot the agent can be there before the volume is. */
static void
put_off(struct sweep *sweep, const char *why)
{
	struct waiting *w = sweep->present;

	if (!w->told)
		ls_log(LS_LOG_WARN, "files of an earlier run are left; tried again every 10 s", "run=%s why=\"%s\"",
		    w->run, why);
	w->told = w->later = true;
	sweep->present = NULL;
	loop_timer_set(sweep->again, AGAIN_NS);
	loop_timer_set(sweep->next, 0);
}

static void
on_cleaned(char *const *left, size_t left_count, const char *failure, void *arg)
{
	struct sweep *sweep = arg;
	const char *run = sweep->present->run;
	struct runner *stuck = failure ? cleaner_take_runner(sweep->cleaner) : NULL;

	cleaner_free(sweep->cleaner);
	sweep->cleaner = NULL;
	if (stuck) {
		sweep->present = NULL; /* keeps its place, held */
		sweep_abandon(sweep, stuck, run, NULL);
		loop_timer_set(sweep->next, 0);
		return;
	}
	if (failure || left_count > 0) {
		put_off(sweep, failure ? failure : left[0]);
		return;
	}
	ls_log(LS_LOG_INFO, "cleaned up after an earlier run", "run=%s", run);
	assignments_remove(sweep->assignments, run);
	drop_present(sweep);
}

static enum ls_rc
start_present(struct sweep *sweep, struct ls_err *err)
{
	struct msg msg = { 0 };
	enum ls_rc rc = assignments_read(sweep->assignments, sweep->present->run, &msg, err);
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

	if (sweep->present)
		return;
	sweep->present = sweep->queue;
	while (sweep->present && (sweep->present->held || sweep->present->later))
		sweep->present = sweep->present->next;
	if (!sweep->present || !start_present(sweep, &err))
		return;
	ls_log(
	    LS_LOG_WARN, "an earlier run cannot be cleaned up", "run=%s error=\"%s\"", sweep->present->run, err.text);
	drop_present(sweep);
}

struct sweep *
sweep_new(struct loop *loop, const struct agent_config *config, struct assignments *assignments, struct hung *hung)
{
	struct sweep *sweep = ls_calloc(1, sizeof(*sweep));
	*sweep = (struct sweep){ .loop = loop, .config = config, .assignments = assignments, .hung = hung };
	sweep->next = loop_timer_new(loop, on_next, sweep);
	sweep->again = loop_timer_new(loop, on_again, sweep);
	return sweep;
}

void
sweep_free(struct sweep *sweep)
{
	if (!sweep)
		return;
	loop_timer_free(sweep->next);
	loop_timer_free(sweep->again);
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
	return find(sweep, run) != NULL;
}

static struct waiting *
find_or_append(struct sweep *sweep, const char *run)
{
	struct waiting *w = find(sweep, run), **at = &sweep->queue;
	if (w)
		return w;

	while (*at)
		at = &(*at)->next;
	w = ls_calloc(1, sizeof(*w));
	w->run = ls_strdup(run);
	*at = w;
	return w;
}

void
sweep_add(struct sweep *sweep, const char *run)
{
	find_or_append(sweep, run)->held = false;
	loop_timer_set(sweep->next, 0);
}

void
sweep_abandon(struct sweep *sweep, struct runner *runner, const char *run, const struct stall *stall)
{
	find_or_append(sweep, run)->held = true;
	hung_take(sweep->hung, runner, run, stall, on_hung_gone, sweep);
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
