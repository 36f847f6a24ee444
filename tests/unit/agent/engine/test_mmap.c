/* The back end that copies from and to a mapping, and locks: judged by what is in the files and by locks held from outside. */
#include "tests/unit/agent/engine/rig.h"

#include <sched.h>
#include <sys/mount.h>

#include "common/base/clock.h"

#define WORKERS 2
#define SIZE    (21 * 47008 + 5) /* neither records nor pages go up */
#define RECORD  47008

static struct phase
mapped(enum phase_kind kind, enum phase_layout layout)
{
	struct phase spec = rig_phase(kind);

	spec.engine = ENGINE_MMAP;
	spec.layout = (int)layout;
	spec.file_size = SIZE;
	spec.record_size = RECORD;
	return spec;
}

static void
check_part(struct rig *r, const struct phase *spec, uint32_t worker, uint64_t generation)
{
	static const char *const names[] = { "n0/data.%u", "n0/data", "shared/data", "shared/data.i" };
	struct phase_place p;
	char path[64];

	assert_int_equal(phase_place(spec, r->workers, r->nodes, r->node, worker, &p, NULL), LS_OK);
	if (spec->files_per_worker > 1)
		snprintf(path, sizeof(path), "n0/f.%u/%08u", worker, (unsigned)spec->files_per_worker - 1);
	else if (spec->layout == LAYOUT_WORKER)
		snprintf(path, sizeof(path), "n0/data.%u", worker);
	else
		snprintf(path, sizeof(path), "%s", names[spec->layout]);
	assert_int_equal(rig_size(r, path), SIZE);
	for (uint64_t done = 0, at = p.offset; done < p.length; done += RECORD, at += p.step)
		rig_check_stamps(
		    r, path, at, LS_MIN((uint64_t)RECORD, p.length - done), data_writer(r->node, worker), generation);
}

static void
run_mapped(struct rig *r, const struct phase *spec)
{
	bool writes = phase_kind_info((enum phase_kind)spec->kind)->op == OP_WRITE && spec->kind != PHASE_MIXED &&
	    spec->kind != PHASE_RECORD_REWRITE;
	uint64_t epoch = rig_arm(r, spec, false);

	rig_start(r, epoch);
	assert_int_equal(rig_wait(r), SHM_STARTED);
	engine_flush(r->engine);
	rig_no_errors(r);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct phase_place p;
		assert_int_equal(phase_place(spec, r->workers, r->nodes, r->node, i, &p, NULL), LS_OK);
		assert_int_equal(rig_get(&rig_worker(r, i)->bytes), p.length * LS_MAX(spec->files_per_worker, 1));
		check_part(r, spec, i, writes ? data_generation(epoch, 0) : 0);
	}
}

static void
test_mapped_kinds_in_each_layout(void **state)
{
	static const enum phase_kind kinds[] = { PHASE_WRITE, PHASE_READ, PHASE_REWRITE, PHASE_RANDOM_READ,
		PHASE_RANDOM_WRITE, PHASE_BACKWARD_READ, PHASE_STRIDE_READ, PHASE_MIXED, PHASE_PWRITE, PHASE_PREAD,
		PHASE_WRITE };

	(void)state;
	for (int layout = LAYOUT_WORKER; layout <= LAYOUT_INTERLEAVED + 1; layout++) {
		bool many = layout > LAYOUT_INTERLEAVED;
		struct rig r;
		rig_init(&r, NULL, 0, 1, WORKERS, WORKERS);
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			struct phase spec = mapped(kinds[k], many ? LAYOUT_WORKER : (enum phase_layout)layout);
			spec.files_per_worker = many ? 3 : 1;
			spec.mmap_sync = k % 3 == 0 ? MMAP_SYNC_SYNC : k % 3 == 1 ? MMAP_SYNC_NONE : MMAP_SYNC_ASYNC;
			spec.fsync = k % 2 == 0;
			spec.close = k % 4 == 0;
			run_mapped(&r, &spec);
		}
		rig_fini(&r);
	}
}

/* --- SIGBUS ---------------------------------------------------------------------------------------------------------- */

static const struct io_error *
the_error(struct rig *r)
{
	const struct io_error *errors;
	size_t count;

	assert_true(engine_errors(r->engine, &errors, &count) >= 1);
	return &errors[0];
}

static void
test_no_space_in_a_mapping_is_an_error(void **state)
{
	struct phase spec = mapped(PHASE_WRITE, LAYOUT_WORKER);
	char dir[] = "/tmp/lockstep-full-XXXXXX";
	struct rig r;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can mount\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	assert_int_equal(mount("none", dir, "tmpfs", 0, "size=512k"), 0);
	rig_init(&r, dir, 0, 1, 1, 1);
	rig_start(&r, rig_arm(&r, &spec, false));
	assert_int_equal(rig_wait(&r), SHM_STARTED);
	engine_flush(r.engine);
	const struct io_error *e = the_error(&r);
	assert_string_equal(e->call, "mmap");
	if (e->errno_name == NULL || strcmp(e->errno_name, "ENOSPC") != 0)
		fail_msg("%s", e->text);
	assert_int_equal(e->offset % RECORD, 0);
	assert_in_range(e->offset, RECORD, 512 << 10);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), e->offset);
	rig_fini(&r);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Cut by somebody between arming and the start. */
static void
test_a_file_that_shrinks_is_an_error(void **state)
{
	struct phase spec = mapped(PHASE_READ, LAYOUT_WORKER);
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	uint64_t epoch = rig_arm(&r, &spec, false);
	int fd = openat(r.dir_fd, "n0/data.0", O_WRONLY);
	assert_int_equal(ftruncate(fd, 5 * RECORD), 0);
	close(fd);
	rig_start(&r, epoch);
	assert_int_equal(rig_wait(&r), SHM_STARTED);
	engine_flush(r.engine);
	const struct io_error *e = the_error(&r);
	assert_string_equal(e->call, "mmap");
	assert_non_null(strstr(e->text, "the file ends there"));
	assert_in_range(e->offset, 4 * RECORD, 6 * RECORD); /* up to a page's end the mapping is there */
	/* The same worker goes on with the next phase, which lays the file out again. */
	rig_run(&r, &spec);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), SIZE);
	rig_fini(&r);
}

/* --- locks ----------------------------------------------------------------------------------------------------------- */

static void
lock_range(int fd, short type, off_t begin, off_t length)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = begin, .l_len = length };

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
}

struct lock_case {
	const char *name;
	enum phase_kind kind;
	enum phase_locks locks;
	short type;      /* of the lock that another process would hold */
	uint64_t before; /* operations that do not wait for it */
};

#define SMALL 4096

/* Record 5 of 8 is locked. */
static const struct lock_case lock_cases[] = {
	{ "no locks", PHASE_REWRITE, LOCKS_NONE, F_WRLCK, 8 },
	{ "write of the record", PHASE_REWRITE, LOCKS_RECORD, F_RDLCK, 5 },
	{ "read of the record", PHASE_READ, LOCKS_RECORD, F_WRLCK, 5 },
	{ "readers share", PHASE_READ, LOCKS_RECORD, F_RDLCK, 8 },
	{ "the whole file, writing", PHASE_REWRITE, LOCKS_FILE, F_RDLCK, 0 },
	{ "the whole file, reading", PHASE_READ, LOCKS_FILE, F_WRLCK, 0 },
	{ "through a stream", PHASE_FWRITE, LOCKS_RECORD, F_WRLCK, 5 },
};

static void
check_lock_case(const struct lock_case *c, enum phase_engine engine)
{
	struct phase spec = rig_phase(c->kind);
	struct rig r;

	spec.engine = (int)(c->kind == PHASE_FWRITE ? ENGINE_SYNC : engine);
	spec.file_size = 8 * SMALL;
	spec.record_size = SMALL;
	spec.locks = (int)c->locks;
	rig_init(&r, NULL, 0, 1, 1, 1);
	uint64_t epoch = rig_arm(&r, &spec, false);
	int fd = openat(r.dir_fd, "n0/data.0", O_RDWR);
	lock_range(fd, c->type, 5 * SMALL + 7, 1);
	rig_start(&r, epoch);

	struct shm_worker *w = rig_worker(&r, 0);
	if (c->before < 8) { /* it comes to wait for the lock, and nowhere else */
		for (int i = 0; i < 5000 && atomic_load(&w->call) != SHM_CALL_FCNTL; i++)
			usleep(1000);
		usleep(20000);
		assert_int_equal(atomic_load(&w->call), SHM_CALL_FCNTL);
		if (rig_get(&w->done) != c->before)
			fail_msg("%s: %llu operations done, wanted %llu", c->name,
			    (unsigned long long)rig_get(&w->done), (unsigned long long)c->before);
		lock_range(fd, F_UNLCK, 0, 0);
	}
	assert_int_equal(rig_wait(&r), SHM_STARTED);
	engine_flush(r.engine);
	rig_no_errors(&r);
	assert_int_equal(rig_get(&w->ops), 8);
	/* Nothing is held afterwards. */
	lock_range(fd, F_WRLCK, 0, 0);
	close(fd);
	if (c->locks == LOCKS_RECORD && c->before < 8) /* the wait is part of the operation */
		assert_true(rig_get(&w->latency[phase_kind_info(c->kind)->op].sum) > 15 * NS_PER_MS);
	rig_fini(&r);
}

static void
test_locks_are_held_and_waited_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lock_cases); i++) {
		check_lock_case(&lock_cases[i], ENGINE_SYNC);
		check_lock_case(&lock_cases[i], ENGINE_MMAP);
	}
}

/* Workers of one process exclude each other: one holds the whole shared file at a time. */
static void
test_workers_wait_for_each_other(void **state)
{
	struct phase spec = rig_phase(PHASE_REWRITE);
	struct rig r;

	(void)state;
	spec.layout = LAYOUT_SHARED;
	spec.file_size = 2 << 20;
	spec.record_size = SMALL;
	spec.locks = LOCKS_FILE;
	rig_init(&r, NULL, 0, 1, WORKERS, WORKERS);
	rig_run(&r, &spec);
	int64_t begin[2], end[2];
	for (uint32_t i = 0; i < 2; i++) {
		begin[i] = rig_get_i(&rig_worker(&r, i)->start_ns);
		end[i] = rig_get_i(&rig_worker(&r, i)->end_ns);
		assert_true(end[i] > begin[i]);
	}
	assert_true(begin[0] > begin[1] ? begin[0] >= end[1] : begin[1] >= end[0]);
	rig_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped_kinds_in_each_layout),
		cmocka_unit_test(test_no_space_in_a_mapping_is_an_error),
		cmocka_unit_test(test_a_file_that_shrinks_is_an_error),
		cmocka_unit_test(test_locks_are_held_and_waited_for),
		cmocka_unit_test(test_workers_wait_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
