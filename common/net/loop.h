/*
 * The event loop of a daemon: timers on CLOCK_MONOTONIC, descriptors, signals, deferred work, and one thread beside it for
 * slow work (disk). The one door to event2, together with conn.c, listen.c and http.c. One thread owns a loop; only loop_offload's
 * work function runs elsewhere.
 */
#ifndef LS_COMMON_NET_LOOP_H
#define LS_COMMON_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/err.h"

struct loop;
struct loop_timer;
struct loop_fd;
struct loop_signal;
struct offload;

typedef void (*loop_fn)(void *arg);

/*
 * Precise timers (EVENT_BASE_FLAG_PRECISE_TIMER). SIGPIPE is ignored from here on (children inherit that).
 * Only one loop of a process may watch signals. free: NULL-safe; frees no timer, watch or connection that somebody still owns.
 */
enum ls_rc loop_new(struct loop **out, struct ls_err *err) LS_MUST_CHECK;
void loop_free(struct loop *loop);

/* Runs until loop_stop, which may come before it; the turn is finished and what was deferred is done. */
enum ls_rc loop_run(struct loop *loop, struct ls_err *err) LS_MUST_CHECK;
void loop_stop(struct loop *loop);

/* A timer, not armed. set: once, after delay_ns from now (0: next turn); cancel is harmless when not armed. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn fn, void *arg);
void loop_timer_set(struct loop_timer *timer, int64_t delay_ns);
void loop_timer_set_at(struct loop_timer *timer, struct ls_mono at);
void loop_timer_cancel(struct loop_timer *timer);
bool loop_timer_armed(const struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer);

/* Calls fn whenever fd is readable (level-triggered), until freed. Does not close fd. NULL when it cannot be watched (a file). */
struct loop_fd *loop_fd_new(struct loop *loop, int fd, loop_fn fn, void *arg);
void loop_fd_free(struct loop_fd *fd);

/* Calls fn (in the loop, not in signal context) for each arrival of signum. */
struct loop_signal *loop_signal_new(struct loop *loop, int signum, loop_fn fn, void *arg);
void loop_signal_free(struct loop_signal *sig);

/* Calls fn(arg) once, after the present callback has returned: the way to free what is in use (fn = destroy function). */
void loop_defer(struct loop *loop, loop_fn fn, void *arg);

/*
 * A thread that does slow work in order. submit: work(arg) runs there, then done(arg) in the loop. offload_free waits for
 * all that was submitted, runs their done functions and ends the thread; not to be called from a done function. NULL-safe.
 */
enum ls_rc offload_new(
    struct loop *loop, const char *thread_name, struct offload **out, struct ls_err *err) LS_MUST_CHECK;
void offload_submit(struct offload *off, loop_fn work, loop_fn done, void *arg);
size_t offload_pending(const struct offload *off);
void offload_free(struct offload *off);

/* Name and version of the library that is in use, as it says itself: "libevent 2.1.12-stable". Static text. */
const char *loop_library(void);

/* For conn.c, listen.c and http.c alone. */
struct event_base;
struct event_base *loop_event_base(struct loop *loop);

#endif
