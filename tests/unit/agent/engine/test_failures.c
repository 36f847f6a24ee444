/* What goes wrong on a volume: told with call, path, offset and errno; the others go on. */
#include "tests/unit/agent/engine/rig.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "common/base/clock.h"

#define SIZE   (1 << 20)
#define RECORD (64 << 10)

static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO };

static struct phase
phase_of(enum phase_kind kind, enum phase_engine engine)
{
	struct phase spec = rig_phase(kind);

	spec.file_size = SIZE;
	spec.record_size = RECORD;
	spec.engine = (int)engine;
	spec.depth = engine == ENGINE_SYNC ? 1 : 4;
	return spec;
}

/* One error; its fields against what is wanted (NULL: none). */
static void
check_error(const struct io_error *e, const char *step, const char *call, const char *path_end, const char *errno_name)
{
	if (e->step == NULL || strcmp(e->step, step) != 0 || e->call == NULL || strcmp(e->call, call) != 0 ||
	    e->path == NULL || strlen(e->path) < strlen(path_end) ||
	    strcmp(e->path + strlen(e->path) - strlen(path_end), path_end) != 0 ||
	    (errno_name == NULL) != (e->errno_name == NULL) ||
	    (errno_name != NULL && strcmp(e->errno_name, errno_name) != 0))
		fail_msg(
		    "got step %s, call %s, path %s, errno %s: %s", e->step, e->call, e->path, e->errno_name, e->text);
}

static void
run_to_error(struct rig *r, const struct phase *spec)
{
	rig_start(r, rig_arm(r, spec, false));
	assert_int_equal(rig_wait(r), SHM_STARTED);
	engine_flush(r->engine);
}

/* EFBIG in the middle of worker 0's file only: worker 1's segment of a common file would lie behind it, so files differ. */
static void
test_error_in_one_worker_leaves_the_others(void **state)
{
	struct rlimit old, low = { .rlim_cur = SIZE / 2 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low.rlim_max = old.rlim_max;
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct rig r;
		struct phase spec = phase_of(PHASE_WRITE, engines[i]);
		const struct io_error *errors;
		size_t count;
		if (engine_supports(engines[i], NULL) != LS_OK)
			continue;
		rig_init(&r, NULL, 0, 1, 2, 2);
		spec.layout = LAYOUT_NODE; /* worker 0 writes below the limit, worker 1 above */
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
		run_to_error(&r, &spec);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_int_equal(engine_errors(r.engine, &errors, &count), 1);
		check_error(&errors[0], "run", "pwrite", "/n0/data", "EFBIG");
		assert_int_equal(errors[0].worker, 1);
		assert_int_equal(errors[0].offset % RECORD, 0);
		assert_in_range(errors[0].offset, SIZE / 2, SIZE);
		assert_int_equal(atomic_load(&rig_worker(&r, 0)->state), SHM_ENDED);
		assert_int_equal(atomic_load(&rig_worker(&r, 1)->state), SHM_FAILED);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), SIZE / 2);
		assert_int_equal(rig_get(&rig_worker(&r, 1)->bytes), 0);
		assert_int_equal(rig_get(&rig_worker(&r, 1)->errors), 1);
		assert_true(rig_get_i(&rig_worker(&r, 1)->end_ns) > 0);
		rig_fini(&r);
	}
}

/* The limit cuts a record: the kernel writes a part of it, the rest fails with the offset where it stopped. */
static void
test_short_write_is_continued(void **state)
{
	struct rlimit old, low = { .rlim_cur = RECORD + 4096 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low.rlim_max = old.rlim_max;
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct rig r;
		struct phase spec = phase_of(PHASE_WRITE, engines[i]);
		const struct io_error *errors;
		size_t count;
		if (engine_supports(engines[i], NULL) != LS_OK)
			continue;
		spec.depth = 1;
		rig_init(&r, NULL, 0, 1, 1, 1);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
		run_to_error(&r, &spec);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_int_equal(engine_errors(r.engine, &errors, &count), 1);
		check_error(&errors[0], "run", "pwrite", "/n0/data.0", "EFBIG");
		assert_int_equal(errors[0].offset, RECORD + 4096);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->ops), 1);
		rig_fini(&r);
	}
}

static void
test_file_that_ends_early(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct rig r;
		struct phase spec = phase_of(PHASE_READ, engines[i]);
		const struct io_error *errors;
		size_t count;
		if (engine_supports(engines[i], NULL) != LS_OK)
			continue;
		rig_init(&r, NULL, 0, 1, 1, 1);
		uint64_t epoch = rig_arm(&r, &spec, false);
		int fd = openat(r.dir_fd, "n0/data.0", O_WRONLY);
		assert_int_equal(
		    ftruncate(fd, 3 * RECORD + 100), 0); /* the record in it is read short, then nothing comes */
		close(fd);
		rig_start(&r, epoch);
		assert_int_equal(rig_wait(&r), SHM_STARTED);
		assert_int_equal(engine_errors(r.engine, &errors, &count), 1);
		check_error(&errors[0], "run", "pread", "/n0/data.0", NULL);
		if (spec.depth == 1)
			assert_int_equal(errors[0].offset, 3 * RECORD + 100);
		assert_non_null(strstr(errors[0].text, "the file ends there"));
		engine_flush(r.engine);
		rig_fini(&r);
	}
}

static void
test_missing_file_in_delete(void **state)
{
	struct rig r;
	struct phase spec = rig_phase(PHASE_DELETE);
	const struct io_error *errors;
	size_t count;

	(void)state;
	spec.files = 10;
	rig_init(&r, NULL, 0, 1, 1, 1);
	uint64_t epoch = rig_arm(&r, &spec, false);
	assert_int_equal(unlinkat(r.dir_fd, "n0/d.0/00000004", 0), 0);
	rig_start(&r, epoch);
	rig_wait(&r);
	assert_int_equal(engine_errors(r.engine, &errors, &count), 1);
	check_error(&errors[0], "run", "unlink", "/n0/d.0/00000004", "ENOENT");
	assert_int_equal(rig_get(&rig_worker(&r, 0)->ops), 4);
	engine_flush(r.engine);
	rig_fini(&r);
}

static void
test_arm_fails_with_path(void **state)
{
	struct rig r;
	struct phase spec = phase_of(PHASE_WRITE, ENGINE_SYNC);
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	/* A symbolic link where a file should be is not followed. */
	assert_int_equal(mkdirat(r.dir_fd, "n0", 0700), 0);
	assert_int_equal(symlinkat("/dev/null", r.dir_fd, "n0/data.1"), 0);
	assert_int_equal(rig_try_arm(&r, &spec, false, &epoch, &error, &err), LS_E_SYS);
	check_error(&error, "arm", "open", "/n0/data.1", "ELOOP");
	assert_int_equal(error.worker, 1);
	assert_non_null(strstr(err.text, "n0/data.1"));
	field_struct_fini(&io_error_desc, &error);
	/* And the engine is as good as before. */
	assert_int_equal(unlinkat(r.dir_fd, "n0/data.1", 0), 0);
	rig_run(&r, &spec);
	rig_fini(&r);
}

static void
test_stop_ends_laying_out(void **state)
{
	struct rig r;
	struct phase spec = phase_of(PHASE_READ, ENGINE_SYNC);
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	atomic_store(&shm_map_control(r.map)->stop_epoch, 1);
	assert_int_equal(rig_try_arm(&r, &spec, false, &epoch, &error, &err), LS_E_CLOSED);
	field_struct_fini(&io_error_desc, &error);
	rig_fini(&r);
}

static void
test_buffers_beyond_memory_are_refused(void **state)
{
	struct rig r;
	struct phase spec = phase_of(PHASE_READ, ENGINE_LIBAIO);
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	spec.file_size = 1ULL << 50;
	spec.record_size = 1 << 30;
	spec.depth = 4096;
	assert_int_equal(rig_try_arm(&r, &spec, false, &epoch, &error, &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, "half of the memory"));
	field_struct_fini(&io_error_desc, &error);
	rig_fini(&r);
}

/* A full volume, where root can make one. */
static void
test_no_space(void **state)
{
	char mount_point[] = "/tmp/lockstep-full-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(mount_point));
	/* A mount namespace of our own: the mount goes with the process, whatever happens. */
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", mount_point, "tmpfs", 0, "size=512k,nr_inodes=20") != 0) {
		print_message("skipped: cannot mount a tmpfs: %s\n", strerrorname_np(errno));
		rmdir(mount_point);
		skip();
	}
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct rig r;
		struct phase spec = phase_of(PHASE_WRITE, engines[i]);
		const struct io_error *errors;
		size_t count;
		if (engine_supports(engines[i], NULL) != LS_OK)
			continue;
		rig_init(&r, mount_point, 0, 1, 1, 1);
		run_to_error(&r, &spec);
		assert_true(engine_errors(r.engine, &errors, &count) > 0);
		check_error(&errors[0], "run", "pwrite", "/n0/data.0", "ENOSPC");
		rig_fini(&r);
	}
	struct rig r;
	struct phase spec = rig_phase(PHASE_CREATE);
	const struct io_error *errors;
	size_t count;
	rig_init(&r, mount_point, 0, 1, 1, 1);
	run_to_error(&r, &spec);
	assert_true(engine_errors(r.engine, &errors, &count) > 0);
	assert_string_equal(errors[0].errno_name, "ENOSPC");
	assert_string_equal(errors[0].call, "open");
	rig_fini(&r);
	assert_int_equal(umount(mount_point), 0);
	rmdir(mount_point);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_in_one_worker_leaves_the_others),
		cmocka_unit_test(test_short_write_is_continued),
		cmocka_unit_test(test_file_that_ends_early),
		cmocka_unit_test(test_missing_file_in_delete),
		cmocka_unit_test(test_arm_fails_with_path),
		cmocka_unit_test(test_stop_ends_laying_out),
		cmocka_unit_test(test_buffers_beyond_memory_are_refused),
		cmocka_unit_test(test_no_space),
	};

	signal(SIGXFSZ, SIG_IGN); /* io_uring's own threads do not block it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
