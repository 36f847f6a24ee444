#include "agent/runner/runner.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/runner/runner_int.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

/*
 * Time for the workers to leave when the agent is gone: a slow call or flush may still end, and then the files go, too. After it we
 * leave them to a restarted agent; what hangs in the kernel for good keeps the process all the same.
 */
#define QUIT_PATIENCE_NS (30 * NS_PER_S)

/* A stop that comes before the engine has numbered the epoch that it arms is lost: said again until it has come back. */
#define STOP_AGAIN_NS (20 * NS_PER_MS)

enum poll_slot { POLL_LINK = 0, POLL_SIGNAL, POLL_TASK, POLL_ENGINE, POLL_COUNT };

static enum ls_rc
open_signals(int *out_fd, struct ls_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);

	int errnum = pthread_sigmask(SIG_BLOCK, &set, NULL);

	if (errnum != 0)
		return ls_err_sys(err, errnum, "pthread_sigmask");
	*out_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *out_fd < 0 ? ls_err_sys(err, errno, "signalfd") : LS_OK;
}

enum ls_rc
runner_new(int link_fd, int map_fd, struct runner **out, struct ls_err *err)
{
	struct runner *r = ls_calloc(1, sizeof(*r));

	r->signal_fd = -1;
	r->link = link_new(link_fd);
	field_struct_init(&volume_facts_desc, &r->volume);
	field_struct_init(&io_error_desc, &r->refusal);
	for (size_t i = 0; i < LOCKTEST_KINDS; i++)
		r->lock_fds[i] = -1;

	enum ls_rc rc = shm_map_open(map_fd, &r->map, err);

	if (rc == LS_OK)
		rc = open_signals(&r->signal_fd, err);
	if (rc == LS_OK)
		rc = task_new(&r->task, err);
	if (rc != LS_OK) {
		runner_free(r);
		return rc;
	}
	*out = r;
	return LS_OK;
}

void
runner_free(struct runner *r)
{
	if (r == NULL)
		return;
	engine_free(r->engine);
	ext_free(r->ext);
	spacewatch_free(r->space);
	verify_free(r->verify);
	runner_drop_locks(r);
	rundir_free(r->rundir);
	rundir_left_free(&r->left, &r->left_count);
	field_struct_fini(&io_error_desc, &r->call.error);
	field_struct_fini(&io_error_desc, &r->refusal);
	field_struct_fini(&volume_facts_desc, &r->volume);
	if (r->host != NULL)
		field_struct_fini(&host_facts_desc, r->host);
	free(r->host);
	field_struct_fini(&epoch_desc, &r->void_epoch);
	msg_fini(&r->arm);
	msg_fini(&r->assign);
	free(r->node_workers);
	free(r->fsynced);
	task_free(r->task);
	shm_map_free(r->map);
	link_free(r->link);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	free(r);
}

const char *
runner_run_id(const struct runner *r)
{
	const struct msg_assign *assign = r->assign.body;

	return assign != NULL ? assign->run : "";
}

bool
runner_event(struct runner *r, enum runner_event event)
{
	const struct fsm_edge *edge = fsm_find(&runner_lifecycle, (int)r->state, (int)event);

	if (edge == NULL)
		return false;
	ls_log(LS_LOG_DEBUG, "runner state", "from=%s to=%s event=\"%s\"", runner_lifecycle.state_names[edge->from],
	    runner_lifecycle.state_names[edge->to], runner_lifecycle.event_names[event]);
	r->state = (enum runner_state)edge->to;
	runner_act(r, (enum runner_action)edge->action);
	return true;
}

void
runner_stop(struct runner *r, enum runner_pending pending)
{
	if (pending == PENDING_QUIT && (r->pending & PENDING_QUIT) == 0)
		r->quit_by_ns = ls_mono_now().ns + QUIT_PATIENCE_NS;
	r->pending |= (unsigned)pending;
	(void)runner_event(r, RUNNER_EV_STOP);
}

void
runner_send(struct runner *r, enum msg_type type, const void *body)
{
	char text[256];
	struct ls_err err = { 0 };

	if (r->link_closed || link_send(r->link, type, body, &err) == LS_OK)
		return;
	if ((r->pending & PENDING_QUIT) == 0)
		ls_log(LS_LOG_WARN, "cannot send to the agent", "message=%s error=\"%s\"", msg_info(type)->name,
		    ls_log_escape(err.text, text, sizeof(text)));
	/* The loop finds out and stops everything; here the caller is in the middle of an action. */
	r->link_closed = true;
}

void
runner_protocol_error(struct runner *r, const char *text)
{
	char shown[256];
	char *copy = ls_strdup(text);
	struct msg_error body = { .text = copy };

	ls_log(LS_LOG_ERROR, "the agent broke the protocol", "error=\"%s\"", ls_log_escape(text, shown, sizeof(shown)));
	runner_send(r, MSG_ERROR, &body);
	free(copy);
	r->status = 1;
	r->link_closed = true;
}

static void
read_messages(struct runner *r)
{
	while (!r->link_closed && !r->ended) {
		struct msg msg = { 0 };
		struct ls_err err = { 0 };

		switch (link_next(r->link, &msg, &err)) {
		case LINK_NOTHING:
			return;
		case LINK_CLOSED:
			r->link_closed = true;
			break;
		case LINK_BAD:
			runner_protocol_error(r, err.text);
			break;
		case LINK_MESSAGE:
			runner_dispatch(r, &msg);
			msg_fini(&msg);
			break;
		}
	}
}

static void
read_signals(struct runner *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		runner_stop(r, PENDING_QUIT);
}

static void
task_returned(struct runner *r)
{
	if (!task_ended(r->task))
		return;
	if (r->state == RUNNER_FLUSHING)
		(void)runner_event(r, RUNNER_EV_FLUSHED);
	else if (r->state == RUNNER_EMPTYING || r->state == RUNNER_UNEMPTYING)
		runner_emptying_returned(r);
	else if (r->call.rc == LS_OK && runner_wants_empty(r))
		(void)runner_event(r, RUNNER_EV_FULL);
	else
		(void)runner_event(r, r->call.rc == LS_OK ? RUNNER_EV_ARMED : RUNNER_EV_ARM_FAILED);
}

/*
 * May the engine say that all have left? A node without workers waits for the instant as well, so that a void attempt finds it
 * where it was.
 */
static bool
engine_counts(const struct runner *r)
{
	if (r->state == RUNNER_STOPPING)
		return !r->idle;
	return r->state == RUNNER_SET && (!r->idle || ls_mono_now().ns >= r->start_ns);
}

static bool
was_stopped(const struct runner *r)
{
	return engine_stopped(r->engine, r->call.engine_epoch);
}

static void
workers_left(struct runner *r)
{
	if (!engine_counts(r) || !engine_left(r->engine, &r->decision))
		return;
	switch (r->decision) {
	case SHM_STARTED:
		(void)runner_event(r, was_stopped(r) ? RUNNER_EV_CUT : RUNNER_EV_STARTED);
		break;
	case SHM_MISSED_COMMIT:
	case SHM_MISSED_LATE:
		(void)runner_event(r, RUNNER_EV_MISSED);
		break;
	case SHM_UNDECIDED:
		(void)runner_event(r, RUNNER_EV_UNSTARTED);
		break;
	}
}

static void
look_for_tokens(struct runner *r)
{
	if (r->state == RUNNER_VERIFYING && verify_look(r->verify, r->rundir, ls_mono_now().ns))
		(void)runner_event(r, RUNNER_EV_VERIFIED);
}

/* Milliseconds until something is due without a descriptor saying so; -1: nothing is. */
static int
poll_timeout(const struct runner *r)
{
	int64_t now_ns = ls_mono_now().ns;
	int64_t due_ns = INT64_MAX;

	if (r->state == RUNNER_VERIFYING)
		due_ns = now_ns + VERIFY_RETRY_NS;
	if (r->state == RUNNER_UNARMING)
		due_ns = now_ns + STOP_AGAIN_NS;
	if (r->state == RUNNER_SET && r->idle)
		due_ns = LS_MIN(due_ns, r->start_ns);
	if ((r->pending & PENDING_QUIT) != 0)
		due_ns = LS_MIN(due_ns, r->quit_by_ns);
	if (due_ns == INT64_MAX)
		return -1;

	int64_t left_ms = due_ns > now_ns ? (due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;

	return (int)LS_MIN(left_ms, 60000);
}

/* One turn; false when poll itself fails. */
static bool
turn(struct runner *r)
{
	bool engine = r->engine != NULL && engine_counts(r);
	struct pollfd fds[POLL_COUNT] = {
		[POLL_LINK] = { .fd = r->link_closed ? -1 : link_fd(r->link), .events = POLLIN },
		[POLL_SIGNAL] = { .fd = r->signal_fd, .events = POLLIN },
		[POLL_TASK] = { .fd = task_event_fd(r->task), .events = POLLIN },
		[POLL_ENGINE] = { .fd = engine ? engine_event_fd(r->engine) : -1, .events = POLLIN },
	};

	if (poll(fds, POLL_COUNT, poll_timeout(r)) < 0 && errno != EINTR)
		return false;
	if (fds[POLL_SIGNAL].revents != 0)
		read_signals(r);
	if (fds[POLL_LINK].revents != 0)
		read_messages(r);
	if (fds[POLL_TASK].revents != 0)
		task_returned(r);
	if (r->state == RUNNER_UNARMING)
		engine_stop(r->engine);
	if (r->engine != NULL)
		workers_left(r);
	look_for_tokens(r);
	return true;
}

int
runner_run(struct runner *r)
{
	while (!r->ended) {
		if (!turn(r))
			return 1;
		if (r->link_closed && (r->pending & PENDING_QUIT) == 0 && !r->ended)
			runner_stop(r, PENDING_QUIT);
		if (!r->ended && (r->pending & PENDING_QUIT) != 0 && ls_mono_now().ns >= r->quit_by_ns) {
			/* Threads hang in the kernel or in a slow call: whatever is freed now they may still use. */
			ls_log(LS_LOG_ERROR, "workers do not leave: files stay for the agent to remove",
			    "run=%s state=%s", runner_run_id(r), runner_lifecycle.state_names[r->state]);
			_exit(1);
		}
	}
	return r->status;
}
