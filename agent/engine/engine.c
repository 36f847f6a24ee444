#include "agent/engine/engine_int.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/engine/layout.h"
#include "common/base/mem.h"

#define THREAD_STACK (512U << 10) /* workers keep nothing big on it; the default times 4,096 would not fit everywhere */

enum ls_rc
engine_new(const struct engine_config *config, struct engine **out, struct ls_err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return ls_err_sys(err, errno, "engine: eventfd");

	struct engine *e = ls_calloc(1, sizeof(*e));
	e->config = *config;
	e->run_dir = ls_strdup(config->run_dir);
	e->config.run_dir = e->run_dir;
	e->control = shm_map_control(config->map);
	e->event_fd = fd;
	e->node_workers = ls_calloc(config->node_count, sizeof(*e->node_workers));
	e->fsynced = ls_calloc(config->node_count, sizeof(*e->fsynced));
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->wake, NULL);
	pthread_cond_init(&e->done, NULL);
	errors_init(&e->errors, e->run_dir);
	filled_init(&e->filled);
	cluster_init(&e->cluster);
	checks_init(&e->checks, e->run_dir, config->seed);
	*out = e;
	return LS_OK;
}

/* --- orders ---------------------------------------------------------------------------------------------------------- */

/* Gives an order to so many workers; *counter is what they count down. */
static void
give_order(struct engine *e, enum order order, uint32_t *counter, uint32_t workers)
{
	pthread_mutex_lock(&e->lock);
	*counter = workers;
	e->order = order;
	e->order_number++;
	pthread_cond_broadcast(&e->wake);
	pthread_mutex_unlock(&e->lock);
}

static void
order_and_wait(struct engine *e, enum order order, uint32_t workers)
{
	give_order(e, order, &e->pending, workers);
	pthread_mutex_lock(&e->lock);
	while (e->pending > 0)
		pthread_cond_wait(&e->done, &e->lock);
	pthread_mutex_unlock(&e->lock);
}

static bool
is_running(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	bool running = e->running > 0;
	pthread_mutex_unlock(&e->lock);
	return running;
}

/* --- threads --------------------------------------------------------------------------------------------------------- */

static int
start_thread(struct worker *w)
{
	pthread_attr_t attr;
	sigset_t all, before;

	int rc = pthread_attr_init(&attr);
	if (rc != 0)
		return rc;
	pthread_attr_setstacksize(&attr, LS_MAX(THREAD_STACK, (size_t)PTHREAD_STACK_MIN));
	/* Signals are the main thread's business; the new one inherits the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, &attr, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

static enum ls_rc
add_worker(struct engine *e, struct ls_err *err)
{
	void *memory = NULL;

	/* Lines of its own: what it writes at each operation must not be another's. */
	if (posix_memalign(&memory, LS_CACHE_LINE,
		(sizeof(struct worker) + LS_CACHE_LINE - 1) / LS_CACHE_LINE * LS_CACHE_LINE) != 0)
		return ls_err_set(err, LS_E_NOMEM, "engine: no memory for worker %u", e->worker_count);
	memset(memory, 0, sizeof(struct worker));

	struct worker *w = memory;
	w->engine = e;
	w->index = e->worker_count;
	w->shm = shm_map_worker(e->config.map, w->index);
	w->born_at = e->order_number;
	w->meta.dir_fd = w->meta.files_fd = -1;
	w->tree.top_fd = w->tree.base_fd = w->tree.dir_fd = -1;
	w->data.job.fd = -1;

	int rc = start_thread(w);
	if (rc != 0) {
		free(w);
		return ls_err_sys(err, rc, "engine: no thread for worker %u", e->worker_count);
	}
	e->workers = ls_grow(e->workers, e->worker_count, sizeof(struct worker *));
	e->workers[e->worker_count++] = w;
	return LS_OK;
}

static enum ls_rc
need_workers(struct engine *e, uint64_t n, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (n > shm_map_workers(e->config.map))
		return ls_err_set(err, LS_E_LIMIT, "engine: %llu workers, the shared counters have room for %u",
		    (unsigned long long)n, shm_map_workers(e->config.map));
	while (rc == LS_OK && e->worker_count < n)
		rc = add_worker(e, err);
	return rc;
}

/* --- a phase --------------------------------------------------------------------------------------------------------- */

enum ls_rc
engine_supports(enum phase_engine engine, struct ls_err *err)
{
	const struct io_engine *io = io_engine_get(engine);

	return io->supported == NULL ? LS_OK : io->supported(err);
}

/* The node whose workers ours are, or when laying out act for: its numbers decide about the files. */
static uint64_t
acts_for(const struct engine *e, const struct engine_arm *arm)
{
	uint64_t self = e->config.node_index;

	return arm->lay_out ? phase_user(arm->spec, self, e->config.node_count) : self;
}

static void
set_phase(struct engine *e, const struct engine_arm *arm)
{
	e->spec = *arm->spec;
	/* Validated before; a text that is wrong all the same means none. */
	if (phase_parse_sizes(arm->spec, e->sizes, &e->size_count, NULL) != LS_OK)
		e->size_count = 0;
	e->spec.name = e->spec.device = e->spec.record_sizes = NULL;
	snprintf(e->device, sizeof(e->device), "%s", arm->spec->device != NULL ? arm->spec->device : "");
	e->spec.nodes = NULL; /* node_workers says who is idle */
	e->spec.nodes_count = 0;
	e->spec.verify = phase_verifies(arm->spec);
	memcpy(e->node_workers, arm->node_workers, e->config.node_count * sizeof(*e->node_workers));
	for (uint64_t i = 0; i < e->config.node_count; i++)
		e->fsynced[i] = arm->fsynced != NULL ? arm->fsynced[i] : 0;
	e->ops = phase_ops_get((enum phase_kind)e->spec.kind);
	e->lay_out = arm->lay_out;
	e->shifted = phase_is_shifted(&e->spec, e->config.node_count);
	e->user = acts_for(e, arm);
	e->owner = phase_owner(&e->spec, e->user, e->config.node_count);
	e->active = (uint32_t)e->node_workers[e->user];
	layout_begin(e);
	e->epoch++;
	e->tag = arm->tag;
	checks_begin(&e->checks, e->epoch, e->spec.kind);
	atomic_store_explicit(&e->tickets, 0, memory_order_relaxed);
	atomic_store_explicit(&e->control->start_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&e->control->decided_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&e->control->decision, SHM_UNDECIDED, memory_order_relaxed);
	atomic_store_explicit(&e->control->armed_epoch, e->epoch, memory_order_release);
}

/* A failure that is no worker's, told in the same form as theirs. */
static enum ls_rc
fail_arm(struct engine *e, const struct ls_err *why, struct io_error *out_error, struct ls_err *err)
{
	struct failure f = { .rc = why->rc,
		.worker = LS_UNKNOWN_U64,
		.step = "arm",
		.offset = LS_UNKNOWN_U64,
		.errnum = why->sys,
		.text = why->text };

	errors_add(&e->errors, &f);
	return errors_first(&e->errors, out_error, err);
}

/* The old phase's files are closed, its errors and events forgotten; threads are there and their counters empty. */
static enum ls_rc
make_ready(struct engine *e, uint64_t workers, struct ls_err *err)
{
	uint64_t event;

	order_and_wait(e, ORDER_DISARM, e->active);
	(void)!read(e->event_fd, &event, sizeof(event));
	errors_reset(&e->errors);

	enum ls_rc rc = need_workers(e, workers, err);
	if (rc != LS_OK)
		return rc;
	for (uint32_t i = 0; i < e->worker_count; i++)
		shm_worker_reset(e->workers[i]->shm);
	return LS_OK;
}

enum ls_rc
engine_arm(
    struct engine *e, const struct engine_arm *arm, uint64_t *out_epoch, struct io_error *out_error, struct ls_err *err)
{
	struct ls_err why;

	if (is_running(e))
		return ls_err_set(err, LS_E_STATE, "engine: armed while workers are still in the phase before");
	if (arm->lay_out && phase_ops_get((enum phase_kind)arm->spec->kind)->lay_out == NULL)
		return ls_err_set(err, LS_E_INVALID, "engine: %s lays out no files for other nodes",
		    phase_kind_info((enum phase_kind)arm->spec->kind)->name);
	if (make_ready(e, arm->node_workers[acts_for(e, arm)], &why) != LS_OK)
		return fail_arm(e, &why, out_error, err);
	/*
	 * arm->redo needs nothing here: each arm looks at what there is and makes what the phase needs, so that the second one
	 * finds the files as the first did.
	 */
	set_phase(e, arm);
	order_and_wait(e, ORDER_ARM, e->active);

	enum ls_rc rc = errors_first(&e->errors, out_error, err);
	if (rc != LS_OK) {
		order_and_wait(e, ORDER_DISARM, e->active);
		return rc;
	}
	*out_epoch = e->epoch;
	return LS_OK;
}

void
engine_disarm(struct engine *e)
{
	if (!is_running(e))
		order_and_wait(e, ORDER_DISARM, e->active);
}

void
engine_go(struct engine *e, struct ls_mono start, int64_t late_limit_ns)
{
	uint64_t one = 1;

	e->start_ns = start.ns;
	e->late_limit_ns = late_limit_ns;
	atomic_store_explicit(
	    &e->control->limit_ns, tally_limit_ns(start.ns, e->spec.warmup, e->spec.time), memory_order_relaxed);
	atomic_store_explicit(&e->control->start_ns, start.ns, memory_order_relaxed);
	if (e->active > 0) {
		give_order(e, ORDER_GO, &e->running, e->active);
		return;
	}
	atomic_store_explicit(&e->control->decision, SHM_STARTED, memory_order_release);
	(void)!write(e->event_fd, &one, sizeof(one));
}

int
engine_event_fd(const struct engine *e)
{
	return e->event_fd;
}

bool
engine_left(struct engine *e, enum shm_decision *decision)
{
	uint64_t event;

	if (is_running(e) || read(e->event_fd, &event, sizeof(event)) != (ssize_t)sizeof(event))
		return false;
	*decision = (enum shm_decision)atomic_load_explicit(&e->control->decision, memory_order_acquire);
	return true;
}

int64_t
engine_flush(struct engine *e)
{
	int64_t begin = io_now_ns();

	if (is_running(e))
		return 0;
	order_and_wait(e, ORDER_FLUSH, e->active);
	return io_now_ns() - begin;
}

uint64_t
engine_errors(const struct engine *e, const struct io_error **out, size_t *out_count)
{
	*out = e->errors.kept;
	*out_count = e->errors.kept_count;
	return e->errors.count;
}

size_t
engine_mismatches(const struct engine *e, const struct mismatch **out)
{
	*out = e->checks.kept;
	return e->checks.kept_count;
}

const struct cluster_node *
engine_cluster(const struct engine *e)
{
	bool cluster = (phase_kind_info((enum phase_kind)e->spec.kind)->groups & PHASE_CLUSTER) != 0;

	return cluster && e->active > 0 ? &e->cluster.told : NULL;
}

void
engine_stop(struct engine *e)
{
	/* From the mapping and not from e->epoch: another thread may be arming. */
	uint64_t epoch = atomic_load_explicit(&e->control->armed_epoch, memory_order_acquire);
	uint64_t before = atomic_load_explicit(&e->control->stop_epoch, memory_order_relaxed);

	/* The agent writes it, too: it never goes back. */
	while (before < epoch &&
	    !atomic_compare_exchange_weak_explicit(
		&e->control->stop_epoch, &before, epoch, memory_order_relaxed, memory_order_relaxed))
		continue;
}

bool
engine_stopped(const struct engine *e, uint64_t epoch)
{
	return atomic_load_explicit(&e->control->stop_epoch, memory_order_acquire) >= epoch;
}

void
engine_free(struct engine *e)
{
	if (e == NULL)
		return;
	engine_stop(e);
	/* Those still in a phase come to this order when they have left it. */
	give_order(e, ORDER_EXIT, &e->pending, e->worker_count);
	for (uint32_t i = 0; i < e->worker_count; i++) {
		struct worker *w = e->workers[i];
		pthread_join(w->thread, NULL);
		data_pool_free(&w->write_pool);
		data_pool_free(&w->read_pool);
		free(w);
	}
	free(e->workers);
	filled_fini(&e->filled);
	cluster_fini(&e->cluster);
	checks_fini(&e->checks);
	errors_fini(&e->errors);
	pthread_cond_destroy(&e->done);
	pthread_cond_destroy(&e->wake);
	pthread_mutex_destroy(&e->lock);
	free(e->node_workers);
	free(e->fsynced);
	free(e->run_dir);
	close(e->event_fd);
	free(e);
}
