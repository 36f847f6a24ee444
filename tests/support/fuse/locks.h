/*
 * fcntl locks of the volume. The kernel names their owners (a process on that mount); each owner has, for each file, a descriptor of its
 * own on which the locks are taken as open file description locks, so that owners of the same and of other mounts exclude each other.
 */
#ifndef LS_TESTS_FUSE_LOCKS_H
#define LS_TESTS_FUSE_LOCKS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * F_GETLK, F_SETLK or F_SETLKW by that owner on the file behind fd. Waits by asking again, as long as keep_on() says so.
 * Returns 0 or -errno; -EINTR when it was told to stop. Any thread.
 */
int locks_do(int fd, uint64_t owner, int command, struct flock *lock, bool (*keep_on)(void));

/* The owner closed the file: all of its locks on it go, as POSIX wants it. */
void locks_drop(int fd, uint64_t owner);

/* Like flock(2) on lock_fd, waiting as above. */
int locks_flock(int lock_fd, int operation, bool (*keep_on)(void));

#endif
