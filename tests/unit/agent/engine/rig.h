/*
 * An engine on a directory of its own, as the runner drives it; for the tests of this folder.
 */
#ifndef LS_TESTS_ENGINE_RIG_H
#define LS_TESTS_ENGINE_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/data.h"
#include "agent/engine/engine.h"
#include "common/base/crc32c.h"
#include "common/base/mem.h"

#define RIG_SEED 77
#define RIG_LATE (10 * NS_PER_S) /* machines that run tests stand still at times */

struct rig {
	char dir[64];
	int dir_fd;
	struct shm_map *map;
	struct engine *engine;
	uint64_t node, nodes, workers[8];
};

/* base: where the directory is made, NULL for the usual place. */
static inline void
rig_init(struct rig *r, const char *base, uint64_t node, uint64_t nodes, uint64_t workers, uint32_t room)
{
	const char *tmp = base != NULL ? base : getenv("TMPDIR");
	struct ls_err err;

	memset(r, 0, sizeof(*r));
	snprintf(r->dir, sizeof(r->dir), "%s/lockstep-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
	assert_non_null(mkdtemp(r->dir));
	r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->dir_fd >= 0);
	r->node = node;
	r->nodes = nodes;
	for (uint64_t i = 0; i < nodes; i++)
		r->workers[i] = workers;
	assert_int_equal(shm_map_new(room, &r->map, &err), LS_OK);

	struct engine_config config = { .run_dir_fd = r->dir_fd,
		.run_dir = r->dir,
		.node_index = node,
		.node_count = nodes,
		.seed = RIG_SEED,
		.spin_ns = 200000,
		.map = r->map };
	assert_int_equal(engine_new(&config, &r->engine, &err), LS_OK);
}

/* Also checks that cleaning leaves nothing. */
static inline void
rig_fini(struct rig *r)
{
	char **left = NULL;
	size_t left_count = 0;

	engine_free(r->engine);
	shm_map_free(r->map);
	for (uint64_t i = 0; i < r->nodes; i++)
		engine_clean_node_dir(r->dir_fd, i, &left, &left_count);
	engine_clean_shared_dir(r->dir_fd, &left, &left_count);
	if (left_count > 0)
		fail_msg("left behind: %s", left[0]);
	close(r->dir_fd);
	if (rmdir(r->dir) != 0)
		fail_msg("%s is not empty: %s", r->dir, strerrorname_np(errno));
}

static inline struct phase
rig_phase(enum phase_kind kind)
{
	struct phase spec;

	field_struct_init(&phase_desc, &spec);
	spec.kind = (int)kind;
	return spec;
}

static inline enum ls_rc
rig_try_arm(
    struct rig *r, const struct phase *spec, bool redo, uint64_t *epoch, struct io_error *error, struct ls_err *err)
{
	struct engine_arm arm = { .spec = spec, .node_workers = r->workers, .redo = redo };

	field_struct_init(&io_error_desc, error);
	return engine_arm(r->engine, &arm, epoch, error, err);
}

static inline uint64_t
rig_arm(struct rig *r, const struct phase *spec, bool redo)
{
	struct io_error error;
	struct ls_err err;
	uint64_t epoch = 0;

	if (rig_try_arm(r, spec, redo, &epoch, &error, &err) != LS_OK)
		fail_msg("arm: %s", err.text);
	field_struct_fini(&io_error_desc, &error);
	return epoch;
}

static inline void
rig_commit(struct rig *r, uint64_t epoch)
{
	atomic_store_explicit(&shm_map_control(r->map)->commit_epoch, epoch, memory_order_release);
}

static inline enum shm_decision
rig_wait(struct rig *r)
{
	struct pollfd p = { .fd = engine_event_fd(r->engine), .events = POLLIN };
	enum shm_decision decision = SHM_UNDECIDED;

	if (poll(&p, 1, 60000) != 1)
		fail_msg("workers have not left after 60 s");
	assert_true(engine_left(r->engine, &decision));
	return decision;
}

/* Commits, starts in 2 ms, waits; returns the instant. */
static inline int64_t
rig_start(struct rig *r, uint64_t epoch)
{
	int64_t start = ls_mono_now().ns + 2 * NS_PER_MS;

	rig_commit(r, epoch);
	engine_go(r->engine, (struct ls_mono){ start }, RIG_LATE);
	return start;
}

static inline void
rig_no_errors(struct rig *r)
{
	const struct io_error *errors;
	size_t count;

	if (engine_errors(r->engine, &errors, &count) > 0)
		fail_msg("%s", errors[0].text);
}

/* A whole phase that must succeed. */
static inline int64_t
rig_run(struct rig *r, const struct phase *spec)
{
	int64_t start = rig_start(r, rig_arm(r, spec, false));

	assert_int_equal(rig_wait(r), SHM_STARTED);
	engine_flush(r->engine);
	rig_no_errors(r);
	return start;
}

static inline struct shm_worker *
rig_worker(struct rig *r, uint32_t i)
{
	return shm_map_worker(r->map, i);
}

static inline uint64_t
rig_get(_Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static inline int64_t
rig_get_i(_Atomic int64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static inline off_t
rig_size(struct rig *r, const char *rel)
{
	struct stat st;

	return fstatat(r->dir_fd, rel, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : -1;
}

static inline size_t
rig_count(struct rig *r, const char *rel)
{
	int fd = openat(r->dir_fd, rel, O_RDONLY | O_DIRECTORY);
	size_t n = 0;

	if (fd < 0)
		return 0;
	DIR *dir = fdopendir(fd);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n - 2; /* . and .. */
}

/*
 * Reads [offset, offset + length) of a file and checks the stamp of each block: its place, its writer, its sum; generation,
 * unless 0, too. Blocks in between must not be zero.
 */
static inline void
rig_check_stamps(struct rig *r, const char *rel, uint64_t offset, uint64_t length, uint64_t writer, uint64_t generation)
{
	int fd = openat(r->dir_fd, rel, O_RDONLY);
	unsigned char block[DATA_BLOCK];

	assert_true(fd >= 0);
	for (uint64_t at = offset; at < offset + length;) {
		size_t want = (size_t)LS_MIN(DATA_BLOCK - at % DATA_BLOCK, offset + length - at);
		struct data_stamp stamp;
		if (pread(fd, block, want, (off_t)at) != (ssize_t)want)
			fail_msg("%s: short at %llu", rel, (unsigned long long)at);
		if (want >= sizeof(stamp)) {
			memcpy(&stamp, block, sizeof(stamp));
			assert_in_range(stamp.length, sizeof(stamp), want);
			if (stamp.offset != at || stamp.writer != writer || stamp.magic != DATA_MAGIC ||
			    stamp.run != RIG_SEED ||
			    stamp.crc !=
				data_stamp_crc(
				    &stamp, crc32c(0, block + sizeof(stamp), stamp.length - sizeof(stamp))) ||
			    (stamp.length != want && stamp.length != sizeof(stamp)) ||
			    (generation != 0 && stamp.generation != generation))
				fail_msg("%s at %llu: stamp says %llu of writer %llx, generation %llx, wanted writer "
					 "%llx, generation %llx",
				    rel, (unsigned long long)at, (unsigned long long)stamp.offset,
				    (unsigned long long)stamp.writer, (unsigned long long)stamp.generation,
				    (unsigned long long)writer, (unsigned long long)generation);
		}
		if (want == DATA_BLOCK)
			assert_int_not_equal(memcmp(block + 64, block + 2048, 1024), 0);
		at += want;
	}
	close(fd);
}

#endif
