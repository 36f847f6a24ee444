#include "agent/engine/tally.h"

#include <string.h>

static void
store_i64(_Atomic int64_t *p, int64_t v)
{
	atomic_store_explicit(p, v, memory_order_relaxed);
}

void
tally_arm(struct tally *t, struct shm_worker *shm, const struct shm_control *control, uint64_t epoch, enum op_kind op)
{
	memset(t, 0, sizeof(*t));
	t->shm = shm;
	t->control = control;
	t->epoch = epoch;
	t->op = op;
	hist_reset(&shm->latency[op]);
}

void
tally_serve(struct tally *t, enum op_kind op)
{
	hist_reset(&t->shm->service[op]);
}

void
tally_also(struct tally *t, enum op_kind op)
{
	hist_reset(&t->shm->latency[op]);
}

void
tally_go(struct tally *t, int64_t start_ns, int64_t warmup_ns)
{
	t->start_ns = start_ns;
	t->count_from_ns = start_ns + warmup_ns;
	t->step_ns = start_ns + SHM_STEP_NS;
}

int64_t
tally_limit_ns(int64_t start_ns, int64_t warmup_ns, int64_t time_ns)
{
	return time_ns > 0 ? start_ns + warmup_ns + time_ns : INT64_MAX;
}

void
tally_first(struct tally *t, int64_t now_ns)
{
	if (!t->began) {
		t->began = true;
		store_i64(&t->shm->first_op_ns, now_ns);
	}
	if (now_ns >= t->count_from_ns) {
		t->counting = true;
		store_i64(&t->shm->start_ns, now_ns);
	}
}

static void
note(_Atomic uint64_t *to, _Atomic uint64_t *from)
{
	atomic_store_explicit(to, atomic_load_explicit(from, memory_order_relaxed), memory_order_release);
}

void
tally_step(struct tally *t, int64_t at_ns)
{
	struct shm_worker *s = t->shm;
	uint64_t n = atomic_load_explicit(&s->ring_count, memory_order_relaxed);
	struct shm_step *step = &s->ring[n % SHM_RING];

	/* Release: who sees one of these in a slot sees that the writer has come round to it (sampler.c). */
	atomic_store_explicit(&step->at_ns, at_ns, memory_order_release);
	note(&step->bytes, &s->bytes);
	note(&step->ops, &s->ops);
	note(&step->write_bytes, &s->op_bytes[OP_WRITE]);
	note(&step->write_ops, &s->op_ops[OP_WRITE]);
	atomic_store_explicit(&s->ring_count, n + 1, memory_order_release);
	t->step_ns = t->start_ns + ((at_ns - t->start_ns) / SHM_STEP_NS + 1) * SHM_STEP_NS;
}

static int64_t
timeval_diff_ns(struct timeval a, struct timeval b)
{
	return ((int64_t)a.tv_sec - (int64_t)b.tv_sec) * NS_PER_S +
	    ((int64_t)a.tv_usec - (int64_t)b.tv_usec) * NS_PER_US;
}

/* Was a step noted at that very instant already? */
static bool
step_noted(const struct tally *t, int64_t at_ns)
{
	uint64_t n = atomic_load_explicit(&t->shm->ring_count, memory_order_relaxed);

	return n > 0 && atomic_load_explicit(&t->shm->ring[(n - 1) % SHM_RING].at_ns, memory_order_relaxed) >= at_ns;
}

void
tally_finish(struct tally *t, int64_t end_ns)
{
	struct shm_worker *s = t->shm;
	struct rusage now;

	if (t->end_ns > 0 && !step_noted(t, t->end_ns))
		tally_step(t, t->end_ns);
	if (getrusage(RUSAGE_THREAD, &now) == 0) {
		store_i64(&s->cpu_user_ns, timeval_diff_ns(now.ru_utime, t->cpu.ru_utime));
		store_i64(&s->cpu_system_ns, timeval_diff_ns(now.ru_stime, t->cpu.ru_stime));
	}
	tally_call(t, SHM_CALL_NONE);
	store_i64(&s->end_ns, LS_MAX(end_ns, t->end_ns));
}
