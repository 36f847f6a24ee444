#include "tests/support/fuse/locks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fuse/incoherent.h"

#define ASK_AGAIN_US 1000

struct holder {
	struct holder *next;
	dev_t dev;
	ino_t ino;
	uint64_t owner;
	int fd;
};

static struct {
	pthread_mutex_t lock;
	struct holder *first;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The link that points to the owner's holder, or to NULL at the end. With the lock held. */
static struct holder **
find(const struct stat *st, uint64_t owner)
{
	struct holder **at = &state.first;
	while (*at != NULL && ((*at)->ino != st->st_ino || (*at)->dev != st->st_dev || (*at)->owner != owner))
		at = &(*at)->next;
	return at;
}

static int
one_attempt(int fd, const struct stat *st, uint64_t owner, int command, struct flock *lock)
{
	pthread_mutex_lock(&state.lock);
	struct holder **at = find(st, owner);
	int rc = 0;
	/* libfuse unlocks once more after each close */
	if (*at == NULL && command != F_GETLK && lock->l_type == F_UNLCK)
		goto out;
	if (*at == NULL) {
		int own = incoherent_lock_fd(fd);
		struct holder *h = own < 0 ? NULL : calloc(1, sizeof(*h));
		if (h == NULL) {
			rc = own < 0 ? own : -ENOMEM;
			goto out;
		}
		*h = (struct holder){ .dev = st->st_dev, .ino = st->st_ino, .owner = owner, .fd = own };
		*at = h;
	}
	lock->l_pid = 0;
	if (fcntl((*at)->fd, command == F_GETLK ? F_OFD_GETLK : F_OFD_SETLK, lock) != 0)
		rc = -errno;
out:
	pthread_mutex_unlock(&state.lock);
	return rc;
}

int
locks_do(int fd, uint64_t owner, int command, struct flock *lock, bool (*keep_on)(void))
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return -errno;
	for (;;) {
		int rc = one_attempt(fd, &st, owner, command, lock);
		if (command != F_SETLKW || (rc != -EAGAIN && rc != -EACCES))
			return rc;
		if (!keep_on())
			return -EINTR;
		usleep(ASK_AGAIN_US);
	}
}

void
locks_drop(int fd, uint64_t owner)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return;
	pthread_mutex_lock(&state.lock);
	struct holder **at = find(&st, owner);
	struct holder *old = *at;
	if (old != NULL) {
		*at = old->next;
		close(old->fd);
		free(old);
	}
	pthread_mutex_unlock(&state.lock);
}

int
locks_flock(int lock_fd, int operation, bool (*keep_on)(void))
{
	for (;;) {
		if (flock(lock_fd, operation | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK || (operation & LOCK_NB) != 0)
			return -errno;
		if (!keep_on())
			return -EINTR;
		usleep(ASK_AGAIN_US);
	}
}
