/*
 * Kernels that lack something or fail: a seccomp filter makes one system call fail in a child process, which tells by its exit
 * status how far it came (0: as wanted, else the line that was not).
 */
#include "tests/unit/agent/engine/rig.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/engine/path.h"
#include "common/base/clock.h"

#define WANT(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #cond);                                 \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* From here on that call fails with this errno, in this thread and those it makes. */
static void
break_call(long call, int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = ARRAY_LEN(code), .filter = code };

	WANT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	WANT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void
in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- before openat2 -------------------------------------------------------------------------------------------------- */

struct open_case {
	const char *rel;
	int errnum;
};

static const struct open_case opens[] = {
	{ "d/f", 0 },
	{ "d/none", ENOENT },
	{ "d/link", ELOOP },
	{ "out/passwd", ENOTDIR }, /* O_DIRECTORY on the link itself */
	{ "d/../../etc/passwd", EXDEV },
	{ "/etc/passwd", EXDEV },
	{ "d//f", EXDEV },
};

static void
old_kernel_opens(void)
{
	char dir[] = "/tmp/lockstep-old-XXXXXX";

	WANT(mkdtemp(dir) != NULL);
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	WANT(path_mkdir(fd, "d") == 0);
	WANT(symlinkat("f", fd, "d/link") == 0 && symlinkat("/etc", fd, "out") == 0);
	break_call(SYS_openat2, ENOSYS);
	int file = path_open(fd, "d/f", O_CREAT | O_EXCL | O_WRONLY, 0600);
	WANT(file >= 0);
	int next = file + 1;
	for (size_t i = 0; i < ARRAY_LEN(opens); i++) {
		errno = 0;
		int got = path_open(fd, opens[i].rel, O_RDONLY, 0);
		if ((got < 0 ? errno : 0) != opens[i].errnum)
			fprintf(stderr, "%s: %s\n", opens[i].rel, strerrorname_np(errno));
		WANT((got < 0 ? errno : 0) == opens[i].errnum);
		WANT(got < 0 || got == next); /* nothing was left open on the way */
		close(got);
	}
	WANT(unlinkat(fd, "d/f", 0) == 0 && unlinkat(fd, "d/link", 0) == 0 && unlinkat(fd, "out", 0) == 0);
	WANT(unlinkat(fd, "d", AT_REMOVEDIR) == 0 && rmdir(dir) == 0);
}

static void
test_before_openat2(void **state)
{
	(void)state;
	in_child(old_kernel_opens);
}

/* --- back ends that are switched off --------------------------------------------------------------------------------- */

static void
no_io_uring(void)
{
	struct rig r;
	struct phase spec = rig_phase(PHASE_READ);
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	break_call(SYS_io_uring_setup, EPERM);
	WANT(engine_supports(ENGINE_IO_URING, &err) == LS_E_REFUSED);
	WANT(strstr(err.text, "switched off") != NULL);
	rig_init(&r, NULL, 0, 1, 2, 2);
	spec.engine = ENGINE_IO_URING;
	spec.file_size = 65536;
	WANT(rig_try_arm(&r, &spec, false, &epoch, &error, &err) == LS_E_REFUSED);
	WANT(strstr(err.text, "switched off") != NULL);
	field_struct_fini(&io_error_desc, &error);
	rig_fini(&r);
}

static void
no_libaio(void)
{
	struct ls_err err;

	break_call(SYS_io_setup, ENOSYS);
	WANT(engine_supports(ENGINE_LIBAIO, &err) == LS_E_REFUSED);
	WANT(strstr(err.text, "libaio: this kernel") != NULL);
	WANT(engine_supports(ENGINE_SYNC, &err) == LS_OK);
}

static void
test_back_ends_switched_off(void **state)
{
	(void)state;
	in_child(no_io_uring);
	in_child(no_libaio);
}

/* --- a volume that fails to flush ------------------------------------------------------------------------------------ */

static void
check_flush_error(enum phase_kind kind, bool timed, const char *step, const char *call)
{
	struct rig r;
	struct phase spec = rig_phase(kind);
	const struct io_error *errors;
	size_t count;

	rig_init(&r, NULL, 0, 1, 1, 1);
	spec.file_size = 65536;
	spec.record_size = 16384;
	spec.files = 3;
	spec.fsync = timed;
	rig_start(&r, rig_arm(&r, &spec, false));
	WANT(rig_wait(&r) == SHM_STARTED);
	WANT(engine_errors(r.engine, &errors, &count) == (timed ? 1 : 0));
	engine_flush(r.engine);
	WANT(engine_errors(r.engine, &errors, &count) >= 1);
	WANT(strcmp(errors[0].step, step) == 0 && strcmp(errors[0].call, call) == 0);
	WANT(strcmp(errors[0].errno_name, "EIO") == 0);
	WANT(atomic_load(&rig_worker(&r, 0)->state) == SHM_FAILED);
	rig_fini(&r);
}

static void
fsync_fails(void)
{
	break_call(SYS_fsync, EIO);
	check_flush_error(PHASE_WRITE, false, "flush", "fsync");
	check_flush_error(PHASE_WRITE, true, "run", "fsync");
	check_flush_error(PHASE_CREATE, true, "run", "fsync");
}

static void
syncfs_fails(void)
{
	break_call(SYS_syncfs, EIO);
	check_flush_error(PHASE_CREATE, false, "flush", "syncfs");
}

static void
close_fails(void)
{
	struct rig r;
	struct phase spec = rig_phase(PHASE_CREATE);
	const struct io_error *errors;
	size_t count;

	rig_init(&r, NULL, 0, 1, 1, 1);
	spec.files = 3;
	break_call(SYS_close, EDQUOT); /* NFS tells of a full quota here */
	rig_start(&r, rig_arm(&r, &spec, false));
	WANT(rig_wait(&r) == SHM_STARTED);
	WANT(engine_errors(r.engine, &errors, &count) == 1);
	WANT(strcmp(errors[0].call, "close") == 0 && strcmp(errors[0].errno_name, "EDQUOT") == 0);
	rig_fini(&r);
}

static void
test_flush_and_close_errors_are_told(void **state)
{
	(void)state;
	in_child(fsync_fails);
	in_child(syncfs_fails);
	in_child(close_fails);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_openat2),
		cmocka_unit_test(test_back_ends_switched_off),
		cmocka_unit_test(test_flush_and_close_errors_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
