/* fread and fwrite through a buffer of one record, as programs do that know files as streams. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/engine/io.h"
#include "common/base/mem.h"

struct stdio_state {
	struct io_flight flight; /* first: it is what the synchronous loop finds in job->state */
	FILE *stream;
	char *buffer;
	uint64_t next; /* the stream's position */
};

static void
teardown(struct io_job *job)
{
	struct stdio_state *s = job->state;

	if (s != NULL && s->stream != NULL)
		fclose(s->stream);
	if (s != NULL)
		free(s->buffer);
	io_sync_teardown(job);
}

/* A stream over a descriptor of its own: closing it leaves the job's alone. */
static FILE *
open_stream(const struct io_job *job)
{
	int fd = fcntl(job->fd, F_DUPFD_CLOEXEC, 0);
	FILE *stream = fd >= 0 ? fdopen(fd, job->write ? "r+" : "r") : NULL;

	if (stream == NULL && fd >= 0)
		close(fd);
	return stream;
}

static enum ls_rc
setup(struct io_job *job, struct ls_err *err)
{
	struct stdio_state *s = ls_calloc(1, sizeof(*s));
	size_t size = (size_t)job->offsets.config.record;

	job->state = s;
	s->stream = open_stream(job);
	if (s->stream == NULL)
		return ls_err_sys(err, errno, "fdopen");
	s->buffer = ls_try_calloc(size, 1);
	if (s->buffer == NULL)
		return ls_err_set(err, LS_E_NOMEM, "no memory for a stream's buffer of %zu bytes", size);
	setvbuf(s->stream, s->buffer, _IOFBF, size);
	s->next = UINT64_MAX; /* nowhere yet */
	job->complete = !io_flight_next(job, &s->flight);
	if (!job->complete && fseeko(s->stream, (off_t)s->flight.record.offset, SEEK_SET) < 0)
		return ls_err_sys(err, errno, "fseeko");
	s->next = s->flight.record.offset;
	return LS_OK;
}

/* After a failed one nobody knows how much of the buffer got through. */
static int64_t
issue_write(struct stdio_state *s, const struct io_flight *f)
{
	size_t left = f->record.length - f->done;
	size_t n = fwrite(f->buffer + f->done, 1, left, s->stream);

	if (n < left)
		return errno != 0 ? -errno : -EIO;
	return (int64_t)n;
}

static int64_t
issue_read(struct stdio_state *s, const struct io_flight *f)
{
	size_t n = fread(f->buffer + f->done, 1, f->record.length - f->done, s->stream);

	if (n == 0 && ferror(s->stream))
		return errno != 0 ? -errno : -EIO;
	return (int64_t)n;
}

static int64_t
issue_call(const struct io_job *job, const struct io_flight *f)
{
	struct stdio_state *s = job->state;
	uint64_t offset = f->record.offset + f->done;

	errno = 0;
	if (offset != s->next && fseeko(s->stream, (off_t)offset, SEEK_SET) < 0)
		return -errno;

	int64_t n = f->op == OP_WRITE ? issue_write(s, f) : issue_read(s, f);
	s->next = n >= 0 ? offset + (uint64_t)n : UINT64_MAX;
	return n;
}

static void
run(struct io_job *job)
{
	io_sync_run(job, issue_call);
}

static int
push(struct io_job *job)
{
	struct stdio_state *s = job->state;

	return s == NULL || fflush(s->stream) == 0 ? 0 : -errno;
}

const struct io_engine io_engine_stdio = {
	.name = "stdio",
	.plain_calls = true,
	.setup = setup,
	.run = run,
	.push = push,
	.teardown = teardown,
};
