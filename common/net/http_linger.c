#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/net/http.h"
#include "common/net/http_linger_int.h"

#define LINGERING_MAX HTTP_CONNECTIONS_MAX /* more are closed at once */

struct lingering {
	struct http_lingering *all;
	struct lingering *next, *prev;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *timer;
};

struct http_lingering {
	struct loop *loop;
	struct lingering *first;
	size_t count;
};

static void
end(void *arg)
{
	struct lingering *l = arg;

	*(l->prev != NULL ? &l->prev->next : &l->all->first) = l->next;
	if (l->next != NULL)
		l->next->prev = l->prev;
	l->all->count--;
	loop_fd_free(l->watch);
	loop_timer_free(l->timer);
	close(l->fd);
	free(l);
}

static void
on_input(void *arg)
{
	struct lingering *l = arg;
	char scratch[16384];

	if (recv(l->fd, scratch, sizeof(scratch), MSG_DONTWAIT) <= 0)
		end(l);
}

void
http_linger(struct http_lingering *all, int fd)
{
	struct lingering *l;
	int own = all->count < LINGERING_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	shutdown(fd, SHUT_WR);
	if (own < 0)
		return;
	l = ls_calloc(1, sizeof(*l));
	l->all = all;
	l->fd = own;
	l->next = all->first;
	if (l->next != NULL)
		l->next->prev = l;
	all->first = l;
	all->count++;
	l->watch = loop_fd_new(all->loop, own, on_input, l);
	l->timer = loop_timer_new(all->loop, end, l);
	loop_timer_set(l->timer, HTTP_LINGER_NS);
}

struct http_lingering *
http_lingering_new(struct loop *loop)
{
	struct http_lingering *all = ls_calloc(1, sizeof(*all));

	all->loop = loop;
	return all;
}

void
http_lingering_free(struct http_lingering *all)
{
	if (all == NULL)
		return;
	for (struct lingering *l = all->first, *next; l != NULL; l = next) {
		next = l->next;
		end(l);
	}
	free(all);
}
