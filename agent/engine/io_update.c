/* Updates: a record is read, one byte of it changed, and it is written back; all of it is one operation. Reads as they are. */
#include <errno.h>
#include <unistd.h>

#include "agent/engine/calls.h"
#include "agent/engine/io.h"

/* All of the record, short calls continued. Its length, 0 at the end of the file, or a negative errno. */
static int64_t
whole(struct io_job *job, struct io_flight *f, bool write)
{
	f->call = write ? job->write_call : job->read_call;
	tally_call(&job->tally, f->call);
	for (uint32_t done = 0; done < f->record.length;) {
		size_t left = f->record.length - done;
		off_t offset = (off_t)(f->record.offset + done);
		ssize_t n = write ? call_pwrite(job->fd, f->buffer + done, left, offset)
				  : call_pread(job->fd, f->buffer + done, left, offset);
		if (n == 0)
			return 0;
		if (n > 0)
			done += (uint32_t)n;
		else if (errno != EINTR)
			return -errno;
	}
	return f->record.length;
}

static int64_t
issue_call(struct io_job *job, struct io_flight *f)
{
	int64_t n = whole(job, f, false);

	if (n <= 0 || f->op != OP_UPDATE)
		return n;
	f->buffer[f->record.length - 1]++; /* the last: stamps stand at the start of blocks */
	n = whole(job, f, true);
	if (n > 0 && job->sync_updates && fsync(job->fd) < 0) {
		f->call = SHM_CALL_FSYNC;
		return -errno;
	}
	return n;
}

static void
run(struct io_job *job)
{
	io_sync_run(job, issue_call);
}

const struct io_engine io_engine_update = {
	.name = "update",
	.setup = io_sync_setup,
	.run = run,
	.teardown = io_sync_teardown,
};
