/* Does nothing, as fast as the synchronous loop can: what the engine itself costs per operation. */
#include "agent/engine/io.h"

static int64_t
issue_nothing(struct io_job *job, struct io_flight *f)
{
	(void)job;
	return f->record.length - f->done;
}

static void
run(struct io_job *job)
{
	io_sync_run(job, issue_nothing);
}

const struct io_engine io_engine_null = {
	.name = "null",
	.setup = io_sync_setup,
	.again = io_sync_again,
	.run = run,
	.teardown = io_sync_teardown,
};
