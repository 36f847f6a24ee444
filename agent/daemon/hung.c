#include "agent/daemon/hung.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"

#define HUNG_TOLD_MAX 16 /* in one message; more of them do not make it clearer */

struct entry {
	struct entry *next;
	struct hung *hung; /* NULL: nobody asks any more */
	char *run;
	char *call, *file; /* of a worker that stood still, or NULL */
	pid_t pid;
	struct ls_mono since;
	bool told;
	struct loop_timer *timer; /* until it counts as hanging */
	hung_gone_fn gone;
	void *arg;
};

struct hung {
	struct loop *loop;
	struct entry *first;
	hung_changed_fn changed;
	void *arg;
};

struct hung *
hung_new(struct loop *loop, hung_changed_fn changed, void *arg)
{
	struct hung *hung = ls_calloc(1, sizeof(*hung));

	*hung = (struct hung){ .loop = loop, .changed = changed, .arg = arg };
	return hung;
}

static void
entry_free(void *arg)
{
	struct entry *e = arg;

	loop_timer_free(e->timer);
	free(e->run);
	free(e->call);
	free(e->file);
	free(e);
}

/* Its runner may call back as long as the loop runs: an entry outlives the list. */
void
hung_free(struct hung *hung)
{
	if (!hung)
		return;
	for (struct entry *e = hung->first; e; e = e->next) {
		loop_timer_cancel(e->timer);
		e->hung = NULL;
	}
	free(hung);
}

static void
take_out(struct hung *hung, const struct entry *e)
{
	struct entry **at = &hung->first;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
}

static void
on_late(void *arg)
{
	struct entry *e = arg;

	e->told = true;
	ls_log(LS_LOG_WARN, "a runner hangs in the kernel and cannot be killed", "run=%s pid=%d call=%s file=%s",
	    e->run, (int)e->pid, e->call ? e->call : "-", e->file ? e->file : "-");
	e->hung->changed(e->hung->arg);
}

static void
on_gone(void *arg)
{
	struct entry *e = arg;
	struct hung *hung = e->hung;

	if (hung) {
		take_out(hung, e);
		if (e->told)
			ls_log(LS_LOG_INFO, "a runner that hung is gone at last", "run=%s pid=%d", e->run, (int)e->pid);
		if (e->gone)
			e->gone(e->run, e->arg);
		if (e->told)
			hung->changed(hung->arg);
		loop_defer(hung->loop, entry_free, e);
		return;
	}
	entry_free(e);
}

void
hung_take(
    struct hung *hung, struct runner *runner, const char *run, const struct stall *stall, hung_gone_fn gone, void *arg)
{
	struct entry *e = ls_calloc(1, sizeof(*e));

	*e =
	    (struct entry){ .hung = hung, .pid = runner_pid(runner), .since = ls_mono_now(), .gone = gone, .arg = arg };
	e->run = ls_strdup(run);
	e->call = stall ? ls_strdup(stall->call) : NULL;
	e->file = stall ? ls_strdup(stall->file) : NULL;
	e->timer = loop_timer_new(hung->loop, on_late, e);
	e->next = hung->first;
	hung->first = e;
	loop_timer_set(e->timer, HUNG_AFTER_NS);
	runner_abandon(runner, on_gone, e);
}

struct msg_hung
hung_message(const struct hung *hung)
{
	struct msg_hung m = { 0 };
	int64_t now = ls_mono_now().ns;

	for (const struct entry *e = hung->first; e && m.runners_count < HUNG_TOLD_MAX; e = e->next) {
		if (!e->told)
			continue;
		m.runners = ls_grow(m.runners, m.runners_count, sizeof(*m.runners));
		m.runners[m.runners_count++] = (struct hung_runner){
			.run = e->run,
			.pid = (uint64_t)e->pid,
			.since_ns = LS_MAX(now - e->since.ns, 0),
			.call = e->call,
			.file = e->file,
		};
	}
	return m;
}
