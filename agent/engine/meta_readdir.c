/* Reading directories, entry by entry or with the attributes of each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

#define BUFFER 32768 /* bytes a call, as the C library's readdir asks for */

struct reading {
	struct worker *w;
	bool with_stat;
	uint64_t entries;
	int64_t now; /* where the last operation ended, and the next one begins */
	_Alignas(struct dirent64) char buffer[BUFFER];
};

static bool
is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static bool
fail(struct reading *p, enum shm_call call, const char *name)
{
	struct worker *w = p->w;
	char path[2 * PATH_MAX_REL + 2];
	int errnum = errno;

	snprintf(path, sizeof(path), "%s/%.*s", w->meta.dir, PATH_MAX_REL, name);
	worker_fail_sys(w, "run", call, path, errnum);
	return false;
}

/* So many operations have ended. */
static void
count(struct reading *p, uint64_t entries)
{
	struct tally *t = &p->w->meta.tally;
	int64_t end = io_now_ns();

	tally_end_many(t, p->now, end, entries);
	tally_note(t, end);
	p->now = end;
	if (p->entries == 0) {
		sched_yield(); /* a worker that waits for this processor starts now */
		p->now = io_now_ns();
	}
	p->entries += entries;
}

static bool
stat_entry(struct reading *p, int fd, const char *name)
{
	struct tally *t = &p->w->meta.tally;
	struct stat st;

	if (!tally_more(t, p->now))
		return false;
	tally_begin(t, p->now);
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(p, SHM_CALL_STAT, name);
	count(p, 1);
	return true;
}

/* The entries that a call has delivered. False at the end of the phase. */
static bool
take_entries(struct reading *p, int fd, ssize_t length)
{
	uint64_t entries = 0;

	tally_call(&p->w->meta.tally, p->with_stat ? SHM_CALL_STAT : SHM_CALL_READDIR);
	for (ssize_t at = 0; at < length;) {
		const struct dirent64 *d = (const void *)(p->buffer + at);
		at += d->d_reclen;
		if (is_dot(d->d_name))
			continue;
		entries++;
		if (p->with_stat && !stat_entry(p, fd, d->d_name))
			return false;
	}
	if (!p->with_stat && entries > 0)
		count(p, entries);
	return true;
}

static bool
read_entries(struct reading *p, int fd, const char *name)
{
	struct tally *t = &p->w->meta.tally;

	for (;;) {
		if (!tally_more(t, p->now))
			return false;
		tally_call(t, SHM_CALL_READDIR);
		tally_begin(t, p->now);
		ssize_t n = getdents64(fd, p->buffer, sizeof(p->buffer));
		if (n < 0)
			return fail(p, SHM_CALL_READDIR, name);
		if (n == 0)
			return true;
		if (!take_entries(p, fd, n))
			return false;
	}
}

static bool
read_directory(struct reading *p, const char *name)
{
	struct worker *w = p->w;
	bool ok;
	int fd;

	tally_call(&w->meta.tally, SHM_CALL_OPEN);
	fd = openat(w->meta.dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail(p, SHM_CALL_OPEN, name);
	ok = read_entries(p, fd, name);
	close(fd);
	return ok;
}

static bool
read_all(struct reading *p)
{
	char name[8];

	for (uint64_t d = 0; d < meta_directory_count(p->w); d++)
		if (!read_directory(p, meta_directory_name(p->w, d, name)))
			return false;
	return true;
}

uint64_t
meta_read_directories(struct worker *w, bool with_stat)
{
	struct reading p = { .w = w, .with_stat = with_stat, .now = io_now_ns() };

	while (read_all(&p) && w->engine->spec.time > 0)
		if (p.entries == 0)
			p.now = io_now_ns(); /* nothing is there: the time goes on all the same */
	return p.entries;
}
