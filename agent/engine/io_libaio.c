/* The older kernel interface for asynchronous I/O; truly asynchronous with direct I/O only. */
#include <errno.h>
#include <libaio.h>
#include <stdlib.h>

#include "agent/engine/io.h"
#include "common/base/mem.h"

struct aio {
	io_context_t context;
	struct iocb *blocks;   /* by flight */
	struct iocb **pending; /* room for a batch */
	struct io_event *events;
	unsigned in_flight;
};

static enum ls_rc
explain(int errnum, struct ls_err *err)
{
	if (errnum == ENOSYS)
		return ls_err_set(err, LS_E_REFUSED, "libaio: this kernel has no asynchronous I/O");
	if (errnum == EAGAIN)
		return ls_err_set(err, LS_E_REFUSED, "libaio: the machine's limit fs.aio-max-nr is used up");
	return ls_err_sys(err, errnum, "io_setup");
}

static enum ls_rc
supported(struct ls_err *err)
{
	io_context_t context = NULL;
	/* A context for no events is EINVAL where the call exists. A real one would cost tens of ms to destroy. */
	int rc = io_setup(0, &context);

	return rc == -EINVAL ? LS_OK : explain(-rc, err);
}

static void
queue_close(void *queue)
{
	struct aio *a = queue;

	if (a->context != NULL)
		io_destroy(a->context);
	free(a->blocks);
	free(a->pending);
	free(a->events);
	free(a);
}

static enum ls_rc
queue_open(struct io_job *job, void **out_queue, struct ls_err *err)
{
	struct aio *a = ls_calloc(1, sizeof(*a));
	enum ls_rc rc;
	int n;

	a->blocks = ls_try_calloc(job->depth, sizeof(*a->blocks));
	a->pending = ls_try_calloc(job->depth, sizeof(struct iocb *));
	a->events = ls_try_calloc(job->depth, sizeof(*a->events));
	if (a->blocks == NULL || a->pending == NULL || a->events == NULL) {
		rc = ls_err_set(err, LS_E_NOMEM, "no memory for %u operations in flight", job->depth);
		goto fail;
	}
	n = io_setup((int)job->depth, &a->context);
	if (n < 0) {
		a->context = NULL;
		rc = explain(-n, err);
		goto fail;
	}
	*out_queue = a;
	return LS_OK;
fail:
	queue_close(a);
	return rc;
}

static void
prepare(struct aio *a, const struct io_job *job, struct io_flight *f)
{
	struct iocb *block = &a->blocks[f->index];
	unsigned char *at = f->buffer + f->done;
	size_t left = f->record.length - f->done;
	uint64_t at_offset = f->record.offset + f->done;
	long long offset = (long long)at_offset;

	if (f->op == OP_WRITE)
		io_prep_pwrite(block, job->fd, at, left, offset);
	else
		io_prep_pread(block, job->fd, at, left, offset);
	block->data = f;
}

/* Issues what the kernel takes at once. Returns how many, or a negative errno when it took none. */
static int
submit(struct aio *a, unsigned count)
{
	unsigned taken = 0;

	while (taken < count) {
		int n = io_submit(a->context, (long)(count - taken), a->pending + taken);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return taken > 0 ? (int)taken : n;
		taken += (unsigned)n;
	}
	return (int)taken;
}

static int
submit_wait(void *queue, struct io_job *job, struct io_flight *const *batch, unsigned count, unsigned *issued,
    struct io_completion *out)
{
	struct aio *a = queue;

	for (unsigned i = 0; i < count; i++) {
		prepare(a, job, batch[i]);
		a->pending[i] = &a->blocks[batch[i]->index];
	}

	int taken = submit(a, count);
	if (taken < 0 && (taken != -EAGAIN || a->in_flight == 0))
		return taken;
	*issued = taken > 0 ? (unsigned)taken : 0;
	a->in_flight += *issued;

	struct timespec wait = { .tv_sec = job->wait_ns / NS_PER_S, .tv_nsec = job->wait_ns % NS_PER_S };
	int n = io_getevents(a->context, 1, (long)job->depth, a->events, job->wait_ns > 0 ? &wait : NULL);
	if (n < 0)
		return n == -EINTR ? 0 : n;
	for (int i = 0; i < n; i++) {
		out[i].flight = a->events[i].data;
		out[i].result = (int64_t)a->events[i].res; /* a negative errno, held in an unsigned long */
	}
	a->in_flight -= (unsigned)n;
	return n;
}

static const struct io_queue_ops queue_ops = {
	.call = SHM_CALL_IO_GETEVENTS,
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

const struct io_engine io_engine_libaio = {
	.name = "libaio",
	.supported = supported,
	.setup = setup,
	.again = io_async_again,
	.run = run,
	.teardown = teardown,
};
