#include "agent/engine/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int
set_lock(int fd, short type, uint64_t offset, uint64_t length)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)length };

	while (fcntl(fd, F_OFD_SETLKW, &lock) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

int
lock_take(int fd, bool write, uint64_t offset, uint64_t length)
{
	return set_lock(fd, write ? F_WRLCK : F_RDLCK, offset, length);
}

int
lock_drop(int fd, uint64_t offset, uint64_t length)
{
	return set_lock(fd, F_UNLCK, offset, length);
}
