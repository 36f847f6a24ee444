/*
 * What a worker has done, told to the mapping at each operation: relaxed stores by the one writer, no lock, no system call
 * (agent/shm/counters.h). Inline, as it is the hot path. Back ends read the clock and tell both ends of each operation.
 *
 * What counts: operations that begin at or after the warm-up's end. `done` counts all.
 */
#ifndef LS_AGENT_ENGINE_TALLY_H
#define LS_AGENT_ENGINE_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "agent/shm/counters.h"

/* One worker's; in memory that no other thread touches. */
struct tally {
	struct shm_worker *shm;
	const struct shm_control *control;
	uint64_t epoch;
	enum op_kind op;       /* that the phase is named after */
	int64_t start_ns;      /* the instant */
	int64_t count_from_ns; /* end of the warm-up */
	int64_t step_ns;       /* an operation that ends at or after this notes a step */
	int64_t end_ns;        /* of the last counted operation, 0: none yet */
	bool began, counting;
	struct rusage cpu; /* at the instant */
};

/* What is known when arming. Touches the pages that the phase will write, so that none is missing later. */
void tally_arm(
    struct tally *t, struct shm_worker *shm, const struct shm_control *control, uint64_t epoch, enum op_kind op);

/* The phase does that operation as well. After tally_arm. */
void tally_also(struct tally *t, enum op_kind op);

/* That operation has an intended beginning. After tally_arm or tally_also. */
void tally_serve(struct tally *t, enum op_kind op);

/* What is known with the instant. */
void tally_go(struct tally *t, int64_t start_ns, int64_t warmup_ns);

/* When the workers of an epoch end at the latest, for struct shm_control: time_ns after the warm-up; time_ns 0: INT64_MAX, never. */
int64_t tally_limit_ns(int64_t start_ns, int64_t warmup_ns, int64_t time_ns);

/* Once, after the last operation and a flush that counts: end_ns (0: the last operation's end), CPU time, the last step. */
void tally_finish(struct tally *t, int64_t end_ns);

/* Slow parts of the inline functions below. */
void tally_first(struct tally *t, int64_t now_ns);
void tally_step(struct tally *t, int64_t at_ns);

/* Has somebody asked this epoch's workers to leave? */
static inline bool
tally_stopped(const struct tally *t)
{
	return atomic_load_explicit(&t->control->stop_epoch, memory_order_relaxed) >= t->epoch;
}

/* The end of the phase's time, which can come nearer while the phase runs (end-at). On the cache line of the stop word. */
static inline int64_t
tally_limit(const struct tally *t)
{
	return atomic_load_explicit(&t->control->limit_ns, memory_order_relaxed);
}

/* May another operation begin? */
static inline bool
tally_more(const struct tally *t, int64_t now_ns)
{
	return now_ns < tally_limit(t) && !tally_stopped(t);
}

/* An operation begins; now_ns was read just before its system call. */
static inline void
tally_begin(struct tally *t, int64_t now_ns)
{
	atomic_store_explicit(&t->shm->since_ns, now_ns, memory_order_relaxed);
	if (__builtin_expect(!t->counting, 0))
		tally_first(t, now_ns);
}

/* One that counts. */
static inline void
tally_count(struct tally *t, enum op_kind op, int64_t end_ns, uint64_t bytes)
{
	struct shm_worker *s = t->shm;

	hist_bump(&s->bytes, bytes);
	hist_bump(&s->ops, 1);
	hist_bump(&s->op_bytes[op], bytes);
	hist_bump(&s->op_ops[op], 1);
	t->end_ns = end_ns;
}

/* It ended; op is one of those that the phase was armed for. */
static inline void
tally_end_op(struct tally *t, enum op_kind op, int64_t begin_ns, int64_t end_ns, uint64_t bytes)
{
	struct shm_worker *s = t->shm;

	hist_bump(&s->done, 1);
	atomic_store_explicit(&s->last_ns, end_ns, memory_order_relaxed);
	if (begin_ns < t->count_from_ns)
		return;
	tally_count(t, op, end_ns, bytes);
	hist_record(&s->latency[op], (uint64_t)(end_ns - begin_ns));
}

/*
 * The same with an intended beginning, from which the latency counts; what was counted in the warm-up is judged by the real one.
 * The time since begin_ns is kept as well.
 */
static inline void
tally_end_due(struct tally *t, enum op_kind op, int64_t due_ns, int64_t begin_ns, int64_t end_ns, uint64_t bytes)
{
	struct shm_worker *s = t->shm;

	hist_bump(&s->done, 1);
	atomic_store_explicit(&s->last_ns, end_ns, memory_order_relaxed);
	if (begin_ns < t->count_from_ns)
		return;
	tally_count(t, op, end_ns, bytes);
	hist_record(&s->latency[op], (uint64_t)(end_ns - due_ns));
	hist_record(&s->service[op], (uint64_t)(end_ns - begin_ns));
}

/* So many operations of the phase that one call ended together: each took that long. */
static inline void
tally_end_many(struct tally *t, int64_t begin_ns, int64_t end_ns, uint64_t count)
{
	struct shm_worker *s = t->shm;

	hist_bump(&s->done, count);
	atomic_store_explicit(&s->last_ns, end_ns, memory_order_relaxed);
	if (begin_ns < t->count_from_ns)
		return;
	hist_bump(&s->ops, count);
	hist_bump(&s->op_ops[t->op], count);
	hist_record_many(&s->latency[t->op], (uint64_t)(end_ns - begin_ns), count);
	t->end_ns = end_ns;
}

/* The same for the phase's own operation. */
static inline void
tally_end(struct tally *t, int64_t begin_ns, int64_t end_ns, uint64_t bytes)
{
	tally_end_op(t, t->op, begin_ns, end_ns, bytes);
}

/* After tally_end, once for all operations that were seen to end at that instant: notes a step where one is due. */
static inline void
tally_note(struct tally *t, int64_t end_ns)
{
	if (__builtin_expect(end_ns >= t->step_ns && t->end_ns == end_ns, 0))
		tally_step(t, end_ns);
}

/* Which call the worker is in, for those who watch. */
static inline void
tally_call(struct tally *t, enum shm_call call)
{
	atomic_store_explicit(&t->shm->call, (uint32_t)call, memory_order_relaxed);
}

#endif
