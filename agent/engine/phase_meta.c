#include "agent/engine/phase_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

/* --- arming ---------------------------------------------------------------------------------------------------------- */

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Files take their data from a pool: no more than the budget, longer files go through it several times. */
static bool
make_data(struct worker *w)
{
	uint64_t size = LS_MIN(w->engine->spec.size, LS_MAX(worker_data_budget(w), (uint64_t)DATA_BLOCK));
	const struct data_pattern pattern = worker_data_pattern(w);
	struct ls_err err;

	if (size == 0 ||
	    data_pool_need(&w->write_pool, (size_t)size, engine_alignment(w->engine), &pattern, &err) == LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

static bool
begin(struct worker *w)
{
	const struct engine *e = w->engine;
	struct meta_state *m = &w->meta;

	memset(m, 0, sizeof(*m));
	m->phase = e->ops->meta;
	m->dir_fd = m->files_fd = -1;
	m->source = worker_data_source(w);
	m->source.sums = true;
	m->source.pool = &w->write_pool;
	tally_arm(&m->tally, w->shm, e->control, e->epoch, phase_kind_info((enum phase_kind)e->spec.kind)->op);
	return make_data(w);
}

/* The files that the phase wants besides its objects; their directory stays open. */
static bool
take_files(struct worker *w, bool own)
{
	struct meta_state *m = &w->meta;

	if (!meta_enter(w, META_FILES, own, true))
		return false;
	if (own && (!meta_make_present(w) || !meta_settle_names(w, true)))
		return false;
	m->files_fd = m->dir_fd;
	m->dir_fd = -1;
	return true;
}

static bool
take_objects(struct worker *w, bool own)
{
	const struct meta_phase *p = w->meta.phase;

	if (!meta_enter(w, p->class, own, !p->fresh))
		return false;
	if (!own)
		return true;
	if (!(p->fresh ? meta_make_absent(w) : meta_make_present(w)))
		return false;
	if (p->settled && !(meta_trim(w) && meta_settle_names(w, false)))
		return false;
	return p->prepare == NULL || p->prepare(w);
}

static bool
take_all(struct worker *w, bool own)
{
	return begin(w) && (!w->meta.phase->needs_files || take_files(w, own)) && take_objects(w, own);
}

bool
meta_lay_out(struct worker *w)
{
	struct meta_set *set;

	if (!take_all(w, true))
		return false;
	set = w->meta.set;
	/* Who works on them expects the names of the beginning. */
	if (!w->meta.phase->fresh && w->meta.class == META_FILES && !meta_settle_names(w, true))
		return false;
	if (w->meta.phase->changes) {
		set->unknown = true;
		set->end = LS_MAX(set->end, w->engine->spec.files);
	}
	return true;
}

bool
meta_arm(struct worker *w)
{
	if (!take_all(w, !w->engine->shifted))
		return false;
	w->idle = w->engine->spec.files == 0;
	if (w->meta.phase->ready != NULL && !w->meta.phase->ready(w))
		return false;
	meta_set_name(w, 0);
	return true;
}

/* --- running --------------------------------------------------------------------------------------------------------- */

/* The operations from the first to the last. Returns how many were done. */
static uint64_t
do_all(struct worker *w)
{
	const struct meta_phase *p = w->meta.phase;
	struct tally *t = &w->meta.tally;
	uint64_t files = w->engine->spec.files;
	uint64_t bytes = p->writes_data ? w->engine->spec.size : 0;
	bool round = p->goes_round && w->engine->spec.time > 0;
	uint64_t done = 0, i = 0;
	int64_t now = io_now_ns();

	while (tally_more(t, now)) {
		tally_call(t, p->call);
		tally_begin(t, now);
		if (!p->op(w))
			break;
		int64_t end = io_now_ns();
		tally_end(t, now, end, bytes);
		tally_note(t, end);
		now = end;
		done++;
		if (++i == files) {
			if (!round)
				break;
			i = 0;
		}
		meta_set_name(w, i);
		if (done == 1) {
			sched_yield(); /* a worker that waits for this processor starts now */
			now = io_now_ns();
		}
	}
	return done;
}

static bool
sync_directories(struct worker *w)
{
	struct meta_state *m = &w->meta;
	bool ok = true;
	char name[8];

	for (uint64_t d = 0; ok && d < meta_directory_count(w); d++) {
		int fd =
		    openat(m->dir_fd, meta_directory_name(w, d, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		ok = fd >= 0 && fsync(fd) == 0;
		if (!ok)
			worker_fail_sys(w, "run", SHM_CALL_FSYNC, m->dir, errno);
		close_fd(&fd);
	}
	return ok;
}

static bool
sync_volume(struct worker *w)
{
	if (syncfs(w->meta.dir_fd) == 0)
		return true;
	worker_fail_sys(w, "run", SHM_CALL_SYNCFS, w->meta.dir, errno);
	return false;
}

/* The flush that counts. Returns its end, or 0. */
static int64_t
timed_sync(struct worker *w)
{
	struct meta_state *m = &w->meta;
	bool volume = m->phase->flush == META_FLUSH_VOLUME;

	if (!w->engine->spec.fsync || m->phase->flush == META_FLUSH_NONE || w->failed || tally_stopped(&m->tally) ||
	    !m->tally.began)
		return 0;
	tally_call(&m->tally, volume ? SHM_CALL_SYNCFS : SHM_CALL_FSYNC);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (!(volume ? sync_volume(w) : sync_directories(w)))
		return 0;
	return io_now_ns();
}

void
meta_run(struct worker *w, const struct rusage *cpu)
{
	const struct engine *e = w->engine;
	const struct meta_phase *p = w->meta.phase;
	struct tally *t = &w->meta.tally;

	t->cpu = *cpu;
	tally_go(t, e->start_ns, e->spec.warmup);

	uint64_t done = p->all != NULL ? p->all(w) : do_all(w);
	int64_t end_ns = timed_sync(w);
	if (end_ns == 0 && (t->end_ns == 0 || p->all != NULL))
		end_ns = io_now_ns();
	tally_finish(t, end_ns);
	if (p->after != NULL)
		p->after(w, done);
}

void
meta_note_made(struct worker *w, uint64_t done)
{
	struct meta_set *set = w->meta.set;

	/* One that failed half-way may be there as well. */
	*set = (struct meta_set){ .end = done + (w->failed ? 1 : 0), .shape = set->shape };
}

void
meta_note_removed(struct worker *w, uint64_t done)
{
	w->meta.set->begin = done;
	w->meta.set->attributed = 0;
}

void
meta_flush(struct worker *w)
{
	struct meta_state *m = &w->meta;

	if (w->index != 0 || m->dir_fd < 0 || !m->phase->changes)
		return;
	tally_call(&m->tally, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (syncfs(m->dir_fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_SYNCFS, m->dir, errno);
	tally_call(&m->tally, SHM_CALL_NONE);
}

void
meta_disarm(struct worker *w)
{
	struct meta_state *m = &w->meta;

	if (m->in_directory && chdir("/") == 0)
		m->in_directory = false;
	free(m->value);
	m->value = NULL;
	close_fd(&m->dir_fd);
	close_fd(&m->files_fd);
}
