#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/net/loop.h"
#include "common/net/loop_int.h"

struct offload_job {
	struct offload_job *next;
	loop_fn work, done;
	void *arg;
};

struct offload_queue {
	struct offload_job *first, **last;
};

struct offload {
	struct loop *loop;
	struct loop_fd *watch;
	int wake_fd;    /* eventfd: the thread tells the loop that finished has grown */
	size_t pending; /* submitted, done not yet called; the loop's thread alone */
	pthread_t thread;
	char thread_name[16];
	pthread_mutex_t lock; /* guards all below; nothing is called while it is held */
	pthread_cond_t todo_grown, finished_grown;
	struct offload_queue todo, finished;
	bool quit;
};

static void
queue_push(struct offload_queue *q, struct offload_job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct offload_job *
queue_pop(struct offload_queue *q)
{
	struct offload_job *job = q->first;

	if (job == NULL)
		return NULL;
	q->first = job->next;
	if (q->first == NULL)
		q->last = &q->first;
	return job;
}

/* The next job, or NULL when the thread shall end. */
static struct offload_job *
next_job(struct offload *off)
{
	struct offload_job *job;

	pthread_mutex_lock(&off->lock);
	while ((job = queue_pop(&off->todo)) == NULL && !off->quit)
		pthread_cond_wait(&off->todo_grown, &off->lock);
	pthread_mutex_unlock(&off->lock);
	return job;
}

static void *
offload_thread(void *arg)
{
	struct offload *off = arg;
	const uint64_t one = 1;
	struct offload_job *job;

	pthread_setname_np(pthread_self(), off->thread_name);
	while ((job = next_job(off)) != NULL) {
		job->work(job->arg);
		pthread_mutex_lock(&off->lock);
		queue_push(&off->finished, job);
		pthread_cond_signal(&off->finished_grown);
		pthread_mutex_unlock(&off->lock);
		/* Only a counter at its maximum could refuse this, and then the loop is awake anyway. */
		while (write(off->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	return NULL;
}

static void
finish_jobs(struct offload *off)
{
	struct offload_job *job;

	for (;;) {
		pthread_mutex_lock(&off->lock);
		job = queue_pop(&off->finished);
		pthread_mutex_unlock(&off->lock);
		if (job == NULL)
			return;
		off->pending--;
		if (job->done != NULL)
			job->done(job->arg);
		free(job);
	}
}

static void
on_wake(void *arg)
{
	struct offload *off = arg;
	uint64_t count;

	if (read(off->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
		return;
	finish_jobs(off);
}

enum ls_rc
offload_new(struct loop *loop, const char *thread_name, struct offload **out, struct ls_err *err)
{
	int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (wake_fd < 0)
		return ls_err_sys(err, errno, "eventfd for thread %s", thread_name);

	struct offload *off = ls_calloc(1, sizeof(*off));
	off->loop = loop;
	off->wake_fd = wake_fd;
	snprintf(off->thread_name, sizeof(off->thread_name), "%s", thread_name);
	off->todo.last = &off->todo.first;
	off->finished.last = &off->finished.first;
	pthread_mutex_init(&off->lock, NULL);
	pthread_cond_init(&off->todo_grown, NULL);
	pthread_cond_init(&off->finished_grown, NULL);
	off->watch = loop_fd_new(loop, wake_fd, on_wake, off);

	int errnum = loop_thread_create(&off->thread, offload_thread, off);
	if (errnum == 0) {
		*out = off;
		return LS_OK;
	}
	loop_fd_free(off->watch);
	close(wake_fd);
	free(off);
	return ls_err_sys(err, errnum, "starting thread %s", thread_name);
}

void
offload_submit(struct offload *off, loop_fn work, loop_fn done, void *arg)
{
	struct offload_job *job = ls_calloc(1, sizeof(*job));

	job->work = work;
	job->done = done;
	job->arg = arg;
	off->pending++;
	pthread_mutex_lock(&off->lock);
	queue_push(&off->todo, job);
	pthread_cond_signal(&off->todo_grown);
	pthread_mutex_unlock(&off->lock);
}

size_t
offload_pending(const struct offload *off)
{
	return off->pending;
}

void
offload_free(struct offload *off)
{
	if (off == NULL)
		return;

	/* done functions may submit more: go on until nothing is left */
	while (off->pending > 0) {
		pthread_mutex_lock(&off->lock);
		while (off->finished.first == NULL)
			pthread_cond_wait(&off->finished_grown, &off->lock);
		pthread_mutex_unlock(&off->lock);
		finish_jobs(off);
	}

	pthread_mutex_lock(&off->lock);
	off->quit = true;
	pthread_cond_signal(&off->todo_grown);
	pthread_mutex_unlock(&off->lock);
	pthread_join(off->thread, NULL);

	loop_fd_free(off->watch);
	close(off->wake_fd);
	pthread_cond_destroy(&off->todo_grown);
	pthread_cond_destroy(&off->finished_grown);
	pthread_mutex_destroy(&off->lock);
	free(off);
}
