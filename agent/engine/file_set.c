#include "agent/engine/file_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/layout.h"
#include "agent/engine/phase_data.h"

static uint64_t
file_count(const struct worker *w)
{
	return w->engine->spec.files_per_worker;
}

static bool
has_no_file(const struct worker *w)
{
	return w->engine->spec.engine == ENGINE_NULL;
}

/* The directory of a file: 0..directories-1, as many files in each as in any other, give or take one. */
static uint64_t
directory_of(const struct worker *w, uint64_t number)
{
	uint64_t directories = LS_MIN(w->engine->spec.directories, file_count(w));

	return number * directories / file_count(w); /* 10^6 files times 10^5 directories: far from overflowing */
}

static bool
has_directories(const struct worker *w)
{
	return w->engine->spec.directories > 1;
}

static unsigned long long
owner(const struct worker *w)
{
	return w->engine->owner;
}

void
file_set_name(struct worker *w, uint64_t number)
{
	struct data_state *d = &w->data;

	d->number = number;
	data_name_file(w);
	if (has_directories(w))
		snprintf(d->path, sizeof(d->path), "n%llu/f.%u/%05llu/%08llu", owner(w), w->index,
		    (unsigned long long)directory_of(w, number), (unsigned long long)number);
	else
		snprintf(d->path, sizeof(d->path), "n%llu/f.%u/%08llu", owner(w), w->index, (unsigned long long)number);
}

/* --- arming ---------------------------------------------------------------------------------------------------------- */

static bool
make_directory(struct worker *w, const char *path)
{
	tally_call(&w->data.job.tally, SHM_CALL_MKDIR);
	if (path_mkdir(w->engine->config.run_dir_fd, path) == 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_MKDIR, path, errno);
	return false;
}

static bool
make_directories(struct worker *w)
{
	char path[PATH_MAX_REL];
	uint64_t directories = has_directories(w) ? LS_MIN(w->engine->spec.directories, file_count(w)) : 0;

	snprintf(path, sizeof(path), "n%llu/f.%u", owner(w), w->index);
	if (!layout_make_directory(w) || !make_directory(w, path))
		return false;
	for (uint64_t i = 0; i < directories; i++) {
		snprintf(path, sizeof(path), "n%llu/f.%u/%05llu", owner(w), w->index, (unsigned long long)i);
		if (worker_stop_asked(w) || !make_directory(w, path))
			return false;
	}
	return true;
}

static bool
is_own(const struct worker *w)
{
	return owner(w) == w->engine->config.node_index;
}

/* Is the present file what the worker wrote in an earlier phase, and still as long? */
static bool
is_there(const struct worker *w)
{
	const struct phase *spec = &w->engine->spec;
	struct stat st;

	if (is_own(w) &&
	    (w->data.number >= w->files.count || w->files.file_size < spec->file_size ||
		w->files.directories != spec->directories))
		return false;
	/* Own ones that were cut from outside are for the check to find. */
	if (is_own(w) && spec->verify)
		return true;
	return fstatat(w->engine->config.run_dir_fd, w->data.path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (uint64_t)st.st_size >= spec->file_size;
}

static bool
write_file(struct worker *w)
{
	int fd = layout_open(w, O_RDWR | O_CREAT);

	if (fd < 0) {
		worker_fail_sys(w, "arm", SHM_CALL_OPEN, w->data.path, errno);
		return false;
	}
	bool ok = layout_write_part(w, fd);
	close(fd);
	return ok;
}

static void
fail_missing(struct worker *w)
{
	worker_fail(w,
	    &(struct failure){ .rc = LS_E_INVALID,
		.step = "arm",
		.call = SHM_CALL_STAT,
		.path = w->data.path,
		.offset = LS_UNKNOWN_U64,
		.text = "another node's file (shift) is not there as it should be" });
}

static bool
fill(struct worker *w)
{
	for (uint64_t i = 0; i < file_count(w); i++) {
		file_set_name(w, i);
		tally_call(&w->data.job.tally, SHM_CALL_STAT);
		if (worker_stop_asked(w))
			return false;
		if (is_there(w))
			continue;
		if (!is_own(w)) {
			fail_missing(w);
			return false;
		}
		if (!write_file(w))
			return false;
	}
	if (is_own(w))
		w->files = (struct file_set){ file_count(w), w->engine->spec.file_size, w->engine->spec.directories };
	return true;
}

/* Files of these names must not be there: the phase creates them. */
static bool
empty(struct worker *w)
{
	bool removed = false;

	w->files.count = 0;
	for (uint64_t i = 0; i < file_count(w); i++) {
		file_set_name(w, i);
		tally_call(&w->data.job.tally, SHM_CALL_UNLINK);
		if (worker_stop_asked(w))
			return false;
		if (unlinkat(w->engine->config.run_dir_fd, w->data.path, 0) == 0) {
			removed = true;
		} else if (errno != ENOENT) {
			worker_fail_sys(w, "arm", SHM_CALL_UNLINK, w->data.path, errno);
			return false;
		}
	}
	/* Freeing blocks is work that the phase must not pay for. */
	tally_call(&w->data.job.tally, SHM_CALL_SYNCFS);
	if (!removed || syncfs(w->engine->config.run_dir_fd) == 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_SYNCFS, w->data.path, errno);
	return false;
}

static int
open_flags(const struct worker *w)
{
	if (!w->data.job.write)
		return O_RDONLY;
	return w->data.fresh ? O_RDWR | O_CREAT : O_RDWR;
}

static bool
open_number(struct worker *w, uint64_t number)
{
	file_set_name(w, number);
	return layout_open_for_phase(w, open_flags(w));
}

bool
file_set_open_fresh(struct worker *w)
{
	return make_directories(w) && empty(w) && open_number(w, 0);
}

bool
file_set_make_filled(struct worker *w)
{
	return (!is_own(w) || make_directories(w)) && fill(w);
}

bool
file_set_open_filled(struct worker *w)
{
	return file_set_make_filled(w) && open_number(w, 0);
}

/* --- running --------------------------------------------------------------------------------------------------------- */

/* The present file once over, or less if the amount ends in it. */
static void
set_bound(struct worker *w, uint64_t round)
{
	struct data_state *d = &w->data;
	struct offsets_config config = d->job.offsets.config;

	config.bound = LS_MIN(d->place.length, d->left);
	config.first_round = round;
	/* Another order in each file. */
	config.seed = offsets_mix(config.seed ^ d->number);
	offsets_init(&d->job.offsets, &config);
	d->left -= d->left == OFFSETS_NO_BOUND ? 0 : config.bound;
}

void
file_set_begin(struct worker *w)
{
	const struct phase *spec = &w->engine->spec;

	w->data.left = spec->amount > 0 ? spec->amount
	    : spec->time > 0            ? OFFSETS_NO_BOUND
					: w->data.place.length * file_count(w);
	set_bound(w, 0);
}

static void
begin_call(struct worker *w, enum shm_call call)
{
	tally_call(&w->data.job.tally, call);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
}

/* The flush if it counts, and the close. */
static bool
close_file(struct worker *w)
{
	struct data_state *d = &w->data;
	int fd = d->job.fd;

	if (has_no_file(w))
		return true;
	if (d->timed_fsync) {
		begin_call(w, SHM_CALL_FSYNC);
		if (fsync(fd) < 0) {
			worker_fail_sys(w, "run", SHM_CALL_FSYNC, d->path, errno);
			return false;
		}
	}
	begin_call(w, SHM_CALL_CLOSE);
	d->job.fd = -1;
	if (close(fd) == 0)
		return true;
	worker_fail_sys(w, "run", SHM_CALL_CLOSE, d->path, errno);
	return false;
}

static bool
next_file(struct worker *w)
{
	struct data_state *d = &w->data;
	uint64_t number = d->number + 1 < file_count(w) ? d->number + 1 : 0;
	uint64_t round = d->job.offsets.config.first_round + (number == 0);
	struct ls_err err;

	if (has_no_file(w)) {
		d->number = number;
	} else {
		begin_call(w, SHM_CALL_OPEN);
		if (!open_number(w, number))
			return false;
	}
	set_bound(w, round);
	if (d->io->again(&d->job, &err) == LS_OK)
		return true;
	worker_fail_err(w, "run", &err);
	return false;
}

/* The present file is done: what it adds to what is known to be there. */
static void
note_whole(struct worker *w)
{
	struct data_state *d = &w->data;
	const struct offsets_config *config = &d->job.offsets.config;

	if (d->fresh && config->first_round == 0 && config->bound == d->place.length && !has_no_file(w))
		w->files = (struct file_set){ d->number + 1, config->length, w->engine->spec.directories };
}

int64_t
file_set_run(struct worker *w)
{
	struct data_state *d = &w->data;
	bool more = true;

	while (more) {
		if (data_lock_file(w))
			d->io->run(&d->job);
		if (io_failed(&d->job)) {
			data_fail_io(w);
			break;
		}
		if (!d->job.complete) /* time is up, or somebody said stop */
			break;
		if (w->failed || !close_file(w)) /* which gives a lock back as well */
			break;
		note_whole(w);
		more = d->left > 0 && tally_more(&d->job.tally, io_now_ns()) && next_file(w);
	}
	if (d->job.fd >= 0 && !w->failed && !tally_stopped(&d->job.tally))
		(void)close_file(w);
	return w->failed ? 0 : io_now_ns();
}

void
file_set_flush(struct worker *w)
{
	tally_call(&w->data.job.tally, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (syncfs(w->engine->config.run_dir_fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_SYNCFS, w->data.path, errno);
	w->data.dirty = false;
	tally_call(&w->data.job.tally, SHM_CALL_NONE);
}
