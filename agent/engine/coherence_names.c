/* Names that several nodes make, replace, remove and look for. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

#define VERSION_BYTES 4096
#define LEAD_NS       (5 * NS_PER_MS) /* from the instant to the first name */

/* stat of the present name. 0 or an errno. */
static int
look_for(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	struct stat st;
	int64_t begin = cluster_op(w, SHM_CALL_STAT);
	int errnum = fstatat(c->dir_fd, c->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;

	cluster_done(w, begin, 0);
	return errnum;
}

/* --- O_EXCL: all nodes make the same names, each at an instant of its own ------------------------------------------ */

static bool
excl_arm(struct worker *w, uint64_t step)
{
	(void)step;
	cluster_name(w, 'x', 0);
	return true;
}

static void
make_exclusively(struct worker *w, uint64_t number)
{
	int64_t begin = cluster_op(w, SHM_CALL_OPEN);
	int fd = cluster_open(w, O_WRONLY | O_CREAT | O_EXCL);

	if (fd < 0 && errno != EEXIST) {
		(void)cluster_fail(w, "run", SHM_CALL_OPEN, errno);
		return;
	}
	cluster_done(w, begin, 0);
	if (fd < 0)
		return;
	cluster_number(w, (int64_t)number);
	close(fd);
}

static void
excl_run(struct worker *w, uint64_t step)
{
	const struct engine *e = w->engine;

	for (uint64_t i = 0; i < e->spec.count && !w->failed && !cluster_stopped(w); i++) {
		cluster_name(w, 'x', i);
		if (step == 1) {
			int errnum = look_for(w);
			(void)cluster_look(w, errnum == 0, "name %" PRIu64 ": stat: %s", i, errors_errno_name(errnum));
		} else if (cluster_wait(w, e->start_ns + LEAD_NS + (int64_t)i * e->spec.interval)) {
			make_exclusively(w, i);
		}
	}
}

const struct cluster_check cluster_check_excl = { .arm = excl_arm, .run = excl_run };

/* --- rename over a file that others read ----------------------------------------------------------------------------- */

/* Makes the file of that number with that version in it. */
static bool
make_version(struct worker *w, const char *step, uint64_t number, uint64_t version)
{
	struct cluster *c = &w->engine->cluster;
	int fd, errnum;

	cluster_name(w, 'r', number);
	fd = cluster_open(w, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0)
		return cluster_fail(w, step, SHM_CALL_OPEN, errno);
	cluster_make_record(w, 0, version, c->room, VERSION_BYTES);
	errnum = cluster_write(fd, c->room, VERSION_BYTES, 0);
	if (close(fd) < 0 && errnum == 0)
		errnum = errno;
	return errnum == 0 || cluster_fail(w, step, SHM_CALL_PWRITE, errnum);
}

static bool
replace(struct worker *w, uint64_t version)
{
	struct cluster *c = &w->engine->cluster;
	char from[PATH_MAX_REL];

	if (!make_version(w, "run", 1, version))
		return false;
	memcpy(from, c->name, sizeof(from));
	cluster_name(w, 'r', 0);
	int64_t begin = cluster_op(w, SHM_CALL_RENAME);
	if (renameat(c->dir_fd, from, c->dir_fd, c->name) < 0)
		return cluster_fail(w, "run", SHM_CALL_RENAME, errno);
	cluster_done(w, begin, 0);
	return true;
}

/* Reads the file that is replaced; *version is that of the last look, and of this one afterwards. */
static void
look_at_version(struct worker *w, uint64_t *version, uint64_t least)
{
	struct cluster *c = &w->engine->cluster;
	int64_t begin = cluster_op(w, SHM_CALL_OPEN);
	int fd = cluster_open(w, O_RDONLY);
	int errnum = errno;
	ssize_t n = fd >= 0 ? cluster_read(fd, c->room, VERSION_BYTES, 0) : -1;
	uint64_t rank, found;

	if (fd >= 0) {
		errnum = errno;
		close(fd);
	}
	cluster_done(w, begin, n > 0 ? (uint64_t)n : 0);
	if (!cluster_look(w, n >= 0, "%s: %s", fd < 0 ? "open" : "read", errors_errno_name(errnum)))
		return;
	if (n < VERSION_BYTES ||
	    !cluster_is_record(w, c->room, c->room + VERSION_BYTES, VERSION_BYTES, &rank, &found)) {
		(void)cluster_look(w, false, "a file of %zd bytes that is no version of it", n);
		return;
	}
	if (cluster_look(w, found >= LS_MAX(*version, least), "version %" PRIu64 " after version %" PRIu64, found,
		LS_MAX(*version, least)))
		*version = found;
}

static bool
rename_arm(struct worker *w, uint64_t step)
{
	if (!cluster_need_room(w, (size_t)2 * VERSION_BYTES))
		return false;
	if (step == 0 && w->engine->cluster.rank == 0)
		return make_version(w, "arm", 0, 0);
	cluster_name(w, 'r', 0);
	return true;
}

static void
rename_run(struct worker *w, uint64_t step)
{
	const struct engine *e = w->engine;
	const struct phase *spec = &e->spec;
	int64_t end_ns = e->start_ns + (int64_t)(spec->count + 1) * spec->interval;
	uint64_t version = 0;

	if (step == 1) {
		look_at_version(w, &version, spec->count);
	} else if (e->cluster.rank == 0) {
		for (uint64_t v = 1; v <= spec->count && cluster_wait(w, e->start_ns + (int64_t)v * spec->interval);
		     v++)
			if (!replace(w, v))
				break;
	} else {
		do
			look_at_version(w, &version, 0);
		while (io_now_ns() < end_ns && cluster_wait(w, io_now_ns() + spec->poll));
	}
}

const struct cluster_check cluster_check_rename = { .arm = rename_arm, .run = rename_run };

/* --- unlink of a file that others have open ---------------------------------------------------------------------------- */

enum { UNLINK_MAKE = 0, UNLINK_OPEN, UNLINK_REMOVE, UNLINK_LOOK };

static void
make_file(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;

	for (uint64_t at = 0; at < w->engine->spec.bytes && !cluster_stopped(w); at += VERSION_BYTES) {
		int64_t begin = cluster_op(w, SHM_CALL_PWRITE);
		cluster_make_record(w, 0, at, c->room, VERSION_BYTES);
		int errnum = cluster_write(c->fd, c->room, VERSION_BYTES, at);
		if (errnum != 0) {
			(void)cluster_fail(w, "run", SHM_CALL_PWRITE, errnum);
			return;
		}
		cluster_done(w, begin, VERSION_BYTES);
	}
	if (fsync(c->fd) < 0)
		(void)cluster_fail(w, "run", SHM_CALL_FSYNC, errno);
}

/* Through the descriptor that was opened before the file was removed. */
static void
read_kept(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t rank, number;

	for (uint64_t at = 0; at < w->engine->spec.bytes && !cluster_stopped(w); at += VERSION_BYTES) {
		int64_t begin = cluster_op(w, SHM_CALL_PREAD);
		ssize_t n = cluster_read(c->kept_fd, c->room, VERSION_BYTES, at);
		int errnum = errno;

		cluster_done(w, begin, n > 0 ? (uint64_t)n : 0);
		if (n != VERSION_BYTES) {
			(void)cluster_look(w, false, "read of the open file at %" PRIu64 ": %s", at,
			    n < 0 ? errors_errno_name(errnum) : "its end");
			return;
		}
		(void)cluster_look(w,
		    cluster_is_record(w, c->room, c->room + VERSION_BYTES, VERSION_BYTES, &rank, &number) &&
			number == at,
		    "the open file at %" PRIu64 ": not what was written", at);
	}
}

static bool
unlink_arm(struct worker *w, uint64_t step)
{
	struct cluster *c = &w->engine->cluster;

	cluster_name(w, 'u', 0);
	w->idle = (c->rank == 0) != (step == UNLINK_MAKE || step == UNLINK_REMOVE);
	if (!w->idle && step == UNLINK_MAKE) {
		c->fd = cluster_open(w, O_WRONLY | O_CREAT);
		if (c->fd < 0)
			return cluster_fail(w, "arm", SHM_CALL_OPEN, errno);
	}
	return cluster_need_room(w, (size_t)2 * VERSION_BYTES);
}

static void
open_kept(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	int64_t begin = cluster_op(w, SHM_CALL_OPEN);

	/* An attempt that was void may have opened it. */
	if (c->kept_fd < 0)
		c->kept_fd = cluster_open(w, O_RDONLY);
	int errnum = errno;
	cluster_done(w, begin, 0);
	(void)cluster_look(w, c->kept_fd >= 0, "open: %s", errors_errno_name(errnum));
}

static void
remove_file(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	int64_t begin = cluster_op(w, SHM_CALL_UNLINK);

	/* ENOENT: an attempt that was void has removed it. */
	if (unlinkat(c->dir_fd, c->name, 0) < 0 && errno != ENOENT)
		(void)cluster_fail(w, "run", SHM_CALL_UNLINK, errno);
	cluster_done(w, begin, 0);
}

static void
unlink_run(struct worker *w, uint64_t step)
{
	struct cluster *c = &w->engine->cluster;

	if (step == UNLINK_MAKE) {
		make_file(w);
	} else if (step == UNLINK_REMOVE) {
		remove_file(w);
	} else if (step == UNLINK_OPEN) {
		open_kept(w);
	} else {
		(void)cluster_look(w, look_for(w) == ENOENT, "the removed name is still there");
		if (c->kept_fd >= 0)
			read_kept(w);
	}
}

const struct cluster_check cluster_check_unlink = { .arm = unlink_arm, .run = unlink_run };
