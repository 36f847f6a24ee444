/*
 * Reads and writes as copies from and to a shared mapping of the file (iozone -B). What read and write would report as an error
 * comes as SIGBUS here: it leads back out of the copy, and the call that would have been asked says what is wrong.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/io.h"
#include "common/base/mem.h"

struct mmap_state {
	struct io_flight flight; /* first: it is what the synchronous loop finds in job->state */
	unsigned char *map;
	size_t length;
	uint64_t offset; /* of the mapping in the file */
	sigjmp_buf escape;
};

/* Where SIGBUS leads to: what this thread is copying from or to, NULL outside of a run. */
static _Thread_local struct mmap_state *in_mapping;

static void
on_sigbus(int number, siginfo_t *info, void *context)
{
	struct mmap_state *s = in_mapping;
	const unsigned char *at = info->si_addr;

	(void)context;
	if (s != NULL && at >= s->map && at < s->map + s->length)
		siglongjmp(s->escape, 1);
	signal(number, SIG_DFL); /* not ours: the access is tried again and ends the process, as it would have */
}

static enum ls_rc
catch_sigbus(struct ls_err *err)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER };
	sigset_t bus;

	sigemptyset(&action.sa_mask);
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	if (sigaction(SIGBUS, &action, NULL) < 0)
		return ls_err_sys(err, errno, "sigaction");
	pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
	return LS_OK;
}

static uint64_t
page_down(uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return offset / page * page;
}

/* One past the last byte that the order of records goes to. */
static uint64_t
end_of_part(const struct offsets *o)
{
	const struct offsets_config *c = &o->config;

	return c->base + (o->records - 1) * c->step + (c->length - (o->records - 1) * c->record);
}

static void
unmap(struct mmap_state *s)
{
	if (s->map != NULL)
		munmap(s->map, s->length);
	s->map = NULL;
}

/* A mapping goes no further than its file: one that is written to is made as long as it will be. */
static enum ls_rc
map_part(struct io_job *job, struct ls_err *err)
{
	struct mmap_state *s = job->state;
	uint64_t end = end_of_part(&job->offsets);
	struct stat st;

	if (fstat(job->fd, &st) < 0)
		return ls_err_sys(err, errno, "fstat");
	if ((uint64_t)st.st_size < end && !job->write)
		return ls_err_set(
		    err, LS_E_INVALID, "the file ends at %llu, before its part", (unsigned long long)st.st_size);
	if ((uint64_t)st.st_size < end && ftruncate(job->fd, (off_t)job->file_size) < 0)
		return ls_err_sys(err, errno, "ftruncate to %llu bytes", (unsigned long long)job->file_size);

	s->offset = page_down(job->offsets.config.base);
	s->length = (size_t)(end - s->offset);
	void *map =
	    mmap(NULL, s->length, PROT_READ | (job->write ? PROT_WRITE : 0), MAP_SHARED, job->fd, (off_t)s->offset);
	if (map == MAP_FAILED)
		return ls_err_sys(err, errno, "mmap of %zu bytes", s->length);
	s->map = map;
	return LS_OK;
}

static enum ls_rc
setup(struct io_job *job, struct ls_err *err)
{
	enum ls_rc rc = catch_sigbus(err);

	job->state = ls_calloc(1, sizeof(struct mmap_state));
	if (rc == LS_OK)
		rc = map_part(job, err);
	return rc == LS_OK ? io_sync_again(job, err) : rc;
}

static enum ls_rc
again(struct io_job *job, struct ls_err *err)
{
	unmap(job->state);

	enum ls_rc rc = map_part(job, err);
	return rc == LS_OK ? io_sync_again(job, err) : rc;
}

static void
teardown(struct io_job *job)
{
	if (job->state != NULL)
		unmap(job->state);
	io_sync_teardown(job);
}

/* msync wants a page's beginning. */
static int
sync_range(struct io_job *job, struct mmap_state *s, unsigned char *at, size_t length, int how)
{
	size_t before = (size_t)(at - s->map) % (size_t)sysconf(_SC_PAGESIZE);

	tally_call(&job->tally, SHM_CALL_MSYNC);
	return msync(at - before, length + before, how) == 0 ? 0 : -errno;
}

static int64_t
issue_copy(struct io_job *job, struct io_flight *f)
{
	struct mmap_state *s = job->state;
	size_t left = f->record.length - f->done;
	unsigned char *at = s->map + (f->record.offset + f->done - s->offset);
	int rc = 0;

	if (f->op != OP_WRITE) {
		memcpy(f->buffer + f->done, at, left);
		return (int64_t)left;
	}
	memcpy(at, f->buffer + f->done, left);
	if (job->mmap_sync != MMAP_SYNC_NONE)
		rc = sync_range(job, s, at, left, job->mmap_sync == MMAP_SYNC_SYNC ? MS_SYNC : MS_ASYNC);
	return rc < 0 ? rc : (int64_t)left;
}

/*
 * The plain call on what is left of the record: 0 when all of it went through, 1 when the file ended before, or a negative errno.
 * Part of the record may well go through, up to where the trouble is.
 */
static int
ask_plainly(const struct io_job *job, const struct io_flight *f)
{
	for (uint32_t done = f->done; done < f->record.length;) {
		size_t left = f->record.length - done;
		off_t offset = (off_t)(f->record.offset + done);
		ssize_t n = f->op == OP_WRITE ? pwrite(job->fd, f->buffer + done, left, offset)
					      : pread(job->fd, f->buffer + done, left, offset);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 1;
		done += (uint32_t)n;
	}
	return 0;
}

/* A copy ended in SIGBUS, which says no errno. */
static void
explain_fault(struct io_job *job, const struct io_flight *f)
{
	int rc = ask_plainly(job, f);

	job->failure.call = f->call;
	job->failure.offset = f->record.offset + f->done;
	job->failure.errnum = rc < 0 ? -rc : 0;
	if (rc == 1)
		job->failure.text = "SIGBUS: the file ends there";
	else if (rc == 0)
		job->failure.text =
		    "SIGBUS: the kernel could not bring in a page (no space, or an error of the device)";
}

static void
run(struct io_job *job)
{
	struct mmap_state *s = job->state;

	in_mapping = s;
	if (sigsetjmp(s->escape, 0) == 0)
		io_sync_run(job, issue_copy);
	else
		explain_fault(job, job->state);
	in_mapping = NULL;
}

static int
sync_mapping(struct io_job *job)
{
	struct mmap_state *s = job->state;

	return sync_range(job, s, s->map, s->length, MS_SYNC);
}

const struct io_engine io_engine_mmap = {
	.name = "mmap",
	.call = SHM_CALL_MMAP,
	.setup = setup,
	.again = again,
	.run = run,
	.sync = sync_mapping,
	.teardown = teardown,
};
