/* pread and pwrite, one after the other. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/engine/calls.h"
#include "agent/engine/io.h"
#include "agent/engine/locks.h"
#include "common/base/mem.h"

enum ls_rc
io_sync_setup(struct io_job *job, struct ls_err *err)
{
	struct io_flight *f = ls_calloc(1, sizeof(*f));

	(void)err;
	job->state = f;
	job->complete = !io_flight_next(job, f);
	return LS_OK;
}

enum ls_rc
io_sync_again(struct io_job *job, struct ls_err *err)
{
	(void)err;
	job->complete = !io_flight_next(job, job->state);
	return LS_OK;
}

void
io_sync_teardown(struct io_job *job)
{
	free(job->state);
	job->state = NULL;
}

/* The whole record, short calls continued. False when the job has failed. */
static inline bool
do_calls(struct io_job *job, struct io_flight *f, int64_t (*issue)(struct io_job *, struct io_flight *))
{
	while (!io_flight_result(job, f, issue(job, f)))
		if (io_failed(job))
			return false;
	return true;
}

static bool
lock_failed(struct io_job *job, const struct io_flight *f, int errnum)
{
	if (!io_failed(job)) {
		job->failure.call = SHM_CALL_FCNTL;
		job->failure.errnum = errnum;
		job->failure.offset = f->record.offset;
	}
	return false;
}

/* The same with a lock of the record around it. */
static bool __attribute__((noinline))
do_locked(struct io_job *job, struct io_flight *f, int64_t (*issue)(struct io_job *, struct io_flight *))
{
	bool write = f->op != OP_READ;

	tally_call(&job->tally, SHM_CALL_FCNTL);
	int errnum = lock_take(job->fd, write, f->record.offset, f->record.length);
	if (errnum != 0)
		return lock_failed(job, f, errnum);
	tally_call(&job->tally, f->call);

	bool done = do_calls(job, f, issue);
	errnum = lock_drop(job->fd, f->record.offset, f->record.length);
	return errnum == 0 ? done : lock_failed(job, f, errnum);
}

static inline bool
do_record(struct io_job *job, struct io_flight *f, int64_t (*issue)(struct io_job *, struct io_flight *))
{
	return __builtin_expect(job->lock_records, 0) ? do_locked(job, f, issue) : do_calls(job, f, issue);
}

/* What follows the end of an operation: judging, the next record. False when there is none. */
static bool
after_end(struct io_job *job, struct io_flight *f, int64_t end)
{
	job->source.now_ns = end;
	if (job->check != NULL && f->op == OP_READ)
		check_record(job->check, f->buffer, &f->record);
	job->complete = !io_flight_next(job, f);
	return !job->complete;
}

/* The same loop as below, with a sleep before each operation. */
static void
run_at_pace(struct io_job *job, int64_t (*issue)(struct io_job *job, struct io_flight *f))
{
	struct io_flight *f = job->state;
	struct tally *t = &job->tally;
	int64_t end = 0;

	do {
		f->due_ns = t->start_ns + pace_due(&job->pace, end > 0 ? end - t->start_ns : 0, f->record.length);
		if (!pace_sleep(t, f->due_ns))
			return;
		f->begin_ns = io_now_ns();
		tally_call(t, f->call);
		tally_begin(t, f->begin_ns);
		if (!do_record(job, f, issue))
			return;
		end = io_now_ns();
		io_flight_ended(job, f, end);
		tally_note(t, end);
	} while (after_end(job, f, end));
}

void
io_sync_run(struct io_job *job, int64_t (*issue)(struct io_job *job, struct io_flight *f))
{
	struct io_flight *f = job->state;
	struct tally *t = &job->tally;
	bool first = !t->began;

	if (job->complete)
		return;
	if (pace_is_set(&job->pace)) {
		run_at_pace(job, issue);
		return;
	}
	int64_t now = io_now_ns();
	while (tally_more(t, now)) {
		tally_call(t, f->call);
		tally_begin(t, now);
		if (!do_record(job, f, issue))
			return;
		int64_t end = io_now_ns();
		tally_end_op(t, f->op, now, end, f->record.length);
		tally_note(t, end);
		now = end;
		if (!after_end(job, f, end))
			return;
		if (first)
			sched_yield(); /* a worker that waits for this processor starts now, not a scheduler's slice later */
		/* Renewing and checking stamps takes a while, a yield as well; without either the end of one is the start of the next. */
		if (first || job->write || job->check != NULL)
			now = io_now_ns();
		first = false;
	}
}

static int64_t
issue_call(struct io_job *job, struct io_flight *f)
{
	size_t left = f->record.length - f->done;
	off_t offset = (off_t)(f->record.offset + f->done);
	ssize_t n;

	if (f->op == OP_WRITE)
		n = call_pwrite(job->fd, f->buffer + f->done, left, offset);
	else
		n = call_pread(job->fd, f->buffer + f->done, left, offset);
	return n < 0 ? -errno : n;
}

static void
run(struct io_job *job)
{
	io_sync_run(job, issue_call);
}

const struct io_engine io_engine_sync = {
	.name = "sync",
	.setup = io_sync_setup,
	.again = io_sync_again,
	.run = run,
	.teardown = io_sync_teardown,
};
