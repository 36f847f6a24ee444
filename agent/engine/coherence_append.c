/*
 * O_APPEND by all nodes to one file: each record there once, whole. And against one node that empties the file meanwhile: what is there
 * in the end are whole records, without a hole before or between them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "common/base/mem.h"
#include "proto/model/cluster.h"

#define PIECE    ((size_t)CLUSTER_RECORD * 1024)
#define PER_STEP 4 /* appends of a node for each time that the file is emptied */

/* What a reader has met. */
struct met {
	unsigned char *times; /* by rank and number, up to 255 */
	uint64_t each;        /* numbers of a rank */
	uint64_t records, torn, holes, doubled, unknown;
};

/* Of each node while another empties the file, and for a while after the last time: something must be there to look at. */
static uint64_t
appends_of(const struct phase *spec)
{
	return (spec->count + 2) * PER_STEP;
}

static bool
open_for_append(struct worker *w, char letter, int flags)
{
	struct cluster *c = &w->engine->cluster;

	cluster_name(w, letter, 0);
	c->fd = cluster_open(w, O_CREAT | flags);
	if (c->fd < 0)
		return cluster_fail(w, "arm", SHM_CALL_OPEN, errno);
	return cluster_need_room(w, 2 * PIECE);
}

static bool
append_one(struct worker *w, uint64_t number)
{
	struct cluster *c = &w->engine->cluster;

	cluster_make_record(w, c->rank, number, c->room, CLUSTER_RECORD);
	int64_t begin = cluster_op(w, SHM_CALL_WRITE);
	ssize_t n = write(c->fd, c->room, CLUSTER_RECORD);
	if (n < 0)
		return cluster_fail(w, "run", SHM_CALL_WRITE, errno);
	cluster_done(w, begin, (uint64_t)n);
	return cluster_look(w, n == CLUSTER_RECORD, "an append of %d bytes wrote %zd", CLUSTER_RECORD, n);
}

static void
sync_file(struct worker *w)
{
	if (!w->failed && fsync(w->engine->cluster.fd) < 0)
		(void)cluster_fail(w, "run", SHM_CALL_FSYNC, errno);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static bool
is_zero(const unsigned char *at)
{
	for (size_t i = 0; i < CLUSTER_RECORD; i++)
		if (at[i] != 0)
			return false;
	return true;
}

static void
meet(struct worker *w, struct met *met, const unsigned char *at)
{
	const struct cluster *c = &w->engine->cluster;
	uint64_t rank, number;

	met->records++;
	if (is_zero(at)) {
		met->holes++;
	} else if (!cluster_is_record(w, at, c->room + PIECE, CLUSTER_RECORD, &rank, &number)) {
		met->torn++;
	} else if (number >= met->each) {
		met->unknown++;
	} else {
		unsigned char *times = &met->times[rank * met->each + number];
		if (*times > 0)
			met->doubled++;
		*times = 1;
	}
}

/* The whole file; false when it could not be read, which was told. */
static bool
read_all(struct worker *w, struct met *met, uint64_t *out_size)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t at = 0;

	for (;;) {
		int64_t begin = cluster_op(w, SHM_CALL_PREAD);
		ssize_t n = cluster_read(c->fd, c->room, PIECE, at);
		int errnum = errno;

		cluster_done(w, begin, n > 0 ? (uint64_t)n : 0);
		if (n < 0)
			return cluster_look(w, false, "read: %s", errors_errno_name(errnum));
		for (size_t i = 0; i + CLUSTER_RECORD <= (size_t)n; i += CLUSTER_RECORD)
			meet(w, met, c->room + i);
		at += (uint64_t)n;
		if ((size_t)n < PIECE)
			break;
	}
	*out_size = at;
	return true;
}

static void
tell_times(struct worker *w, uint64_t times, const char *what)
{
	struct cluster_node *told = &w->engine->cluster.told;

	if (times == 0)
		return;
	(void)cluster_look(w, false, "%" PRIu64 " %s", times, what);
	told->looked += times - 1;
	told->broken += times - 1;
}

static void
judge(struct worker *w, bool all)
{
	struct cluster *c = &w->engine->cluster;
	struct met met = { .each = all ? w->engine->spec.count : appends_of(&w->engine->spec) };
	uint64_t size = 0, lost = 0;

	met.times = ls_calloc(c->ranks * met.each, 1);
	if (!read_all(w, &met, &size)) {
		free(met.times);
		return;
	}
	for (uint64_t i = 0; all && i < c->ranks * met.each; i++)
		lost += met.times[i] == 0;
	free(met.times);
	c->told.looked += met.records - met.torn - met.holes - met.doubled - met.unknown;
	tell_times(w, lost, "records are lost");
	tell_times(w, met.doubled, "records are there twice");
	tell_times(w, met.torn, "records are torn");
	tell_times(w, met.unknown, "records that nobody wrote");
	tell_times(w, met.holes, "records' places are holes of zeros");
	(void)cluster_look(w, size % CLUSTER_RECORD == 0, "the file ends within a record: %" PRIu64 " bytes", size);
}

/* --- append ------------------------------------------------------------------------------------------------------ */

static bool
append_arm(struct worker *w, uint64_t step)
{
	return open_for_append(w, 'p', step == 0 ? O_WRONLY | O_APPEND : O_RDONLY);
}

static void
append_run(struct worker *w, uint64_t step)
{
	if (step == 1) {
		judge(w, true);
		return;
	}
	for (uint64_t i = 0; i < w->engine->spec.count && !cluster_stopped(w); i++)
		if (!append_one(w, i))
			break;
	sync_file(w);
}

const struct cluster_check cluster_check_append = { .arm = append_arm, .run = append_run };

/* --- truncate ---------------------------------------------------------------------------------------------------- */

static bool
truncate_arm(struct worker *w, uint64_t step)
{
	bool empties = w->engine->cluster.rank == 0;

	return open_for_append(w, 't', step == 1 ? O_RDONLY : empties ? O_WRONLY : O_WRONLY | O_APPEND);
}

static bool
empty_file(struct worker *w)
{
	int64_t begin = cluster_op(w, SHM_CALL_TRUNCATE);

	if (ftruncate(w->engine->cluster.fd, 0) < 0)
		return cluster_fail(w, "run", SHM_CALL_TRUNCATE, errno);
	cluster_done(w, begin, 0);
	return true;
}

static void
truncate_run(struct worker *w, uint64_t step)
{
	const struct engine *e = w->engine;
	bool empties = e->cluster.rank == 0;
	uint64_t n = empties ? e->spec.count : appends_of(&e->spec);
	int64_t interval = e->spec.interval / (empties ? 1 : PER_STEP);

	if (step == 1) {
		judge(w, false);
		return;
	}
	for (uint64_t i = 0; i < n && cluster_wait(w, e->start_ns + (int64_t)(i + 1) * interval); i++)
		if (!(empties ? empty_file(w) : append_one(w, i)))
			break;
	sync_file(w);
}

const struct cluster_check cluster_check_truncate = { .arm = truncate_arm, .run = truncate_run };
