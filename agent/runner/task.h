/*
 * One blocking call at a time on a thread of its own, so that the main thread still hears the agent while the volume
 * makes it wait. The caller leaves alone what the call uses until the task has ended.
 */
#ifndef LS_AGENT_RUNNER_TASK_H
#define LS_AGENT_RUNNER_TASK_H

#include <stdbool.h>

#include "common/base/err.h"

struct task;

/* One that has nothing to do yet. Errors: LS_E_SYS. */
enum ls_rc task_new(struct task **out, struct ls_err *err) LS_MUST_CHECK;

/* No task may be running. NULL-safe. */
void task_free(struct task *task);

/* An eventfd, readable when the call has returned. Borrowed. */
int task_event_fd(const struct task *task);

/* Runs call(arg) on another thread. None may be running. Errors: LS_E_SYS. */
enum ls_rc task_start(struct task *task, void (*call)(void *arg), void *arg, struct ls_err *err) LS_MUST_CHECK;

/* Has the call returned? Consumes the event; what the call wrote can be read then. */
bool task_ended(struct task *task);

#endif
