#include "agent/daemon/cleaner.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/daemon/runner_link.h"
#include "agent/shm/counters.h"
#include "common/base/mem.h"

struct cleaner {
	struct loop *loop;
	struct runner *runner;
	struct shm_map *map; /* a runner wants one, even if it has no workers */
	struct loop_timer *deadline;
	cleaner_done_fn done;
	void *arg;
	bool over;
};

static void
finish(struct cleaner *c, char *const *left, size_t left_count, const char *failure)
{
	if (c->over)
		return;
	c->over = true;
	loop_timer_cancel(c->deadline);
	c->done(left, left_count, failure, c->arg);
}

static void
on_message(const struct msg *msg, void *arg)
{
	struct cleaner *c = arg;

	if (msg->type == MSG_FINISHED) {
		const struct msg_finished *body = msg->body;
		finish(c, body->left, body->left_count, NULL);
	} else if (msg->type == MSG_REFUSED) {
		const struct msg_refused *body = msg->body;
		finish(c, NULL, 0, body->error.text);
	}
}

static void
on_exit_of_runner(const char *how, void *arg)
{
	char text[1300];
	(void)snprintf(text, sizeof(text), "the runner that should clean up %s", how);
	finish(arg, NULL, 0, text);
}

static void
on_deadline(void *arg)
{
	finish(arg, NULL, 0, "the runner that should clean up did not come to an end in time");
}

static const struct runner_events events = { on_message, on_exit_of_runner };

enum ls_rc
cleaner_start(struct loop *loop, const struct agent_config *config, const struct msg_assign *assign,
    cleaner_done_fn done, void *arg, struct cleaner **out, struct ls_err *err)
{
	struct cleaner *c = ls_calloc(1, sizeof(*c));
	*c = (struct cleaner){ .loop = loop, .done = done, .arg = arg };
	c->deadline = loop_timer_new(loop, on_deadline, c);

	enum ls_rc rc = shm_map_new(1, &c->map, err);
	if (!rc)
		rc = runner_start(loop, config->runner, c->map, &events, c, &c->runner, err);
	if (rc) {
		cleaner_free(c);
		return rc;
	}

	struct msg_assign clean = *assign; /* shallow: only encoded */
	clean.clean_only = true;
	clean.max_workers = 1;
	runner_send(c->runner, MSG_ASSIGN, &clean);
	loop_timer_set(c->deadline, config->finish_timeout);
	*out = c;
	return LS_OK;
}

struct runner *
cleaner_take_runner(struct cleaner *c)
{
	struct runner *runner = c->runner;

	if (runner_pid(runner) == 0)
		return NULL;
	c->runner = NULL;
	return runner;
}

static void
destroy(void *arg)
{
	struct cleaner *c = arg;

	loop_timer_free(c->deadline);
	shm_map_free(c->map);
	free(c);
}

void
cleaner_free(struct cleaner *c)
{
	if (!c)
		return;
	c->over = true;
	loop_timer_cancel(c->deadline);
	if (c->runner)
		runner_abandon(c->runner, NULL, NULL);
	loop_defer(c->loop, destroy, c);
}
