#include "agent/engine/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/offsets.h"
#include "common/base/mem.h"
#include "proto/model/cluster.h"

#define NUMBERS_MAX 4096
#define NAP_NS      (20 * NS_PER_MS) /* a wait looks so often whether it should end */

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
cluster_init(struct cluster *c)
{
	memset(c, 0, sizeof(*c));
	c->dir_fd = c->fd = c->kept_fd = -1;
	field_struct_init(&cluster_node_desc, &c->told);
}

void
cluster_fini(struct cluster *c)
{
	close_fd(&c->fd);
	close_fd(&c->kept_fd);
	close_fd(&c->dir_fd);
	field_struct_fini(&cluster_node_desc, &c->told);
	free(c->room);
}

/* --- a step ------------------------------------------------------------------------------------------------------ */

static void
find_rank(struct worker *w)
{
	const struct engine *e = w->engine;
	struct cluster *c = &w->engine->cluster;

	c->rank = c->ranks = 0;
	for (uint64_t i = 0; i < e->config.node_count; i++) {
		if (e->node_workers[i] == 0)
			continue;
		if (i < e->config.node_index)
			c->rank++;
		c->ranks++;
	}
}

unsigned
cluster_node_number(const struct worker *w, uint64_t rank)
{
	const struct engine *e = w->engine;

	for (uint64_t i = 0; i < e->config.node_count; i++)
		if (e->node_workers[i] > 0 && rank-- == 0)
			return (unsigned)i + 1;
	return 0;
}

static bool
open_directory(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;
	int run_dir = w->engine->config.run_dir_fd, top;

	tally_call(&c->tally, SHM_CALL_MKDIR);
	snprintf(w->shm->file, sizeof(w->shm->file), "shared/c");
	if (path_mkdir(run_dir, "shared") != 0 || (top = path_open(run_dir, "shared", O_RDONLY | O_DIRECTORY, 0)) < 0) {
		worker_fail_sys(w, "arm", SHM_CALL_MKDIR, "shared", errno);
		return false;
	}
	if (path_mkdir(top, "c") == 0)
		c->dir_fd = path_open(top, "c", O_RDONLY | O_DIRECTORY, 0);
	int errnum = errno;
	close(top);
	if (c->dir_fd >= 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_MKDIR, "shared/c", errnum);
	return false;
}

bool
cluster_begin(struct worker *w, bool first)
{
	struct engine *e = w->engine;
	struct cluster *c = &e->cluster;

	field_struct_fini(&cluster_node_desc, &c->told);
	field_struct_init(&cluster_node_desc, &c->told);
	tally_arm(&c->tally, w->shm, e->control, e->epoch, phase_kind_info((enum phase_kind)e->spec.kind)->op);
	find_rank(w);
	if (first) {
		close_fd(&c->kept_fd);
		c->row = e->tag;
		c->counted = 0;
		c->kept = true;
	}
	if (c->kept)
		return open_directory(w);
	worker_fail(w,
	    &(struct failure){ .rc = LS_E_STATE,
		.step = "arm",
		.offset = LS_UNKNOWN_U64,
		.text = "the step before was not done by this runner" });
	return false;
}

void
cluster_end(struct worker *w)
{
	close_fd(&w->engine->cluster.fd);
	close_fd(&w->engine->cluster.dir_fd);
}

void
cluster_go(struct worker *w, const struct rusage *cpu)
{
	struct tally *t = &w->engine->cluster.tally;

	t->cpu = *cpu;
	tally_go(t, w->engine->start_ns, 0);
}

void
cluster_stop(struct worker *w)
{
	struct tally *t = &w->engine->cluster.tally;

	tally_call(t, SHM_CALL_NONE);
	tally_finish(t, t->end_ns == 0 ? io_now_ns() : 0);
}

int64_t
cluster_op(struct worker *w, enum shm_call call)
{
	struct tally *t = &w->engine->cluster.tally;
	int64_t now = io_now_ns();

	tally_call(t, call);
	tally_begin(t, now);
	return now;
}

void
cluster_done(struct worker *w, int64_t begin_ns, uint64_t bytes)
{
	struct tally *t = &w->engine->cluster.tally;
	int64_t end = io_now_ns();

	tally_end(t, begin_ns, end, bytes);
	tally_note(t, end);
}

bool
cluster_stopped(const struct worker *w)
{
	return tally_stopped(&w->engine->cluster.tally);
}

bool
cluster_wait(struct worker *w, int64_t until_ns)
{
	int64_t now;

	tally_call(&w->engine->cluster.tally, SHM_CALL_PACE);
	while (!cluster_stopped(w) && (now = io_now_ns()) < until_ns)
		ls_mono_sleep_until((struct ls_mono){ LS_MIN(until_ns, now + NAP_NS) });
	return !cluster_stopped(w);
}

/* --- files ------------------------------------------------------------------------------------------------------- */

void
cluster_name(struct worker *w, char letter, uint64_t number)
{
	struct cluster *c = &w->engine->cluster;

	snprintf(c->name, sizeof(c->name), "%c%" PRIx64 ".%" PRIu64, letter, c->row, number);
}

int
cluster_open(struct worker *w, int flags)
{
	struct cluster *c = &w->engine->cluster;

	return path_open(c->dir_fd, c->name, flags, 0600);
}

bool
cluster_fail(struct worker *w, const char *step, enum shm_call call, int errnum)
{
	char path[PATH_MAX_REL + 16];

	snprintf(path, sizeof(path), "shared/c/%s", w->engine->cluster.name);
	worker_fail_sys(w, step, call, path, errnum);
	return false;
}

bool
cluster_need_room(struct worker *w, size_t size)
{
	struct cluster *c = &w->engine->cluster;
	void *memory = NULL;

	if (c->room_size >= size)
		return true;
	if (posix_memalign(&memory, engine_alignment(w->engine), size) != 0) {
		worker_fail(w,
		    &(struct failure){ .rc = LS_E_NOMEM,
			.step = "arm",
			.offset = LS_UNKNOWN_U64,
			.text = "no memory for what is to be compared" });
		return false;
	}
	free(c->room);
	memset(memory, 0, size);
	c->room = memory;
	c->room_size = size;
	return true;
}

ssize_t
cluster_read(int fd, void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int
cluster_write(int fd, const void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pwrite(fd, (const char *)buf + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

struct record_head {
	uint64_t magic, rank, number;
};

void
cluster_make_record(const struct worker *w, uint64_t rank, uint64_t number, void *buf, size_t size)
{
	const struct engine *e = w->engine;
	struct record_head head = { DATA_MAGIC, rank, number };

	data_fill(buf, size, offsets_mix(e->config.seed ^ offsets_mix(e->cluster.row ^ rank << 40) ^ number));
	memcpy(buf, &head, sizeof(head));
}

bool
cluster_is_record(
    const struct worker *w, const void *buf, void *scratch, size_t size, uint64_t *out_rank, uint64_t *out_number)
{
	struct record_head head;

	memcpy(&head, buf, sizeof(head));
	if (head.magic != DATA_MAGIC || head.rank >= w->engine->cluster.ranks)
		return false;
	cluster_make_record(w, head.rank, head.number, scratch, size);
	*out_rank = head.rank;
	*out_number = head.number;
	return memcmp(buf, scratch, size) == 0;
}

/* --- what is told ------------------------------------------------------------------------------------------------ */

bool
cluster_look(struct worker *w, bool ok, const char *fmt, ...)
{
	struct cluster_node *told = &w->engine->cluster.told;
	char text[256];
	va_list args;

	told->looked++;
	if (ok)
		return true;
	told->broken++;
	if (told->list_count >= CLUSTER_LIST_MAX)
		return false;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	told->list = ls_grow(told->list, told->list_count, sizeof(*told->list));
	told->list[told->list_count++] = ls_strdup(text);
	return false;
}

void
cluster_untested(struct worker *w, const char *fmt, ...)
{
	struct cluster_node *told = &w->engine->cluster.told;
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	free(told->untested);
	told->untested = ls_strdup(text);
}

void
cluster_number(struct worker *w, int64_t number)
{
	struct cluster_node *told = &w->engine->cluster.told;

	if (told->numbers_count >= NUMBERS_MAX)
		return;
	if (told->numbers == NULL)
		told->numbers = ls_calloc(NUMBERS_MAX, sizeof(*told->numbers));
	told->numbers[told->numbers_count++] = number;
}
