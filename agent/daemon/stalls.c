#include "agent/daemon/stalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/facts.h"
#include "common/base/mem.h"

/* What a worker showed when it moved last. */
struct seen {
	uint64_t done;
	int64_t last_ns; /* moves while files are laid out, too */
	int64_t call_since_ns;
	uint32_t state;
	struct ls_mono moved;
};

struct stalls {
	uint32_t workers;
	struct seen *seen;
};

struct stalls *
stalls_new(uint32_t workers)
{
	struct stalls *s = ls_calloc(1, sizeof(*s));
	s->workers = workers;
	s->seen = ls_calloc(workers, sizeof(*s->seen));
	return s;
}

void
stalls_free(struct stalls *s)
{
	if (!s)
		return;
	free(s->seen);
	free(s);
}

void
stalls_reset(struct stalls *s, struct ls_mono now)
{
	for (uint32_t i = 0; i < s->workers; i++)
		s->seen[i] = (struct seen){ .moved = now };
}

static bool
should_move(uint32_t state)
{
	return state == SHM_PREPARING || state == SHM_RUNNING || state == SHM_FLUSHING;
}

/* Notes where the worker is; since when it stands there. */
static struct ls_mono
look_at(struct seen *seen, const struct shm_worker *w, struct ls_mono now)
{
	struct seen is = {
		.done = atomic_load_explicit(&w->done, memory_order_relaxed),
		.last_ns = atomic_load_explicit(&w->last_ns, memory_order_relaxed),
		.call_since_ns = atomic_load_explicit(&w->since_ns, memory_order_relaxed),
		.state = atomic_load_explicit(&w->state, memory_order_relaxed),
		.moved = now,
	};
	if (is.done != seen->done || is.last_ns != seen->last_ns || is.call_since_ns != seen->call_since_ns ||
	    is.state != seen->state || !should_move(is.state))
		*seen = is;
	return seen->moved;
}

/* The state letter: behind the last ')' of /proc/.../stat, as a thread's name may hold anything. */
static char *
thread_state(pid_t runner, int32_t tid)
{
	char path[64], text[512];
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)runner, (int)tid);
	if (!facts_read_file(path, text, sizeof(text)))
		return NULL;
	const char *paren = strrchr(text, ')');
	return paren && paren[1] == ' ' && paren[2] ? ls_strndup(paren + 2, 1) : NULL;
}

static char *
thread_wchan(pid_t runner, int32_t tid)
{
	char path[64], text[65];
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)runner, (int)tid);
	if (!facts_read_file(path, text, sizeof(text)) || !text[0] || strcmp(text, "0") == 0)
		return NULL;
	return ls_strdup(text);
}

/* The mapping is written by another process: cut and cleaned. */
static char *
worker_file(const struct shm_worker *w)
{
	char *file = ls_strndup(w->file, SHM_FILE_MAX - 1);
	for (char *p = file; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	if (*file)
		return file;
	free(file);
	return NULL;
}

static void
describe(struct stall *out, uint32_t worker, const struct shm_worker *w, pid_t runner, int64_t since_ns)
{
	uint32_t call = atomic_load_explicit(&w->call, memory_order_relaxed);
	int32_t tid = atomic_load_explicit(&w->tid, memory_order_relaxed);

	field_struct_init(&stall_desc, out);
	out->worker = worker;
	free(out->call);
	out->call = ls_strdup(call < SHM_CALL_COUNT ? shm_call_names[call] : "?");
	out->file = worker_file(w);
	out->since_ns = since_ns;
	if (runner > 0 && tid > 0) {
		out->state = thread_state(runner, tid);
		out->wchan = thread_wchan(runner, tid);
	}
}

size_t
stalls_look(
    struct stalls *s, struct shm_map *map, uint32_t workers, pid_t runner, struct ls_mono now, struct stall **out)
{
	size_t n = 0;

	*out = NULL;
	for (uint32_t i = 0; i < workers && i < s->workers && n < STALLS_MAX; i++) {
		const struct shm_worker *w = shm_map_worker(map, i);
		struct ls_mono moved = look_at(&s->seen[i], w, now);
		if (now.ns - moved.ns < STALL_AFTER_NS)
			continue;
		*out = ls_grow(*out, n, sizeof(**out));
		describe(&(*out)[n++], i, w, runner, now.ns - moved.ns);
	}
	return n;
}
