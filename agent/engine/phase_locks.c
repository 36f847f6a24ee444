/*
 * Locks between nodes. First one node takes a lock and the others try it without waiting: locks that exist on one node only show
 * themselves. Then for each number of nodes: all count in one file under locks, and afterwards the sum must be what they counted.
 *
 *	fcntl	a ring of more bytes than nodes: a node takes the lock of the next byte, waiting, counts in the present one's place,
 *		gives back the present one's lock and moves on (ping_pong's pattern)
 *	flock	the whole file, around each count
 *	range	each node the lock of a range of its own, which nobody else wants: what locks cost that do not meet
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "proto/model/cluster.h"

#define HELD_BYTES 10   /* of the lock that the others try */
#define FREE_AT    1000 /* nobody has this one */

static bool
is_counting(const struct phase *spec)
{
	return spec->step >= CLUSTER_LOCK_FIRST && spec->step % 2 == 0;
}

static bool
is_reading(const struct phase *spec)
{
	return spec->step >= CLUSTER_LOCK_FIRST && spec->step % 2 == 1;
}

/* 0 or an errno. wait false: EAGAIN or EACCES where somebody else has it. */
static int
set_lock(int fd, short type, uint64_t offset, uint64_t length, bool wait)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)length };

	/* Those of processes, as applications use them: a node's runner is one. */
	while (fcntl(fd, wait ? F_SETLKW : F_SETLK, &lock) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

static int
set_flock(int fd, int operation)
{
	while (flock(fd, operation) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

/* The volume has no such locks? Then that is the result. */
static void
fail_lock(struct worker *w, enum shm_call call, int errnum)
{
	if (errnum == ENOLCK || errnum == EOPNOTSUPP || errnum == ENOSYS || errnum == EINVAL)
		cluster_untested(w, "the volume has no such locks (%s)", errors_errno_name(errnum));
	else
		(void)cluster_fail(w, "run", call, errnum);
}

/* --- are they the cluster's? ------------------------------------------------------------------------------------- */

static int
try_lock(struct worker *w, int fd, uint64_t offset)
{
	return w->engine->spec.lock == LOCK_FLOCK ? set_flock(fd, LOCK_EX | LOCK_NB)
						  : set_lock(fd, F_WRLCK, offset, HELD_BYTES, false);
}

static void
hold(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	int64_t begin = cluster_op(w, SHM_CALL_FCNTL);
	int errnum = try_lock(w, c->kept_fd, 0);

	cluster_done(w, begin, 0);
	if (errnum != 0)
		fail_lock(w, SHM_CALL_FCNTL, errnum);
}

static void
try_held(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	int64_t begin = cluster_op(w, SHM_CALL_FCNTL);
	int errnum = try_lock(w, c->fd, HELD_BYTES / 2);

	cluster_done(w, begin, 0);
	if (errnum != 0 && errnum != EAGAIN && errnum != EACCES) {
		fail_lock(w, SHM_CALL_FCNTL, errnum);
		return;
	}
	/* Several may get it one after the other where they are local. */
	(void)cluster_look(w, errnum != 0, "got a lock that {%u} holds: such locks are local to a node here",
	    cluster_node_number(w, 0));
	if (w->engine->spec.lock == LOCK_FLOCK)
		return;
	errnum = set_lock(c->fd, F_RDLCK, FREE_AT, 1, false);
	(void)cluster_look(
	    w, errnum == 0, "did not get a lock of bytes that nobody holds: %s", errors_errno_name(errnum));
}

/* --- counting ---------------------------------------------------------------------------------------------------- */

/* Adds one to a place of the file; between reading and writing another gets its chance to break in. */
static bool
count_at(struct worker *w, uint64_t place)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t value = 0;
	ssize_t n = cluster_read(c->fd, &value, sizeof(value), place * sizeof(value));
	int errnum;

	if (n < 0)
		return cluster_fail(w, "run", SHM_CALL_PREAD, errno);
	value = n == sizeof(value) ? value + 1 : 1;
	sched_yield();
	errnum = cluster_write(c->fd, &value, sizeof(value), place * sizeof(value));
	if (errnum != 0)
		return cluster_fail(w, "run", SHM_CALL_PWRITE, errnum);
	c->counted++;
	return true;
}

static bool
may_go_on(const struct worker *w, uint64_t done)
{
	const struct phase *spec = &w->engine->spec;

	return tally_more(&w->engine->cluster.tally, io_now_ns()) && (spec->time > 0 || done < spec->count);
}

/* A lock of its own around each count. */
static int
count_alone(struct worker *w, uint64_t place)
{
	struct cluster *c = &w->engine->cluster;
	bool whole = w->engine->spec.lock == LOCK_FLOCK;
	int64_t begin = cluster_op(w, whole ? SHM_CALL_FLOCK : SHM_CALL_FCNTL);
	int errnum = whole ? set_flock(c->fd, LOCK_EX) : set_lock(c->fd, F_WRLCK, place * sizeof(uint64_t), 8, true);

	if (errnum != 0)
		return errnum;
	cluster_done(w, begin, 0);
	(void)count_at(w, place);
	return whole ? set_flock(c->fd, LOCK_UN) : set_lock(c->fd, F_UNLCK, place * sizeof(uint64_t), 8, true);
}

static void
run_alone(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t place = w->engine->spec.lock == LOCK_RANGE ? c->rank : 0;
	int errnum = 0;

	for (uint64_t done = 0; errnum == 0 && !w->failed && may_go_on(w, done); done++)
		errnum = count_alone(w, place);
	if (errnum != 0)
		fail_lock(w, SHM_CALL_FCNTL, errnum);
}

static void
run_ring(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t ring = c->ranks + 1, i = 0;
	int errnum = set_lock(c->fd, F_WRLCK, 0, 1, true);

	for (uint64_t done = 0; errnum == 0 && !w->failed && may_go_on(w, done); done++) {
		int64_t begin = cluster_op(w, SHM_CALL_FCNTL);
		errnum = set_lock(c->fd, F_WRLCK, (i + 1) % ring, 1, true);
		if (errnum != 0)
			break;
		cluster_done(w, begin, 0);
		if (count_at(w, i))
			errnum = set_lock(c->fd, F_UNLCK, i, 1, true);
		i = (i + 1) % ring;
	}
	/* A node that has ended must not keep the others waiting. */
	if (errnum == 0)
		errnum = set_lock(c->fd, F_UNLCK, 0, 0, true);
	if (errnum != 0)
		fail_lock(w, SHM_CALL_FCNTL, errnum);
}

static void
read_counts(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t sum = 0, value;

	for (uint64_t place = 0; place <= c->ranks; place++) {
		int64_t begin = cluster_op(w, SHM_CALL_PREAD);
		ssize_t n = cluster_read(c->fd, &value, sizeof(value), place * sizeof(value));

		cluster_done(w, begin, n > 0 ? (uint64_t)n : 0);
		if (n < 0) {
			(void)cluster_fail(w, "run", SHM_CALL_PREAD, errno);
			return;
		}
		sum += n == sizeof(value) ? value : 0;
	}
	cluster_number(w, (int64_t)c->counted);
	cluster_number(w, (int64_t)sum);
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static bool
arm(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	const struct phase *spec = &w->engine->spec;

	/* Each number of nodes counts in a file of its own, and the lock that the others tried is given back. */
	if (!cluster_begin(w, spec->step == CLUSTER_LOCK_HOLD || is_counting(spec)))
		return false;
	cluster_name(w, 'k', 0);
	w->idle = spec->step < CLUSTER_LOCK_FIRST && (c->rank == 0) != (spec->step == CLUSTER_LOCK_HOLD);
	if (w->idle)
		return true;
	c->fd = cluster_open(w, O_RDWR | O_CREAT);
	if (c->fd < 0)
		return cluster_fail(w, "arm", SHM_CALL_OPEN, errno);
	if (spec->step == CLUSTER_LOCK_HOLD) {
		c->kept_fd = c->fd;
		c->fd = -1;
	}
	return true;
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	const struct phase *spec = &w->engine->spec;

	cluster_go(w, cpu);
	if (spec->step == CLUSTER_LOCK_HOLD)
		hold(w);
	else if (spec->step == CLUSTER_LOCK_TRY)
		try_held(w);
	else if (is_reading(spec))
		read_counts(w);
	else if (spec->lock == LOCK_FCNTL)
		run_ring(w);
	else
		run_alone(w);
	cluster_stop(w);
}

const struct phase_ops phase_ops_locks = {
	.arm = arm,
	.run = run,
	.disarm = cluster_end,
};
