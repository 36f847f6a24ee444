/*
 * Write here, verify there: by turns each node writes its own file and reads those of all others, byte for byte. What must stand
 * there follows from who wrote it in which round; a block's stamp tells whose and how old it is where it does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

#define PIECE    (256U << 10)
#define MTIME    1000000000 /* of the first round: whole seconds, which every file system keeps */
#define SIZE_ADD 100

/* --- access ------------------------------------------------------------------------------------------------------ */

/* Where direct I/O or a mapping is asked for and the volume has none, the row is not tested. Other errors fail the worker. */
static bool
refuse(struct worker *w, int access, const char *step, enum shm_call call, int errnum)
{
	if (access == ACCESS_DIRECT && errnum == EINVAL)
		cluster_untested(w, "the volume has no direct I/O");
	else if (access == ACCESS_MMAP && (errnum == ENODEV || errnum == EOPNOTSUPP))
		cluster_untested(w, "the volume has no shared mappings");
	else
		return cluster_fail(w, step, call, errnum);
	w->engine->cluster.fd = -1;
	return false;
}

static int
access_flags(int access)
{
	return access == ACCESS_DIRECT ? O_DIRECT : 0;
}

/* One mapping a step: what an earlier one held has been given up. */
static int
map_copy(int fd, bool write, unsigned char *buf, size_t size, uint64_t offset)
{
	unsigned char *map =
	    mmap(NULL, size, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, (off_t)offset);
	int errnum = 0;

	if (map == MAP_FAILED)
		return errno;
	memcpy(write ? map : buf, write ? buf : map, size);
	if (write && msync(map, size, MS_SYNC) < 0)
		errnum = errno;
	munmap(map, size);
	return errnum;
}

static struct cluster_piece
piece_of(const struct worker *w, uint64_t rank, uint64_t round, uint64_t offset, size_t size)
{
	return (struct cluster_piece){
		.rank = rank, .node = cluster_node_number(w, rank), .round = round, .offset = offset, .size = size
	};
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static bool
arm_write(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	int access = w->engine->spec.write_access;

	cluster_name(w, 'd', c->rank);
	c->fd = cluster_open(w, O_RDWR | O_CREAT | access_flags(access));
	if (c->fd < 0)
		return refuse(w, access, "arm", SHM_CALL_OPEN, errno) || !w->failed;
	if (access == ACCESS_MMAP && ftruncate(c->fd, (off_t)w->engine->spec.bytes) < 0)
		return cluster_fail(w, "arm", SHM_CALL_TRUNCATE, errno);
	return true;
}

static void
run_write(struct worker *w, uint64_t round)
{
	struct cluster *c = &w->engine->cluster;
	const struct phase *spec = &w->engine->spec;
	bool mapped = spec->write_access == ACCESS_MMAP;

	for (uint64_t at = 0; c->fd >= 0 && at < spec->bytes && !cluster_stopped(w); at += PIECE) {
		size_t size = (size_t)LS_MIN((uint64_t)PIECE, spec->bytes - at);
		int errnum;

		struct cluster_piece piece = piece_of(w, c->rank, round, at, size);
		cluster_make_piece(w, &piece, c->room);
		int64_t begin = cluster_op(w, mapped ? SHM_CALL_MMAP : SHM_CALL_PWRITE);
		errnum = mapped ? map_copy(c->fd, true, c->room, size, at) : cluster_write(c->fd, c->room, size, at);
		if (errnum != 0) {
			(void)refuse(w, spec->write_access, "run", mapped ? SHM_CALL_MMAP : SHM_CALL_PWRITE, errnum);
			return;
		}
		cluster_done(w, begin, size);
	}
	/* The next step opens the file anew: a file system that promises only close-to-open has its chance. */
	if (c->fd >= 0 && (fsync(c->fd) < 0 || close(c->fd) < 0))
		(void)cluster_fail(w, "run", SHM_CALL_FSYNC, errno);
	c->fd = -1;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void
compare_piece(struct worker *w, uint64_t rank, uint64_t round, uint64_t at, size_t size, size_t got)
{
	struct cluster *c = &w->engine->cluster;
	unsigned char *wanted = c->room + PIECE;
	struct cluster_piece piece = piece_of(w, rank, round, at, size);

	cluster_make_piece(w, &piece, wanted);
	for (size_t b = 0; b < size; b += DATA_BLOCK) {
		struct cluster_piece block = piece_of(w, rank, round, at + b, DATA_BLOCK);

		if (b + DATA_BLOCK > got)
			cluster_look(w, false, "file of {%u}: ends at %" PRIu64 " instead of %" PRIu64, piece.node,
			    at + got, w->engine->spec.bytes);
		else if (memcmp(c->room + b, wanted + b, DATA_BLOCK) == 0)
			cluster_look(w, true, " ");
		else
			cluster_tell_block(w, &block, c->room + b, wanted + b);
		if (b + DATA_BLOCK > got)
			return;
	}
}

/* Bytes that were read; -1 with errno. */
static ssize_t
read_piece(struct worker *w, int fd, bool mapped, size_t size, uint64_t at)
{
	struct cluster *c = &w->engine->cluster;
	struct stat st;

	if (!mapped)
		return cluster_read(fd, c->room, size, at);
	/* Behind the end of the file a mapping has only SIGBUS. */
	if (fstat(fd, &st) < 0)
		return -1;
	if ((uint64_t)st.st_size < at + size)
		size = (uint64_t)st.st_size > at ? (size_t)((uint64_t)st.st_size - at) : 0;
	if (size == 0)
		return 0;
	errno = map_copy(fd, false, c->room, size, at);
	return errno == 0 ? (ssize_t)size : -1;
}

static void
read_file(struct worker *w, uint64_t rank, uint64_t round)
{
	const struct phase *spec = &w->engine->spec;
	bool mapped = spec->read_access == ACCESS_MMAP;
	int fd;

	cluster_name(w, 'd', rank);
	fd = cluster_open(w, O_RDONLY | access_flags(spec->read_access));
	if (fd < 0 && spec->read_access == ACCESS_DIRECT && errno == EINVAL) {
		(void)refuse(w, spec->read_access, "run", SHM_CALL_OPEN, errno);
		return;
	}
	if (fd < 0) {
		cluster_look(
		    w, false, "file of {%u}: open: %s", cluster_node_number(w, rank), errors_errno_name(errno));
		return;
	}
	for (uint64_t at = 0; at < spec->bytes && !cluster_stopped(w); at += PIECE) {
		size_t size = (size_t)LS_MIN((uint64_t)PIECE, spec->bytes - at);
		int64_t begin = cluster_op(w, mapped ? SHM_CALL_MMAP : SHM_CALL_PREAD);
		ssize_t n = read_piece(w, fd, mapped, size, at);
		int errnum = errno;

		cluster_done(w, begin, n > 0 ? (uint64_t)n : 0);
		if (n < 0 && mapped && (errnum == ENODEV || errnum == EOPNOTSUPP)) {
			(void)refuse(w, ACCESS_MMAP, "run", SHM_CALL_MMAP, errnum);
			break;
		}
		if (n < 0) {
			cluster_look(w, false, "file of {%u}, offset %" PRIu64 ": read: %s",
			    cluster_node_number(w, rank), at, errors_errno_name(errnum));
			break;
		}
		compare_piece(w, rank, round, at, size, (size_t)n);
	}
	close(fd);
}

static bool
data_arm(struct worker *w, uint64_t step)
{
	if (!cluster_need_room(w, (size_t)2 * PIECE))
		return false;
	return step % 2 == 1 || arm_write(w);
}

static void
data_run(struct worker *w, uint64_t step)
{
	const struct cluster *c = &w->engine->cluster;

	if (step % 2 == 0) {
		run_write(w, step / 2);
		return;
	}
	/* Each begins with another, so that not all ask the same. */
	for (uint64_t i = 1; i < c->ranks && !cluster_stopped(w); i++)
		read_file(w, (c->rank + i) % c->ranks, step / 2);
}

const struct cluster_check cluster_check_data = { .arm = data_arm, .run = data_run };

/* --- attributes -------------------------------------------------------------------------------------------------- */

static off_t
size_of(uint64_t rank, uint64_t round)
{
	return (off_t)((round + 1) * SIZE_ADD + rank);
}

static void
change_attributes(struct worker *w, uint64_t round)
{
	struct cluster *c = &w->engine->cluster;
	struct timespec times[2] = { { .tv_sec = MTIME + (time_t)round }, { .tv_sec = MTIME + (time_t)round } };
	int64_t begin = cluster_op(w, SHM_CALL_TRUNCATE);

	if (ftruncate(c->fd, size_of(c->rank, round)) < 0)
		(void)cluster_fail(w, "run", SHM_CALL_TRUNCATE, errno);
	else if (futimens(c->fd, times) < 0)
		(void)cluster_fail(w, "run", SHM_CALL_CHMOD, errno);
	cluster_done(w, begin, 0);
}

static void
look_at_attributes(struct worker *w, uint64_t rank, uint64_t round)
{
	struct cluster *c = &w->engine->cluster;
	unsigned node = cluster_node_number(w, rank);
	struct stat st;

	cluster_name(w, 'a', rank);
	int64_t begin = cluster_op(w, SHM_CALL_STAT);
	int rc = fstatat(c->dir_fd, c->name, &st, AT_SYMLINK_NOFOLLOW);
	int errnum = errno;
	cluster_done(w, begin, 0);
	if (!cluster_look(w, rc == 0, "file of {%u}: stat: %s", node, errors_errno_name(errnum)))
		return;
	cluster_look(w, st.st_size == size_of(rank, round),
	    "file of {%u}, round %" PRIu64 ": size %lld instead of %lld", node, round + 1, (long long)st.st_size,
	    (long long)size_of(rank, round));
	cluster_look(w, st.st_mtime == MTIME + (time_t)round,
	    "file of {%u}, round %" PRIu64 ": mtime %lld instead of %lld", node, round + 1, (long long)st.st_mtime,
	    (long long)MTIME + (long long)round);
}

static bool
attributes_arm(struct worker *w, uint64_t step)
{
	struct cluster *c = &w->engine->cluster;

	if (step % 2 == 1)
		return true;
	cluster_name(w, 'a', c->rank);
	c->fd = cluster_open(w, O_RDWR | O_CREAT);
	return c->fd >= 0 || cluster_fail(w, "arm", SHM_CALL_OPEN, errno);
}

static void
attributes_run(struct worker *w, uint64_t step)
{
	const struct cluster *c = &w->engine->cluster;

	if (step % 2 == 0)
		change_attributes(w, step / 2);
	for (uint64_t i = 1; step % 2 == 1 && i < c->ranks && !cluster_stopped(w); i++)
		look_at_attributes(w, (c->rank + i) % c->ranks, step / 2);
}

const struct cluster_check cluster_check_attributes = { .arm = attributes_arm, .run = attributes_run };
