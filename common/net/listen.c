#include "common/net/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/net/addr.h"
#include "common/net/resolve_int.h"
#include "common/net/sockaddr_int.h"

#define ACCEPTS_PER_TURN 16
#define PAUSE_NS         (100 * NS_PER_MS) /* without free descriptors a level-triggered socket would spin */
#define BACKLOG          1024

struct listener {
	struct loop *loop;
	int fd; /* -1: freed, waits for the end of the turn */
	listen_fn fn;
	void *arg;
	struct loop_fd *watch; /* NULL while pausing */
	struct loop_timer *pause;
	char address[SOCKADDR_TEXT_BYTES];
	char *path; /* Unix socket's file, or NULL */
	dev_t dev;  /* the file that we made: it is removed only while it is still ours */
	ino_t ino;
};

static void
pause_accepting(struct listener *l)
{
	loop_fd_free(l->watch);
	l->watch = NULL;
	loop_timer_set(l->pause, PAUSE_NS);
}

static void
on_connection(void *arg)
{
	struct listener *l = arg;

	for (int i = 0; i < ACCEPTS_PER_TURN && l->fd >= 0; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			l->fn(fd, l->arg);
			continue;
		}
		switch (errno) {
		case EAGAIN:
			return;
		case EINTR:
		case ECONNABORTED:
		case EPROTO:
		case EPERM: /* a firewall's rule */
			continue;
		default:
			pause_accepting(l);
			return;
		}
	}
}

static void
resume_accepting(void *arg)
{
	struct listener *l = arg;

	l->watch = loop_fd_new(l->loop, l->fd, on_connection, l);
	if (l->watch == NULL)
		loop_timer_set(l->pause, PAUSE_NS);
}

/* --- Unix sockets --- */

/* Removes a socket file that nobody listens on. Errors: LS_E_EXISTS when somebody does, or when it is no socket. */
static enum ls_rc
remove_stale(const char *path, const struct sockaddr_un *un, struct ls_err *err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? LS_OK : ls_err_sys(err, errno, "Unix socket %s", path);
	if (!S_ISSOCK(st.st_mode))
		return ls_err_set(
		    err, LS_E_EXISTS, "Unix socket %s: there is a file of that name which is not a socket", path);

	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return ls_err_sys(err, errno, "Unix socket %s: looking for a listener", path);
	int refused =
	    connect(probe, (const struct sockaddr *)(const void *)un, sizeof(*un)) != 0 && errno == ECONNREFUSED;
	close(probe);
	if (!refused)
		return ls_err_set(err, LS_E_EXISTS, "Unix socket %s: another program listens there", path);
	if (unlink(path) != 0 && errno != ENOENT)
		return ls_err_sys(err, errno, "Unix socket %s: removing the old one", path);
	return LS_OK;
}

static enum ls_rc
bind_unix(struct listener *l, const struct addr *addr, mode_t mode, struct ls_err *err)
{
	struct sockaddr_un un;
	const struct sockaddr *sa = (const struct sockaddr *)(const void *)&un;
	struct stat st;

	sockaddr_unix(addr, &un);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* The file inherits the descriptor's mode, so that at no time it is open to more than mode says. */
	if (l->fd < 0 || fchmod(l->fd, mode) != 0)
		return ls_err_sys(err, errno, "Unix socket %s", addr->host);

	int rc = bind(l->fd, sa, sizeof(un));
	if (rc != 0 && errno == EADDRINUSE) {
		enum ls_rc stale = remove_stale(addr->host, &un, err);
		if (stale != LS_OK)
			return stale;
		rc = bind(l->fd, sa, sizeof(un));
	}
	if (rc != 0)
		return ls_err_sys(err, errno, "Unix socket %s", addr->host);

	l->path = ls_strdup(addr->host);
	if (lstat(l->path, &st) != 0)
		return ls_err_sys(err, errno, "Unix socket %s", addr->host);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	/* The umask may have taken away what mode grants. */
	if (chmod(l->path, mode) != 0)
		return ls_err_sys(err, errno, "Unix socket %s: setting its mode", addr->host);
	addr_format(addr, l->address, sizeof(l->address));
	return LS_OK;
}

static void
remove_own_file(const struct listener *l)
{
	struct stat st;

	if (l->path != NULL && lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->path);
}

/* --- TCP --- */

/* Returns 0 or an errno; l->fd is then closed again. */
static int
bind_tcp(struct listener *l, const struct sockaddr *sa, socklen_t sa_len)
{
	const int on = 1, off = 0;

	l->fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return errno;
	if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (sa->sa_family != AF_INET6 || setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
	    bind(l->fd, sa, sa_len) == 0)
		return 0;

	int errnum = errno;
	close(l->fd);
	l->fd = -1;
	return errnum;
}

static enum ls_rc
bind_any(struct listener *l, uint16_t port, struct ls_err *err)
{
	const struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT
	};
	const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int errnum = bind_tcp(l, (const struct sockaddr *)(const void *)&in6, sizeof(in6));

	if (errnum == EAFNOSUPPORT || errnum == EADDRNOTAVAIL) /* IPv6 is switched off */
		errnum = bind_tcp(l, (const struct sockaddr *)(const void *)&in, sizeof(in));
	if (errnum != 0)
		return ls_err_sys(err, errnum, "listening on port %u", (unsigned)port);
	return LS_OK;
}

static enum ls_rc
bind_host(struct listener *l, const char *address, const struct addr *addr, struct ls_err *err)
{
	struct addrinfo *list = NULL;
	int errnum = EADDRNOTAVAIL;

	if (resolve_now(addr->host, addr->port, &list, err) != LS_OK)
		return LS_E_SYS;
	for (const struct addrinfo *ai = list; ai != NULL && errnum != 0; ai = ai->ai_next)
		errnum = bind_tcp(l, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(list);
	if (errnum != 0)
		return ls_err_sys(err, errnum, "listening on %s", address);
	return LS_OK;
}

static enum ls_rc
bind_address(struct listener *l, const char *address, const struct addr *addr, mode_t unix_mode, struct ls_err *err)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t ss_len = sizeof(ss);
	enum ls_rc rc;

	if (addr->is_unix)
		return bind_unix(l, addr, unix_mode, err);
	if (addr->host[0] == '\0')
		rc = bind_any(l, addr->port, err);
	else
		rc = bind_host(l, address, addr, err);
	if (rc != LS_OK)
		return rc;
	if (getsockname(l->fd, (struct sockaddr *)&ss, &ss_len) != 0)
		return ls_err_sys(err, errno, "listening on %s", address);
	sockaddr_format((const struct sockaddr *)&ss, ss_len, l->address, sizeof(l->address));
	return LS_OK;
}

/* --- the listener --- */

static void
listener_release(void *arg)
{
	struct listener *l = arg;

	free(l->path);
	free(l);
}

enum ls_rc
listen_socket(const char *address, int backlog, char *text, size_t len, int *fd, struct ls_err *err)
{
	struct listener l = { .fd = -1 };
	struct addr addr;
	enum ls_rc rc = addr_parse(address, LOCKSTEP_PORT, &addr, err);

	if (rc == LS_OK && addr.is_unix)
		rc = ls_err_set(err, LS_E_INVALID, "listening on %s: a TCP address is needed", address);
	if (rc == LS_OK)
		rc = bind_address(&l, address, &addr, 0, err);
	if (rc == LS_OK && listen(l.fd, backlog) != 0)
		rc = ls_err_sys(err, errno, "listening on %s", address);
	if (rc != LS_OK) {
		if (l.fd >= 0)
			close(l.fd);
		return rc;
	}
	snprintf(text, len, "%s", l.address);
	*fd = l.fd;
	return LS_OK;
}

enum ls_rc
listener_new(struct loop *loop, const char *address, mode_t unix_mode, listen_fn fn, void *arg, struct listener **out,
    struct ls_err *err)
{
	struct addr addr;
	enum ls_rc rc = addr_parse(address, LOCKSTEP_PORT, &addr, err);

	if (rc != LS_OK)
		return rc;

	struct listener *l = ls_calloc(1, sizeof(*l));
	l->loop = loop;
	l->fd = -1;
	l->fn = fn;
	l->arg = arg;
	rc = bind_address(l, address, &addr, unix_mode, err);
	if (rc == LS_OK && listen(l->fd, BACKLOG) != 0)
		rc = ls_err_sys(err, errno, "listening on %s", address);
	if (rc != LS_OK) {
		listener_free(l);
		return rc;
	}
	l->pause = loop_timer_new(loop, resume_accepting, l);
	resume_accepting(l);
	*out = l;
	return LS_OK;
}

void
listener_free(struct listener *l)
{
	if (l == NULL)
		return;
	loop_fd_free(l->watch);
	loop_timer_free(l->pause);
	remove_own_file(l);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	loop_defer(l->loop, listener_release, l);
}

const char *
listener_address(const struct listener *l)
{
	return l->address;
}
