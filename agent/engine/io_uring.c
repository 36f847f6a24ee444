/* io_uring: registered file and buffers where the limits allow, one system call to issue a batch and wait. */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "agent/engine/io.h"
#include "common/base/mem.h"

#define FIXED_MAX (1ULL << 30) /* the kernel registers no longer buffer */

struct uring {
	struct io_uring ring;
	bool fixed_buffers, fixed_file;
};

/* The best set-up that the kernel knows: 6.1, 5.19, 5.1. */
static int
open_ring(struct io_uring *ring, unsigned depth, unsigned more)
{
	static const unsigned flags[] = {
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
#endif
#ifdef IORING_SETUP_COOP_TASKRUN
		IORING_SETUP_COOP_TASKRUN,
#endif
		0,
	};
	int rc = -EINVAL;

	for (size_t i = 0; i < ARRAY_LEN(flags) && rc == -EINVAL; i++)
		rc = io_uring_queue_init(depth, ring, flags[i] | more);
	return rc;
}

static enum ls_rc
explain(int errnum, struct ls_err *err)
{
	if (errnum == ENOSYS)
		return ls_err_set(err, LS_E_REFUSED, "io_uring: this kernel has none");
	if (errnum == EPERM || errnum == EACCES)
		return ls_err_set(err, LS_E_REFUSED,
		    "io_uring: switched off on this machine (kernel.io_uring_disabled, or a seccomp filter)");
	if (errnum == ENOMEM)
		return ls_err_set(err, LS_E_REFUSED, "io_uring: no memory for the rings (limit of locked memory?)");
	return ls_err_sys(err, errnum, "io_uring_setup");
}

static enum ls_rc
supported(struct ls_err *err)
{
	struct io_uring ring;
	int rc = open_ring(&ring, 1, 0);

	if (rc < 0)
		return explain(-rc, err);
	io_uring_queue_exit(&ring);
	return LS_OK;
}

enum ls_rc
io_uring_can_sq_poll(struct ls_err *err)
{
	struct io_uring ring;
	int rc = open_ring(&ring, 1, IORING_SETUP_SQPOLL);

	char why[96];

	if (rc < 0)
		return ls_err_set(err, LS_E_REFUSED,
		    "sq_poll: the kernel gives no thread for it (%s); before Linux 5.11 it needs CAP_SYS_ADMIN",
		    ls_strerror(-rc, why, sizeof(why)));
	io_uring_queue_exit(&ring);
	return LS_OK;
}

/* One polled read. Its result, or what kept it from being issued. */
static int
polled_read(struct io_uring *ring, int fd, void *memory, unsigned length)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int rc;

	if (sqe == NULL)
		return -EAGAIN;
	io_uring_prep_read(sqe, fd, memory, length, 0);
	rc = io_uring_submit_and_wait(ring, 1);
	if (rc >= 0)
		rc = io_uring_wait_cqe(ring, &cqe);
	if (rc < 0)
		return rc;
	rc = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return rc;
}

/* What the device of the file says: 0 when it has no polled queues, -1 when nobody knows. */
static int
device_polls(int fd)
{
	static const char *const places[] = { "queue", "../queue" /* of a partition */ };
	struct stat st;
	char path[96];
	int value = -1;

	if (fstat(fd, &st) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(places) && value < 0; i++) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s/io_poll", major(st.st_dev), minor(st.st_dev),
		    places[i]);
		FILE *f = fopen(path, "re");
		if (f == NULL)
			continue;
		int c = getc(f);
		value = c == '0' || c == '1' ? c - '0' : -1;
		(void)fclose(f);
	}
	return value;
}

enum ls_rc
io_uring_can_poll(int fd, struct ls_err *err)
{
	struct io_uring ring;
	void *memory = NULL;
	char why[96];

	if (device_polls(fd) == 0)
		return ls_err_set(err, LS_E_REFUSED,
		    "io_poll: the volume's device has no polled queues (queue/io_poll is 0): completions would come by "
		    "interrupt");
	if (posix_memalign(&memory, 4096, 4096) != 0)
		return ls_err_set(err, LS_E_NOMEM, "io_poll: no memory");

	int rc = open_ring(&ring, 1, IORING_SETUP_IOPOLL);
	if (rc == 0) {
		rc = polled_read(&ring, fd, memory, 4096);
		io_uring_queue_exit(&ring);
	}
	free(memory);
	if (rc >= 0)
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED, "io_poll: the volume cannot poll for completions (a trial read: %s)",
	    ls_strerror(-rc, why, sizeof(why)));
}

static enum ls_rc
queue_open(struct io_job *job, void **out_queue, struct ls_err *err)
{
	size_t bytes = (size_t)io_slots(job) * job->slot_bytes;
	struct iovec all = { .iov_base = job->memory, .iov_len = bytes };
	struct uring *u = ls_calloc(1, sizeof(*u));
	unsigned more = (job->io_poll ? IORING_SETUP_IOPOLL : 0) | (job->sq_poll ? IORING_SETUP_SQPOLL : 0);
	int rc = open_ring(&u->ring, job->depth, more);

	if (rc < 0) {
		free(u);
		return explain(-rc, err);
	}
	/* Older kernels wait with a time by an operation of its own, which would take a place in the ring. */
	if (pace_is_set(&job->pace) && (u->ring.features & IORING_FEAT_EXT_ARG) == 0) {
		io_uring_queue_exit(&u->ring);
		free(u);
		return ls_err_set(err, LS_E_REFUSED,
		    "io_uring: this kernel cannot wait for a time; a rate or think time needs Linux 5.11");
	}
	/* Either may be refused (limit of locked memory): then each call names them anew. */
	u->fixed_buffers = bytes <= FIXED_MAX && io_uring_register_buffers(&u->ring, &all, 1) == 0;
	u->fixed_file = !job->unshared_file && io_uring_register_files(&u->ring, &job->fd, 1) == 0;
	*out_queue = u;
	return LS_OK;
}

static void
queue_close(void *queue)
{
	struct uring *u = queue;

	/* The kernel takes a ring apart some time later: without this the file would stay open until then, and the volume busy. */
	if (u->fixed_file)
		io_uring_unregister_files(&u->ring);
	if (u->fixed_buffers)
		io_uring_unregister_buffers(&u->ring);
	io_uring_queue_exit(&u->ring);
	free(u);
}

static void
prepare(const struct uring *u, const struct io_job *job, struct io_uring_sqe *sqe, struct io_flight *f)
{
	int fd = u->fixed_file ? 0 : job->fd;
	unsigned char *at = f->buffer + f->done;
	unsigned left = f->record.length - f->done;
	uint64_t offset = f->record.offset + f->done;

	if (f->op == OP_WRITE && u->fixed_buffers)
		io_uring_prep_write_fixed(sqe, fd, at, left, offset, 0);
	else if (f->op == OP_WRITE)
		io_uring_prep_write(sqe, fd, at, left, offset);
	else if (u->fixed_buffers)
		io_uring_prep_read_fixed(sqe, fd, at, left, offset, 0);
	else
		io_uring_prep_read(sqe, fd, at, left, offset);
	if (u->fixed_file)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, f);
}

/* Relative: an absolute time would be that of the machine, which is another one in a time namespace. */
static int
submit_wait_for(struct io_uring *ring, int64_t wait_ns)
{
	struct __kernel_timespec wait = { .tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S };
	struct io_uring_cqe *cqe;

	return io_uring_submit_and_wait_timeout(ring, &cqe, 1, &wait, NULL);
}

static int
submit_wait(void *queue, struct io_job *job, struct io_flight *const *batch, unsigned count, unsigned *issued,
    struct io_completion *out)
{
	struct uring *u = queue;
	struct io_uring_cqe *cqe;
	unsigned head, n = 0, i = 0;

	for (; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
		if (sqe == NULL)
			break;
		prepare(u, job, sqe, batch[i]);
	}
	*issued = i; /* what the kernel does not take now stays in the ring until the next call */

	int rc = job->wait_ns > 0 ? submit_wait_for(&u->ring, job->wait_ns) : io_uring_submit_and_wait(&u->ring, 1);
	if (rc < 0 && rc != -ETIME && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
		return rc;
	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		if (n == job->depth)
			break;
		out[n].flight = io_uring_cqe_get_data(cqe);
		out[n++].result = cqe->res;
	}
	io_uring_cq_advance(&u->ring, n);
	return (int)n;
}

static const struct io_queue_ops queue_ops = {
	.call = SHM_CALL_IO_URING_ENTER,
	.open = queue_open,
	.submit_wait = submit_wait,
	.close = queue_close,
};

static enum ls_rc
setup(struct io_job *job, struct ls_err *err)
{
	return io_async_setup(job, &queue_ops, err);
}

static void
run(struct io_job *job)
{
	io_async_run(job, &queue_ops);
}

static void
teardown(struct io_job *job)
{
	io_async_teardown(job, &queue_ops);
}

const struct io_engine io_engine_io_uring = {
	.name = "io_uring",
	.supported = supported,
	.setup = setup,
	.again = io_async_again,
	.run = run,
	.teardown = teardown,
};
