/*
 * fcntl locks on the file under test, as iozone's -W and -+l ask for. They are those of the open file description
 * (F_OFD_SETLKW): each worker has its own, so that workers of one process exclude each other as those of other nodes do.
 * Writing takes an exclusive lock, reading a shared one. Any thread.
 */
#ifndef LS_AGENT_ENGINE_LOCKS_H
#define LS_AGENT_ENGINE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Waits for the lock of [offset, offset + length), of all there is with length 0. 0 or an errno. */
int lock_take(int fd, bool write, uint64_t offset, uint64_t length);

/* Gives it back. 0 or an errno. */
int lock_drop(int fd, uint64_t offset, uint64_t length);

#endif
