/*
 * Are locks those of the whole cluster? The first node takes a lock on a file in the run's directory and keeps it, the others try to get
 * it, without waiting. Nothing is locked but that file.
 */
#ifndef LS_AGENT_RUNNER_LOCKTEST_H
#define LS_AGENT_RUNNER_LOCKTEST_H

#include "proto/codec/msg.h"

enum locktest_kind {
	LOCKTEST_FCNTL, /* F_SETLK of the whole file */
	LOCKTEST_FLOCK, /* LOCK_EX | LOCK_NB */
	LOCKTEST_KINDS,
};

/*
 * Makes the file of that name and takes its lock. *fd: keeps the lock until it is closed; -1 when there is none.
 * Returns LOCK_HELD, LOCK_MISSING, or LOCK_UNTRIED when there is no such file to be had.
 */
enum lock_outcome locktest_take(int dir_fd, const char *name, enum locktest_kind kind, int *fd);

/* Tries to get the lock of a file that another node has made, and gives it back. LOCK_UNTRIED: no such file. */
enum lock_outcome locktest_try(int dir_fd, const char *name, enum locktest_kind kind);

#endif
