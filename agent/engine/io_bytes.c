/* A record as system calls of one byte each: what bonnie++ 1.97 and later mean by "a byte at a time". */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "agent/engine/io.h"
#include "common/base/mem.h"

struct bytes_state {
	struct io_flight flight; /* first: it is what the synchronous loop finds in job->state */
	uint64_t next;           /* the descriptor's position */
};

static enum ls_rc
setup(struct io_job *job, struct ls_err *err)
{
	struct bytes_state *s = ls_calloc(1, sizeof(*s));

	job->state = s;
	job->complete = !io_flight_next(job, &s->flight);
	s->next = s->flight.record.offset;
	if (job->fd >= 0 && lseek(job->fd, (off_t)s->next, SEEK_SET) < 0)
		return ls_err_sys(err, errno, "lseek");
	return LS_OK;
}

static int64_t
issue_call(struct io_job *job, struct io_flight *f)
{
	struct bytes_state *s = job->state;
	uint64_t offset = f->record.offset + f->done;
	unsigned char *at = f->buffer + f->done, *end = f->buffer + f->record.length;

	if (offset != s->next && lseek(job->fd, (off_t)offset, SEEK_SET) < 0)
		return -errno;
	for (; at < end; at++) {
		ssize_t n = f->op == OP_WRITE ? write(job->fd, at, 1) : read(job->fd, at, 1);
		if (n == 1)
			continue;
		int64_t got = at - (f->buffer + f->done);
		s->next = offset + (uint64_t)got;
		return got > 0 || n == 0 ? got : -errno;
	}
	s->next = f->record.offset + f->record.length;
	return f->record.length - f->done;
}

static void
run(struct io_job *job)
{
	io_sync_run(job, issue_call);
}

const struct io_engine io_engine_bytes = {
	.name = "bytes",
	.plain_calls = true,
	.setup = setup,
	.run = run,
	.teardown = io_sync_teardown,
};
