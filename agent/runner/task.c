#include "agent/runner/task.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/mem.h"

struct task {
	int event_fd;
	bool running;
	pthread_t thread;
	void (*call)(void *arg);
	void *arg;
};

enum ls_rc
task_new(struct task **out, struct ls_err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return ls_err_sys(err, errno, "eventfd");
	*out = ls_calloc(1, sizeof(**out));
	(*out)->event_fd = fd;
	return LS_OK;
}

void
task_free(struct task *task)
{
	if (task == NULL)
		return;
	close(task->event_fd);
	free(task);
}

int
task_event_fd(const struct task *task)
{
	return task->event_fd;
}

static void *
task_main(void *arg)
{
	struct task *task = arg;
	uint64_t one = 1;

	task->call(task->arg);
	while (write(task->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	return NULL;
}

enum ls_rc
task_start(struct task *task, void (*call)(void *arg), void *arg, struct ls_err *err)
{
	task->call = call;
	task->arg = arg;

	int errnum = pthread_create(&task->thread, NULL, task_main, task);

	if (errnum != 0)
		return ls_err_sys(err, errnum, "pthread_create");
	task->running = true;
	return LS_OK;
}

bool
task_ended(struct task *task)
{
	uint64_t count;

	if (!task->running || read(task->event_fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return false;
	pthread_join(task->thread, NULL); /* establishes that what the call wrote is seen here */
	task->running = false;
	return true;
}
