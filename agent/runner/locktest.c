#include "agent/runner/locktest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static enum lock_outcome
lock_file(int fd, enum locktest_kind kind, enum lock_outcome gotten)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int rc = kind == LOCKTEST_FCNTL ? fcntl(fd, F_SETLK, &whole) : flock(fd, LOCK_EX | LOCK_NB);

	if (rc == 0)
		return gotten;
	return errno == EAGAIN || errno == EACCES ? LOCK_REFUSED : LOCK_MISSING;
}

enum lock_outcome
locktest_take(int dir_fd, const char *name, enum locktest_kind kind, int *fd)
{
	*fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return LOCK_UNTRIED;

	enum lock_outcome outcome = lock_file(*fd, kind, LOCK_HELD);

	if (outcome != LOCK_HELD) {
		close(*fd);
		*fd = -1;
	}
	return outcome;
}

enum lock_outcome
locktest_try(int dir_fd, const char *name, enum locktest_kind kind)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return LOCK_UNTRIED;

	enum lock_outcome outcome = lock_file(fd, kind, LOCK_GRANTED);

	close(fd);
	return outcome;
}
