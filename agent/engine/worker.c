/* A worker's thread: carries out the main thread's orders. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "common/base/mem.h"

static void
set_state(struct worker *w, enum shm_worker_state state)
{
	atomic_store_explicit(&w->shm->state, (uint32_t)state, memory_order_release);
}

void
worker_fail(struct worker *w, const struct failure *failure)
{
	struct failure f = *failure;

	f.worker = w->index;
	w->failed = true;
	hist_bump(&w->shm->errors, 1);
	errors_add(&w->engine->errors, &f);
}

void
worker_fail_sys(struct worker *w, const char *step, enum shm_call call, const char *path, int errnum)
{
	worker_fail(w,
	    &(struct failure){
		.rc = LS_E_SYS, .step = step, .call = call, .path = path, .offset = LS_UNKNOWN_U64, .errnum = errnum });
}

void
worker_fail_err(struct worker *w, const char *step, const struct ls_err *err)
{
	worker_fail(w,
	    &(struct failure){
		.rc = err->rc, .step = step, .offset = LS_UNKNOWN_U64, .errnum = err->sys, .text = err->text });
}

bool
worker_stop_asked(struct worker *w)
{
	if (atomic_load_explicit(&w->engine->control->stop_epoch, memory_order_relaxed) < w->engine->epoch)
		return false;
	worker_fail(w,
	    &(struct failure){ .rc = LS_E_CLOSED,
		.step = "arm",
		.offset = LS_UNKNOWN_U64,
		.text = "stopped while files were laid out" });
	return true;
}

uint64_t
worker_data_budget(const struct worker *w)
{
	uint64_t active = w->engine->active;
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	/* More than a compressor's window for each worker's file, as long as all of it is a small part of the memory. */
	uint64_t wanted = LS_MIN(DATA_WINDOW_BYTES, LS_MAX(DATA_NODE_BYTES, memory / 32) / active);

	if (w->engine->spec.compress == 100) /* zeros but for the stamps: more of them are not better */
		wanted = 0;
	return LS_MAX(wanted, DATA_WORKER_BYTES);
}

size_t
engine_alignment(const struct engine *e)
{
	return LS_MAX((size_t)e->config.dio_align, (size_t)DATA_BLOCK);
}

struct data_source
worker_data_source(const struct worker *w)
{
	return (struct data_source){
		.seed = w->engine->config.seed,
		.writer = data_writer(w->engine->config.node_index, w->index),
		.epoch = w->engine->epoch,
		.wall_ns = w->wall_ns,
		.now_ns = atomic_load_explicit(&w->shm->since_ns, memory_order_relaxed),
	};
}

struct data_pattern
worker_data_pattern(const struct worker *w)
{
	uint64_t seed = offsets_mix(w->engine->config.seed);

	return (struct data_pattern){
		.stream = seed ^ data_writer(w->engine->config.node_index, w->index),
		.common = offsets_mix(seed),
		.compress = (unsigned)w->engine->spec.compress,
		.duplicate = (unsigned)w->engine->spec.duplicate,
	};
}

/* Closing files can hang like any other call: it is shown. */
static void
disarm(struct worker *w)
{
	if (!w->armed)
		return;
	enum shm_worker_state before =
	    (enum shm_worker_state)atomic_load_explicit(&w->shm->state, memory_order_relaxed);
	atomic_store_explicit(&w->shm->call, SHM_CALL_CLOSE, memory_order_relaxed);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	set_state(w, SHM_PREPARING);
	w->engine->ops->disarm(w);
	w->armed = false;
	atomic_store_explicit(&w->shm->call, SHM_CALL_NONE, memory_order_relaxed);
	set_state(w, before);
}

static void
arm(struct worker *w)
{
	w->idle = w->failed = false;
	atomic_store_explicit(&w->shm->tid, (int32_t)syscall(SYS_gettid), memory_order_relaxed);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	w->wall_ns = data_wall_offset_ns();
	set_state(w, SHM_PREPARING);
	w->armed = true;
	if (!(w->engine->lay_out ? w->engine->ops->lay_out(w) : w->engine->ops->arm(w))) {
		set_state(w, SHM_FAILED);
		return;
	}
	atomic_store_explicit(&w->shm->call, SHM_CALL_WAIT, memory_order_relaxed);
	set_state(w, w->idle ? SHM_IDLE : SHM_PARKED);
}

static void
go(struct worker *w)
{
	struct rusage cpu;
	enum shm_decision decision = start_wait(w, &cpu);

	if (w->idle)
		return;
	if (decision == SHM_STARTED) {
		set_state(w, SHM_RUNNING);
		w->engine->ops->run(w, &cpu);
	}
	atomic_store_explicit(&w->shm->call, SHM_CALL_NONE, memory_order_relaxed);
	set_state(w, w->failed ? SHM_FAILED : SHM_ENDED);
}

static void
flush(struct worker *w)
{
	if (w->engine->ops->flush != NULL && !w->idle) {
		set_state(w, SHM_FLUSHING);
		w->engine->ops->flush(w);
		set_state(w, w->failed ? SHM_FAILED : SHM_ENDED);
	}
	disarm(w);
}

static void
carry_out(struct worker *w, enum order order)
{
	switch (order) {
	case ORDER_ARM:
		arm(w);
		break;
	case ORDER_GO:
		go(w);
		break;
	case ORDER_FLUSH:
		flush(w);
		break;
	case ORDER_DISARM:
	case ORDER_EXIT:
		disarm(w);
		break;
	}
}

/* Tells the main thread: by the condition for what it waits for, by the event for the end of a phase. */
static void
report_done(struct engine *e, enum order order)
{
	uint64_t one = 1;

	pthread_mutex_lock(&e->lock);
	if (order == ORDER_GO) {
		if (--e->running == 0)
			(void)!write(e->event_fd, &one, sizeof(one)); /* cannot fail: the counter is far from full */
	} else if (--e->pending == 0) {
		pthread_cond_signal(&e->done);
	}
	pthread_mutex_unlock(&e->lock);
}

/* The next order that is for this worker. */
static enum order
next_order(struct worker *w, uint64_t *seen)
{
	struct engine *e = w->engine;
	enum order order;

	pthread_mutex_lock(&e->lock);
	do {
		while (e->order_number == *seen)
			pthread_cond_wait(&e->wake, &e->lock);
		*seen = e->order_number;
		order = e->order;
	} while (order != ORDER_EXIT && w->index >= e->active);
	pthread_mutex_unlock(&e->lock);
	return order;
}

void *
worker_main(void *arg)
{
	struct worker *w = arg;
	uint64_t seen = w->born_at;
	enum order order;
	char name[16]; /* in /proc */

	snprintf(name, sizeof(name), "ls-worker-%u", w->index);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1UL); /* ns: the sleep before the instant must not be rounded up by 50 us */
	do {
		order = next_order(w, &seen);
		carry_out(w, order);
		report_done(w->engine, order);
	} while (order != ORDER_EXIT);
	return NULL;
}
