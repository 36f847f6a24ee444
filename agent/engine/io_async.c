/* The loop of all back ends with a queue in the kernel: depth operations in flight, each timed from issue to being seen. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "agent/engine/io.h"
#include "common/base/mem.h"

struct async {
	void *queue;
	struct io_flight *flights;
	struct io_flight **batch; /* ready to be issued */
	struct io_completion *completions;
	unsigned ready, in_flight;
	unsigned fresh;             /* of those in batch: the last ones, whose operation has not begun */
	bool exhausted;             /* no record is left */
	struct io_flight **waiting; /* with a pace: the next ones, a ring, in the order of their instants */
	unsigned first_waiting, waiting_count;
};

/* Behind the others: instants follow each other in the order in which they are given. */
static void
put_waiting(struct io_job *job, struct async *a, struct io_flight *f, int64_t ended_ns)
{
	f->due_ns = pace_due(&job->pace, ended_ns, f->record.length);
	a->waiting[(a->first_waiting + a->waiting_count++) % job->depth] = f;
}

/* Those whose instant has come go into the batch. */
static void
release_due(struct io_job *job, struct async *a, int64_t now)
{
	while (a->waiting_count > 0) {
		struct io_flight *f = a->waiting[a->first_waiting];
		if (job->tally.start_ns + f->due_ns > now)
			break;
		f->due_ns += job->tally.start_ns;
		a->first_waiting = (a->first_waiting + 1) % job->depth;
		a->waiting_count--;
		a->batch[a->ready++] = f;
		a->fresh++;
	}
}

/* Gets a flight its next record and into the batch, or where there is a pace among those that wait. ended_ns: 0 for the first. */
static void
refill(struct io_job *job, struct async *a, struct io_flight *f, int64_t ended_ns)
{
	if (a->exhausted || !io_flight_next(job, f)) {
		a->exhausted = true;
		return;
	}
	if (pace_is_set(&job->pace)) {
		put_waiting(job, a, f, ended_ns);
		return;
	}
	a->batch[a->ready++] = f;
	a->fresh++;
}

enum ls_rc
io_async_setup(struct io_job *job, const struct io_queue_ops *ops, struct ls_err *err)
{
	struct async *a = ls_calloc(1, sizeof(*a));

	job->state = a;
	a->flights = ls_try_calloc(job->depth, sizeof(*a->flights));
	a->batch = ls_try_calloc(job->depth, sizeof(struct io_flight *));
	a->completions = ls_try_calloc(job->depth, sizeof(*a->completions));
	a->waiting = ls_try_calloc(job->depth, sizeof(struct io_flight *));
	if (a->flights == NULL || a->batch == NULL || a->completions == NULL || a->waiting == NULL)
		return ls_err_set(err, LS_E_NOMEM, "no memory for %u operations in flight", job->depth);

	enum ls_rc rc = ops->open(job, &a->queue, err);
	if (rc != LS_OK)
		return rc;
	for (unsigned i = 0; i < job->depth; i++) {
		a->flights[i].index = i;
		refill(job, a, &a->flights[i], 0);
	}
	return LS_OK;
}

enum ls_rc
io_async_again(struct io_job *job, struct ls_err *err)
{
	struct async *a = job->state;

	(void)err;
	a->exhausted = job->complete = false;
	for (unsigned i = 0; i < job->depth; i++)
		refill(job, a, &a->flights[i], 0);
	return LS_OK;
}

void
io_async_teardown(struct io_job *job, const struct io_queue_ops *ops)
{
	struct async *a = job->state;

	if (a == NULL)
		return;
	if (a->queue != NULL)
		ops->close(a->queue);
	free(a->flights);
	free(a->batch);
	free(a->completions);
	free(a->waiting);
	free(a);
	job->state = NULL;
}

/* The operations that are about to be issued for the first time begin now. */
static void
begin_fresh(struct io_job *job, struct async *a, int64_t now)
{
	if (a->fresh == 0)
		return;
	for (unsigned i = a->ready - a->fresh; i < a->ready; i++)
		a->batch[i]->begin_ns = now;
	a->fresh = 0;
	tally_begin(&job->tally, now);
}

/* The kernel took the first n of the batch. */
static void
took(struct async *a, unsigned n)
{
	for (unsigned i = n; i < a->ready; i++)
		a->batch[i - n] = a->batch[i];
	a->ready -= n;
	a->in_flight += n;
}

/*
 * Counts what is complete and puts the rest of short ones back. Completed flights are moved to the front of completions;
 * returns how many.
 */
static unsigned
reap(struct io_job *job, struct async *a, unsigned n, int64_t end)
{
	unsigned completed = 0;

	a->in_flight -= n;
	for (unsigned i = 0; i < n; i++) {
		struct io_flight *f = a->completions[i].flight;
		if (io_flight_result(job, f, a->completions[i].result)) {
			io_flight_ended(job, f, end);
			a->completions[completed++].flight = f;
		} else if (!io_failed(job)) {
			a->batch[a->ready++] = f;
		}
	}
	tally_note(&job->tally, end);
	if (io_failed(job))
		a->ready = 0;
	return completed;
}

/* After the time was taken; those that complete meanwhile are seen that much later. */
static void
check_completed(const struct io_job *job, const struct async *a, unsigned completed)
{
	for (unsigned i = 0; i < completed; i++) {
		const struct io_flight *f = a->completions[i].flight;
		if (f->op == OP_READ)
			check_record(job->check, f->buffer, &f->record);
	}
}

/*
 * With a pace: those that are due are issued, and the wait for completions ends when the next one is. Nothing to issue and nothing
 * in flight: sleeps until there is.
 */
static void
keep_pace(struct io_job *job, struct async *a, const struct io_queue_ops *ops)
{
	int64_t now = io_now_ns();

	if (a->ready == 0 && a->in_flight == 0 && a->waiting_count > 0) {
		int64_t due = job->tally.start_ns + a->waiting[a->first_waiting]->due_ns;
		if (!pace_sleep(&job->tally, due))
			a->waiting_count = 0;
		tally_call(&job->tally, ops->call);
		now = io_now_ns();
	}
	release_due(job, a, now);
	begin_fresh(job, a, now);
	job->wait_ns = 0;
	if (a->waiting_count > 0)
		job->wait_ns =
		    LS_MIN(job->tally.start_ns + a->waiting[a->first_waiting]->due_ns - now, (int64_t)100 * NS_PER_MS);
}

/* One turn: issue, wait, count, prepare. False when the queue itself failed. */
static bool
turn(struct io_job *job, struct async *a, const struct io_queue_ops *ops, bool first)
{
	unsigned issued = 0;

	if (pace_is_set(&job->pace)) {
		keep_pace(job, a, ops);
		if (a->ready == 0 && a->in_flight == 0)
			return true;
	}

	int n = ops->submit_wait(a->queue, job, a->batch, a->ready, &issued, a->completions);

	if (n < 0) {
		job->failure.call = ops->call;
		job->failure.errnum = -n;
		return false;
	}
	took(a, issued);

	int64_t end = io_now_ns();
	unsigned completed = reap(job, a, (unsigned)n, end);
	job->source.now_ns = end;
	if (job->check != NULL)
		check_completed(job, a, completed);
	if (!io_failed(job) && tally_more(&job->tally, end))
		for (unsigned i = 0; i < completed; i++)
			refill(job, a, a->completions[i].flight, end - job->tally.start_ns);
	else
		a->waiting_count = 0;
	if (first)
		sched_yield(); /* as in the synchronous loop */
	begin_fresh(job, a, first || job->write || job->check != NULL ? io_now_ns() : end);
	return true;
}

void
io_async_run(struct io_job *job, const struct io_queue_ops *ops)
{
	struct async *a = job->state;
	bool first = !job->tally.began;

	tally_call(&job->tally, ops->call);
	int64_t now = io_now_ns();
	if (!tally_more(&job->tally, now))
		return;
	begin_fresh(job, a, now);
	while (a->ready > 0 || a->in_flight > 0 || a->waiting_count > 0) {
		if (!turn(job, a, ops, first))
			return;
		first = false;
	}
	job->complete = a->exhausted && !io_failed(job);
}
