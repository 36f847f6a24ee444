#include "common/net/loop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/net/loop_int.h"

struct deferred {
	struct deferred *next;
	loop_fn fn;
	void *arg;
};

struct loop {
	struct event_base *base;
	bool stop;
	struct deferred *first, **last; /* in order of loop_defer */
	struct loop_orphan *orphans;
};

struct loop_timer {
	struct event *event;
	loop_fn fn;
	void *arg;
};

struct loop_fd {
	struct event *event;
	loop_fn fn;
	void *arg;
};

struct loop_signal {
	struct event *event;
	loop_fn fn;
	void *arg;
};

/* libevent would write to standard error by itself. */
static void
on_libevent_log(int severity, const char *text)
{
	char escaped[512];

	(void)severity;
	ls_log(LS_LOG_DEBUG, "libevent", "text=\"%s\"", ls_log_escape(text, escaped, sizeof(escaped)));
}

enum ls_rc
loop_new(struct loop **out, struct ls_err *err)
{
	event_set_log_callback(on_libevent_log);

	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	/*
	 * Precise: the coarse clock makes a timer up to a tick late. No cached time: a timer that is set at the end of a long
	 * callback would be due too early by the callback's length.
	 */
	if (config != NULL &&
	    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
		base = event_base_new_with_config(config);
	if (config != NULL)
		event_config_free(config);
	if (base == NULL)
		return ls_err_set(err, LS_E_SYS, "the event loop cannot be made");

	signal(SIGPIPE, SIG_IGN);
	struct loop *loop = ls_calloc(1, sizeof(*loop));
	loop->base = base;
	loop->last = &loop->first;
	*out = loop;
	return LS_OK;
}

/* Runs what is deferred now; what these functions defer in turn waits for the next call, so that the loop goes on turning. */
static void
run_deferred(struct loop *loop)
{
	struct deferred *list = loop->first;

	loop->first = NULL;
	loop->last = &loop->first;
	while (list != NULL) {
		struct deferred *d = list;
		list = d->next;
		d->fn(d->arg);
		free(d);
	}
}

void
loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	while (loop->orphans != NULL)
		loop->orphans->end(loop->orphans->arg);
	while (loop->first != NULL)
		run_deferred(loop);
	event_base_free(loop->base);
	free(loop);
}

enum ls_rc
loop_run(struct loop *loop, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	while (!loop->stop) {
		run_deferred(loop);
		if (loop->stop)
			break;
		int flags = EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_ONCE | (loop->first != NULL ? EVLOOP_NONBLOCK : 0);
		if (event_base_loop(loop->base, flags) < 0) {
			rc = ls_err_set(err, LS_E_SYS, "the event loop failed");
			break;
		}
	}
	run_deferred(loop);
	loop->stop = false;
	return rc;
}

void
loop_stop(struct loop *loop)
{
	loop->stop = true;
}

struct event_base *
loop_event_base(struct loop *loop)
{
	return loop->base;
}

/* Events are small allocations: as in mem.h there is nothing sensible left to do without them. */
static struct event *
event_or_die(struct event *event)
{
	if (event != NULL)
		return event;
	ls_log(LS_LOG_ERROR, "out of memory for an event", NULL);
	abort();
}

/* --- timers --- */

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *timer = arg;

	(void)fd;
	(void)what;
	timer->fn(timer->arg);
}

struct loop_timer *
loop_timer_new(struct loop *loop, loop_fn fn, void *arg)
{
	struct loop_timer *timer = ls_calloc(1, sizeof(*timer));

	timer->event = event_or_die(evtimer_new(loop->base, on_timer, timer));
	timer->fn = fn;
	timer->arg = arg;
	return timer;
}

void
loop_timer_set(struct loop_timer *timer, int64_t delay_ns)
{
	int64_t us = delay_ns <= 0 ? 0 : delay_ns / NS_PER_US + (delay_ns % NS_PER_US != 0);
	struct timeval tv = { .tv_sec = us / 1000000, .tv_usec = us % 1000000 };

	if (event_add(timer->event, &tv) != 0)
		event_or_die(NULL);
}

void
loop_timer_set_at(struct loop_timer *timer, struct ls_mono at)
{
	loop_timer_set(timer, at.ns - ls_mono_now().ns);
}

void
loop_timer_cancel(struct loop_timer *timer)
{
	event_del(timer->event);
}

bool
loop_timer_armed(const struct loop_timer *timer)
{
	return event_pending(timer->event, EV_TIMEOUT, NULL) != 0;
}

void
loop_timer_free(struct loop_timer *timer)
{
	if (timer == NULL)
		return;
	event_free(timer->event);
	free(timer);
}

/* --- descriptors --- */

static void
on_fd(evutil_socket_t fd, short what, void *arg)
{
	struct loop_fd *watch = arg;

	(void)fd;
	(void)what;
	watch->fn(watch->arg);
}

struct loop_fd *
loop_fd_new(struct loop *loop, int fd, loop_fn fn, void *arg)
{
	struct loop_fd *watch = ls_calloc(1, sizeof(*watch));

	watch->event = event_or_die(event_new(loop->base, fd, EV_READ | EV_PERSIST, on_fd, watch));
	watch->fn = fn;
	watch->arg = arg;
	if (event_add(watch->event, NULL) != 0) {
		loop_fd_free(watch);
		return NULL;
	}
	return watch;
}

void
loop_fd_free(struct loop_fd *watch)
{
	if (watch == NULL)
		return;
	event_free(watch->event);
	free(watch);
}

/* --- signals --- */

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct loop_signal *sig = arg;

	(void)fd;
	(void)what;
	sig->fn(sig->arg);
}

struct loop_signal *
loop_signal_new(struct loop *loop, int signum, loop_fn fn, void *arg)
{
	struct loop_signal *sig = ls_calloc(1, sizeof(*sig));

	sig->event = event_or_die(evsignal_new(loop->base, signum, on_signal, sig));
	sig->fn = fn;
	sig->arg = arg;
	if (event_add(sig->event, NULL) != 0)
		event_or_die(NULL);
	return sig;
}

void
loop_signal_free(struct loop_signal *sig)
{
	if (sig == NULL)
		return;
	event_free(sig->event);
	free(sig);
}

/* --- deferred work and orphans --- */

void
loop_defer(struct loop *loop, loop_fn fn, void *arg)
{
	struct deferred *d = ls_calloc(1, sizeof(*d));

	d->fn = fn;
	d->arg = arg;
	*loop->last = d;
	loop->last = &d->next;
}

void
loop_orphan_add(struct loop *loop, struct loop_orphan *orphan, loop_fn end, void *arg)
{
	orphan->end = end;
	orphan->arg = arg;
	orphan->next = loop->orphans;
	orphan->link = &loop->orphans;
	if (orphan->next != NULL)
		orphan->next->link = &orphan->next;
	loop->orphans = orphan;
}

void
loop_orphan_remove(struct loop_orphan *orphan)
{
	if (orphan->link == NULL)
		return;
	*orphan->link = orphan->next;
	if (orphan->next != NULL)
		orphan->next->link = orphan->link;
	orphan->link = NULL;
}

int
loop_thread_create(pthread_t *out, void *(*fn)(void *), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int errnum = pthread_create(out, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

const char *
loop_library(void)
{
	static char text[64]; /* the same each time */

	snprintf(text, sizeof(text), "libevent %s", event_get_version());
	return text;
}
