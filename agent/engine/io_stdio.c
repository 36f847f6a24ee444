/*
 * Streams of the C library: fread and fwrite through a buffer of one record (iozone), getc and putc through the buffer that the
 * library chooses (bonnie++ before 1.97).
 */
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
setup_putc(struct io_job *job, struct ls_err *err)
{
	struct stdio_state *s = ls_calloc(1, sizeof(*s));

	job->state = s;
	s->stream = open_stream(job);
	if (s->stream == NULL)
		return ls_err_sys(err, errno, "fdopen");
	job->complete = !io_flight_next(job, &s->flight);
	if (!job->complete && fseeko(s->stream, (off_t)s->flight.record.offset, SEEK_SET) < 0)
		return ls_err_sys(err, errno, "fseeko");
	s->next = s->flight.record.offset;
	return LS_OK;
}

static enum ls_rc
setup(struct io_job *job, struct ls_err *err)
{
	size_t size = (size_t)job->offsets.config.record;
	enum ls_rc rc = setup_putc(job, err);
	struct stdio_state *s = job->state;

	if (rc != LS_OK)
		return rc;
	s->buffer = ls_try_calloc(size, 1);
	if (s->buffer == NULL)
		return ls_err_set(err, LS_E_NOMEM, "no memory for a stream's buffer of %zu bytes", size);
	setvbuf(s->stream, s->buffer, _IOFBF, size);
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
issue_putc(struct stdio_state *s, const struct io_flight *f)
{
	for (uint32_t i = f->done; i < f->record.length; i++)
		if (putc(f->buffer[i], s->stream) == EOF)
			return errno != 0 ? -errno : -EIO;
	return f->record.length - f->done;
}

static int64_t
issue_getc(struct stdio_state *s, const struct io_flight *f)
{
	for (uint32_t i = f->done; i < f->record.length; i++) {
		int c = getc(s->stream);
		if (c == EOF && ferror(s->stream))
			return errno != 0 ? -errno : -EIO;
		if (c == EOF)
			return i - f->done;
		f->buffer[i] = (unsigned char)c;
	}
	return f->record.length - f->done;
}

/* Both directions of one way to use a stream. */
struct stdio_calls {
	int64_t (*write)(struct stdio_state *s, const struct io_flight *f);
	int64_t (*read)(struct stdio_state *s, const struct io_flight *f);
};

static inline int64_t
issue_call(struct io_job *job, struct io_flight *f, const struct stdio_calls *calls)
{
	struct stdio_state *s = job->state;
	uint64_t offset = f->record.offset + f->done;

	errno = 0;
	if (offset != s->next && fseeko(s->stream, (off_t)offset, SEEK_SET) < 0)
		return -errno;

	int64_t n = f->op == OP_WRITE ? calls->write(s, f) : calls->read(s, f);
	s->next = n >= 0 ? offset + (uint64_t)n : UINT64_MAX;
	return n;
}

static int64_t
issue_records(struct io_job *job, struct io_flight *f)
{
	return issue_call(job, f, &(const struct stdio_calls){ issue_write, issue_read });
}

static int64_t
issue_characters(struct io_job *job, struct io_flight *f)
{
	return issue_call(job, f, &(const struct stdio_calls){ issue_putc, issue_getc });
}

static void
run(struct io_job *job)
{
	io_sync_run(job, issue_records);
}

static void
run_putc(struct io_job *job)
{
	io_sync_run(job, issue_characters);
}

static int
push(struct io_job *job)
{
	struct stdio_state *s = job->state;

	return s == NULL || fflush(s->stream) == 0 ? 0 : -errno;
}

const struct io_engine io_engine_putc = {
	.name = "putc",
	.plain_calls = true,
	.setup = setup_putc,
	.run = run_putc,
	.push = push,
	.teardown = teardown,
};

const struct io_engine io_engine_stdio = {
	.name = "stdio",
	.plain_calls = true,
	.setup = setup,
	.run = run,
	.push = push,
	.teardown = teardown,
};
