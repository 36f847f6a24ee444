#include "common/net/resolve_int.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/net/loop_int.h"

struct resolve {
	atomic_int refs; /* the thread and the loop hold one each; whoever is last frees */
	int wake_fd;     /* eventfd: the thread has finished */
	char *host;
	char port[8];

	/* written by the thread before it writes to wake_fd, read by the loop after reading from it */
	struct addrinfo *list;
	int gai_error, sys_error;
	atomic_bool finished;

	/* the loop's */
	struct loop_fd *watch;
	resolve_fn fn;
	void *arg;
};

static void
resolve_unref(struct resolve *r)
{
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (r->list != NULL)
		freeaddrinfo(r->list);
	close(r->wake_fd);
	free(r->host);
	free(r);
}

static int
lookup(const char *host, const char *port, int flags, struct addrinfo **out)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | flags,
	};

	return getaddrinfo(host, port, &hints, out);
}

static void *
resolve_thread(void *arg)
{
	struct resolve *r = arg;
	const uint64_t one = 1;

	r->gai_error = lookup(r->host, r->port, 0, &r->list);
	r->sys_error = r->gai_error == EAI_SYSTEM ? errno : 0;
	atomic_store_explicit(&r->finished, true, memory_order_release);
	while (write(r->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	resolve_unref(r);
	return NULL;
}

static enum ls_rc
lookup_error(const char *host, int gai_error, int sys_error, struct ls_err *err)
{
	if (gai_error == EAI_SYSTEM)
		return ls_err_sys(err, sys_error, "looking up host %s", host);
	return ls_err_set(err, LS_E_SYS, "looking up host %s: %s", host, gai_strerror(gai_error));
}

static void
on_resolved(void *arg)
{
	struct resolve *r = arg;
	struct addrinfo *list = NULL;
	struct ls_err err = { .rc = LS_OK };

	if (!atomic_load_explicit(&r->finished, memory_order_acquire))
		return;
	if (r->gai_error != 0)
		lookup_error(r->host, r->gai_error, r->sys_error, &err);
	else {
		list = r->list;
		r->list = NULL;
	}
	resolve_fn fn = r->fn;
	void *fn_arg = r->arg;
	resolve_cancel(r);
	fn(list, &err, fn_arg);
}

enum ls_rc
resolve_numeric(const char *host, uint16_t port, struct addrinfo **out, struct ls_err *err)
{
	char port_text[8];
	struct addrinfo *list = NULL;

	snprintf(port_text, sizeof(port_text), "%u", (unsigned)port);
	int rc = lookup(host, port_text, AI_NUMERICHOST, &list);
	if (rc != 0 && rc != EAI_NONAME)
		return lookup_error(host, rc, errno, err);
	*out = rc == 0 ? list : NULL;
	return LS_OK;
}

enum ls_rc
resolve_now(const char *host, uint16_t port, struct addrinfo **out, struct ls_err *err)
{
	char port_text[8];

	snprintf(port_text, sizeof(port_text), "%u", (unsigned)port);
	int rc = lookup(host, port_text, AI_PASSIVE, out);
	return rc == 0 ? LS_OK : lookup_error(host, rc, errno, err);
}

enum ls_rc
resolve_start(struct loop *loop, const char *host, uint16_t port, resolve_fn fn, void *arg, struct resolve **out,
    struct ls_err *err)
{
	pthread_t thread;
	int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (wake_fd < 0)
		return ls_err_sys(err, errno, "looking up host %s: eventfd", host);

	struct resolve *r = ls_calloc(1, sizeof(*r));
	atomic_init(&r->refs, 2);
	r->wake_fd = wake_fd;
	r->host = ls_strdup(host);
	snprintf(r->port, sizeof(r->port), "%u", (unsigned)port);
	r->fn = fn;
	r->arg = arg;

	int errnum = loop_thread_create(&thread, resolve_thread, r);
	if (errnum != 0) {
		atomic_store(&r->refs, 1);
		resolve_unref(r);
		return ls_err_sys(err, errnum, "looking up host %s: starting a thread", host);
	}
	pthread_detach(thread);
	r->watch = loop_fd_new(loop, wake_fd, on_resolved, r);
	*out = r;
	return LS_OK;
}

void
resolve_cancel(struct resolve *r)
{
	if (r == NULL)
		return;
	loop_fd_free(r->watch);
	resolve_unref(r);
}
