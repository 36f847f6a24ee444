#include "coordinator/cli/follow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/mem.h"

static const int interrupts[] = { SIGINT, SIGTERM, SIGHUP };

struct follow {
	struct client *client;
	const struct follow_options *options;
	struct follow_result *out;
	struct live *live;
	struct loop_signal *signals[ARRAY_LEN(interrupts) + 2];

	unsigned interrupted; /* how often Ctrl-C came and is not yet dealt with */
	bool terminate;       /* a signal that is no question */
	bool child_ended;
	bool aborting, finished;  /* finished: lockstepd has no more to say */
	const char *abort_wanted; /* reason, while the run has no id yet */

	struct loop_fd *keys; /* set while the question stands */
	struct termios terminal;
	char key;
};

/* --- callbacks of the loop: only take notes ----------------------------------------------------------------------- */

static void
on_interrupt(void *arg)
{
	struct follow *f = arg;

	f->interrupted++;
	client_wake(f->client);
}

static void
on_terminate(void *arg)
{
	struct follow *f = arg;

	f->terminate = true;
	client_wake(f->client);
}

static void
on_child(void *arg)
{
	struct follow *f = arg;

	f->child_ended = true;
	client_wake(f->client);
}

static void
on_resize(void *arg)
{
	struct follow *f = arg;

	live_redraw(f->live);
}

static void
on_key(void *arg)
{
	struct follow *f = arg;

	if (read(STDIN_FILENO, &f->key, 1) != 1)
		f->key = 'd'; /* nobody there to answer any more */
	client_wake(f->client);
}

/* --- what Ctrl-C does --------------------------------------------------------------------------------------------- */

static void
question_end(struct follow *f)
{
	if (f->keys == NULL)
		return;
	loop_fd_free(f->keys);
	f->keys = NULL;
	tcsetattr(STDIN_FILENO, TCSANOW, &f->terminal);
	live_ask(f->live, NULL);
}

static void
question_begin(struct follow *f)
{
	struct termios raw;

	if (f->keys != NULL || tcgetattr(STDIN_FILENO, &f->terminal) != 0)
		return;
	raw = f->terminal;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	f->key = '\0';
	f->keys = loop_fd_new(client_loop(f->client), STDIN_FILENO, on_key, f);
	live_ask(f->live, "detach and let the run go on, or abort it? [d/a], any other key: go on watching");
}

static enum ls_rc
send_abort(struct follow *f, const char *reason, struct ls_err *err)
{
	struct msg_abort ask;

	if (f->aborting)
		return LS_OK;
	if (f->out->run[0] == '\0') {
		f->abort_wanted = reason;
		return LS_OK;
	}
	f->aborting = true;
	live_say(f->live, "aborting the run");
	msg_body_init(MSG_ABORT, &ask);
	free(ask.run);
	free(ask.reason);
	ask.run = ls_strdup(f->out->run);
	ask.reason = ls_strdup(reason);
	enum ls_rc rc = client_send(f->client, MSG_ABORT, &ask, err);
	msg_body_fini(MSG_ABORT, &ask);
	return rc;
}

static bool
can_ask(const struct follow *f)
{
	return f->options->interrupt == FOLLOW_ASKS && f->options->style == LIVE_TERMINAL && isatty(STDIN_FILENO);
}

static enum ls_rc
on_ctrl_c(struct follow *f, struct ls_err *err)
{
	bool asked = f->keys != NULL;
	unsigned times = f->interrupted;
	const char *reason = f->terminate ? "lockstep run was told to end" : "Ctrl-C in lockstep run";

	f->interrupted = 0;
	if (f->options->interrupt == FOLLOW_DETACHES || (f->aborting && !f->terminate)) {
		f->out->detached = true; /* a third Ctrl-C: do not even wait for the end */
		return LS_OK;
	}
	if (!f->terminate && can_ask(f) && !asked && times == 1) {
		question_begin(f);
		return LS_OK;
	}
	f->terminate = false;
	question_end(f);
	return send_abort(f, reason, err);
}

static enum ls_rc
on_answer(struct follow *f, struct ls_err *err)
{
	char key = f->key;

	f->key = '\0';
	question_end(f);
	if (key == 'd' || key == 'D')
		f->out->detached = true;
	if (key == 'a' || key == 'A')
		return send_abort(f, "asked for in lockstep run", err);
	return LS_OK;
}

static enum ls_rc
on_wake(struct follow *f, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (f->interrupted > 0 || f->terminate)
		rc = on_ctrl_c(f, err);
	if (rc == LS_OK && f->key != '\0')
		rc = on_answer(f, err);
	if (rc == LS_OK && f->child_ended && f->options->child_ended != NULL) {
		f->child_ended = false;
		if (f->options->child_ended(f->options->arg))
			rc = send_abort(f, "a process of this local run has ended early", err);
	}
	return rc;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void
on_event(struct follow *f, struct msg_run_event *event)
{
	struct follow_result *out = f->out;

	snprintf(out->run, sizeof(out->run), "%s", event->run);
	out->state = (enum run_state)event->state;
	out->ended = event->end;
	if (event->text != NULL)
		snprintf(out->text, sizeof(out->text), "%s", event->text);
	/* how it ended is said once, by the command */
	if (!event->end)
		live_event(f->live, event);
}

static enum ls_rc
on_submitted(struct follow *f, const struct msg_submitted *submitted, struct ls_err *err)
{
	char text[160];

	snprintf(f->out->run, sizeof(f->out->run), "%s", submitted->run);
	if (f->abort_wanted != NULL)
		return send_abort(f, f->abort_wanted, err);
	if (submitted->ahead == 0)
		return LS_OK;
	snprintf(text, sizeof(text), "run %s is queued behind %llu other%s", submitted->run,
	    (unsigned long long)submitted->ahead, submitted->ahead == 1 ? "" : "s");
	live_say(f->live, text);
	return LS_OK;
}

static enum ls_rc
on_done(struct follow *f, const struct msg_done *done, struct ls_err *err)
{
	const char *text = done->text != NULL ? done->text : "no reason given";

	f->finished = true;
	if (f->out->ended) /* the last event has said it already */
		return LS_OK;
	if (done->outcome == DONE_REFUSED) {
		snprintf(f->out->text, sizeof(f->out->text), "%s", text);
		f->out->state = RUN_REFUSED;
		f->out->ended = true;
	}
	if (done->outcome == DONE_FAILED)
		return ls_err_set(err, LS_E_STATE, "%s", text);
	return LS_OK;
}

static enum ls_rc
on_message(struct follow *f, struct msg *msg, struct ls_err *err)
{
	if (msg->type == MSG_SUBMITTED)
		return on_submitted(f, msg->body, err);
	if (msg->type == MSG_RUN_EVENT)
		on_event(f, msg->body);
	if (msg->type == MSG_DONE)
		return on_done(f, msg->body, err);
	return LS_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

void
follow_block_signals(bool block)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(interrupts); i++)
		sigaddset(&set, interrupts[i]);
	pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void
watch_signals(struct follow *f)
{
	struct loop *loop = client_loop(f->client);
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(interrupts); i++)
		f->signals[n++] =
		    loop_signal_new(loop, interrupts[i], interrupts[i] == SIGINT ? on_interrupt : on_terminate, f);
	f->signals[n++] = loop_signal_new(loop, SIGWINCH, on_resize, f);
	if (f->options->child_ended != NULL)
		f->signals[n++] = loop_signal_new(loop, SIGCHLD, on_child, f);
	follow_block_signals(false);
}

enum ls_rc
follow_run(struct client *client, const struct follow_options *options, struct follow_result *out, struct ls_err *err)
{
	struct follow f = { .client = client, .options = options, .out = out };
	enum ls_rc rc = LS_OK;

	f.live = live_new(options->style);
	watch_signals(&f);
	if (options->child_ended != NULL) { /* one may have ended before the signal was watched */
		f.child_ended = true;
		client_wake(client);
	}
	while (rc == LS_OK && !f.finished && !out->detached) {
		struct msg msg;
		bool message;

		rc = client_next(client, &msg, &message, err);
		if (rc != LS_OK)
			break;
		if (message) {
			rc = on_message(&f, &msg, err);
			msg_fini(&msg);
		} else {
			rc = on_wake(&f, err);
		}
	}
	question_end(&f);
	live_free(f.live);
	for (size_t i = 0; i < ARRAY_LEN(f.signals); i++)
		if (f.signals[i] != NULL)
			loop_signal_free(f.signals[i]);
	return rc;
}
