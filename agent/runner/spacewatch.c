#include "agent/runner/spacewatch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/base/mem.h"

#define LOOK_MS 1000

struct spacewatch {
	int dir_fd;
	int stop_fd; /* an eventfd: readable once it is to stop */
	struct shm_control *control;
	bool running;
	pthread_t thread;
};

static void
look(const struct spacewatch *w)
{
	struct statfs st;
	uint64_t bytes = 0;

	if (fstatfs(w->dir_fd, &st) != 0 || __builtin_mul_overflow(st.f_bavail, (uint64_t)st.f_bsize, &bytes) ||
	    bytes >= INT64_MAX)
		return;
	atomic_store_explicit(&w->control->free_plus_one, bytes + 1, memory_order_relaxed);
}

static void *
watch_main(void *arg)
{
	const struct spacewatch *w = arg;
	struct pollfd stop = { .fd = w->stop_fd, .events = POLLIN };

	do
		look(w);
	while (poll(&stop, 1, LOOK_MS) <= 0);
	return NULL;
}

enum ls_rc
spacewatch_new(int dir_fd, struct shm_control *control, struct spacewatch **out, struct ls_err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return ls_err_sys(err, errno, "eventfd");
	*out = ls_calloc(1, sizeof(**out));
	**out = (struct spacewatch){ .dir_fd = dir_fd, .stop_fd = fd, .control = control };
	return LS_OK;
}

void
spacewatch_start(struct spacewatch *w)
{
	if (!w->running)
		w->running = pthread_create(&w->thread, NULL, watch_main, w) == 0;
}

void
spacewatch_stop(struct spacewatch *w)
{
	uint64_t one = 1;

	if (!w->running)
		return;
	(void)!write(w->stop_fd, &one, sizeof(one));
	pthread_join(w->thread, NULL);
	(void)!read(w->stop_fd, &one, sizeof(one));
	w->running = false;
}

void
spacewatch_free(struct spacewatch *w)
{
	if (w == NULL)
		return;
	spacewatch_stop(w);
	close(w->stop_fd);
	free(w);
}
