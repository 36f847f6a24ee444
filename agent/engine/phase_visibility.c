/*
 * One node makes changes at instants that all know; the others poll for each until they see it. All tell when, from the phase's planned
 * start, which is one instant on all clocks within their error; the coordinator subtracts.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

#define LEAD_NS     (20 * NS_PER_MS) /* from the start to the first change: the others poll by then */
#define PATIENCE_NS (5 * NS_PER_S)   /* for a change, where the phase has no time of its own */
#define NEW_NAME    1000000          /* number of a renamed file, added */

static bool
is_actor(const struct worker *w)
{
	return w->engine->cluster.rank == w->engine->spec.step;
}

static bool
wants_file(int change)
{
	return change != CHANGE_CREATE;
}

/* --- the one who changes ----------------------------------------------------------------------------------------- */

static int
change_file(struct worker *w, uint64_t i)
{
	struct cluster *c = &w->engine->cluster;
	char old[PATH_MAX_REL];
	uint64_t value = i + 1;
	int fd, rc = 0;

	switch ((enum phase_change)w->engine->spec.change) {
	case CHANGE_CREATE:
		fd = cluster_open(w, O_WRONLY | O_CREAT | O_EXCL);
		return fd < 0 || close(fd) < 0 ? errno : 0;
	case CHANGE_WRITE:
		fd = cluster_open(w, O_WRONLY);
		if (fd < 0)
			return errno;
		rc = cluster_write(fd, &value, sizeof(value), 0);
		return close(fd) < 0 && rc == 0 ? errno : rc;
	case CHANGE_RENAME:
		memcpy(old, c->name, sizeof(old));
		cluster_name(w, 'v', NEW_NAME + i);
		rc = renameat(c->dir_fd, old, c->dir_fd, c->name);
		break;
	case CHANGE_UNLINK:
		rc = unlinkat(c->dir_fd, c->name, 0);
		break;
	case CHANGE_ATTRIBUTES:
		rc = fchmodat(c->dir_fd, c->name, 0640, 0);
		break;
	case CHANGE_COUNT:
		break;
	}
	return rc < 0 ? errno : 0;
}

static void
act(struct worker *w)
{
	const struct engine *e = w->engine;

	w->engine->cluster.told.acted = true;
	for (uint64_t i = 0; i < e->spec.count; i++) {
		int errnum;

		cluster_name(w, 'v', i);
		if (!cluster_wait(w, e->start_ns + LEAD_NS + (int64_t)i * e->spec.interval))
			return;
		int64_t begin = cluster_op(w, SHM_CALL_OPEN);
		errnum = change_file(w, i);
		if (errnum != 0) {
			(void)cluster_fail(w, "run", SHM_CALL_OPEN, errnum);
			return;
		}
		cluster_done(w, begin, 0);
		cluster_number(w, io_now_ns() - e->start_ns);
	}
}

/* --- those who look ------------------------------------------------------------------------------------------------ */

static bool
value_is(struct worker *w, uint64_t wanted)
{
	uint64_t value = 0;
	int fd = cluster_open(w, O_RDONLY);

	if (fd < 0)
		return false;
	ssize_t n = cluster_read(fd, &value, sizeof(value), 0);
	close(fd);
	return n == sizeof(value) && value == wanted;
}

/* Is change number i seen? */
static bool
is_seen(struct worker *w, uint64_t i)
{
	struct cluster *c = &w->engine->cluster;
	int change = w->engine->spec.change;
	struct stat st;

	if (change == CHANGE_WRITE)
		return value_is(w, i + 1);
	cluster_name(w, 'v', change == CHANGE_RENAME ? NEW_NAME + i : i);
	int rc = fstatat(c->dir_fd, c->name, &st, AT_SYMLINK_NOFOLLOW);
	if (change == CHANGE_UNLINK)
		return rc < 0 && errno == ENOENT;
	return rc == 0 && (change != CHANGE_ATTRIBUTES || (st.st_mode & 0777) == 0640);
}

static int64_t
patience(const struct phase *spec)
{
	return spec->time > 0 ? spec->time : PATIENCE_NS;
}

/*
 * The instant at which change i was seen, from the start; -1: not in time. seen_ns: when the last one was. Who makes the changes may be
 * slower than their interval, so that patience begins with the last one that it was seen to have made.
 */
static int64_t
poll_for(struct worker *w, uint64_t i, int64_t seen_ns)
{
	const struct engine *e = w->engine;
	int64_t due = LEAD_NS + (int64_t)i * e->spec.interval;
	int64_t until = e->start_ns + LS_MAX(due, seen_ns) + patience(&e->spec);

	cluster_name(w, 'v', i);
	for (;;) {
		int64_t begin = cluster_op(w, SHM_CALL_STAT);
		bool seen = is_seen(w, i);
		int64_t now = io_now_ns();

		cluster_done(w, begin, 0);
		if (seen)
			return now - e->start_ns;
		if (now >= until || !cluster_wait(w, now + e->spec.poll))
			return -1;
	}
}

static void
look(struct worker *w)
{
	int64_t last = 0;

	for (uint64_t i = 0; i < w->engine->spec.count && !cluster_stopped(w); i++) {
		int64_t seen = poll_for(w, i, last);

		last = LS_MAX(last, seen);
		cluster_number(w, seen);
	}
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

/* The files that are changed; made while arming, so that all nodes find them at the start. */
static bool
make_files(struct worker *w)
{
	uint64_t nothing = 0;

	for (uint64_t i = 0; wants_file(w->engine->spec.change) && i < w->engine->spec.count; i++) {
		cluster_name(w, 'v', i);
		int fd = cluster_open(w, O_WRONLY | O_CREAT);
		if (fd < 0)
			return cluster_fail(w, "arm", SHM_CALL_OPEN, errno);
		int errnum = cluster_write(fd, &nothing, sizeof(nothing), 0);
		close(fd);
		if (errnum != 0)
			return cluster_fail(w, "arm", SHM_CALL_PWRITE, errnum);
		if (worker_stop_asked(w))
			return false;
	}
	return true;
}

static bool
arm(struct worker *w)
{
	/* Each step is a row of its own: nothing is kept. */
	return cluster_begin(w, true) && (!is_actor(w) || make_files(w));
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	cluster_go(w, cpu);
	if (is_actor(w))
		act(w);
	else
		look(w);
	cluster_stop(w);
}

const struct phase_ops phase_ops_visibility = {
	.arm = arm,
	.run = run,
	.disarm = cluster_end,
};
