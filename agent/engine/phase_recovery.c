/*
 * Every node writes records into a file of its own, one after the other, and fsyncs after some of them, while a node is expected to be
 * lost. How far each had fsynced is told to the coordinator as it goes, which tells it to those that are left: then they look whether
 * all of it is there, byte for byte. A record's content follows from its writer and its number. The file is gone round: record n lies
 * in place n modulo their number, and a place may hold a later record than the last one that was fsynced, never an earlier one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "proto/model/cluster.h"

#define PIECE ((size_t)RECOVERY_RECORD * 16)

struct stall {
	int64_t start_ns, length_ns;
};

/* What a writer tells at the end. */
struct writer {
	uint64_t written, fsynced;
	struct stall stalls[RECOVERY_STALLS]; /* the longest calls, in no order */
};

static uint64_t
own_index(const struct worker *w)
{
	return w->engine->config.node_index;
}

/* The record with that number of that node. */
static struct cluster_piece
record_of(const struct worker *w, uint64_t node, uint64_t number)
{
	uint64_t places = recovery_places(&w->engine->spec);

	return (struct cluster_piece){
		.rank = node,
		.node = (unsigned)node + 1,
		.round = number / places,
		.offset = number % places * RECOVERY_RECORD,
		.size = RECOVERY_RECORD,
	};
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static void
note_call(struct writer *writer, int64_t begin_ns)
{
	int64_t length = io_now_ns() - begin_ns;
	struct stall *least = &writer->stalls[0];

	for (size_t i = 1; i < RECOVERY_STALLS; i++)
		if (writer->stalls[i].length_ns < least->length_ns)
			least = &writer->stalls[i];
	if (length > least->length_ns)
		*least = (struct stall){ begin_ns, length };
}

static bool
write_record(struct worker *w, struct writer *writer)
{
	struct cluster *c = &w->engine->cluster;
	struct cluster_piece piece = record_of(w, own_index(w), writer->written);
	int errnum;

	cluster_make_piece(w, &piece, c->room);
	int64_t begin = cluster_op(w, SHM_CALL_PWRITE);
	errnum = cluster_write(c->fd, c->room, RECOVERY_RECORD, piece.offset);
	if (errnum != 0)
		return cluster_fail(w, "run", SHM_CALL_PWRITE, errnum);
	cluster_done(w, begin, RECOVERY_RECORD);
	note_call(writer, begin);
	writer->written++;
	return true;
}

/* No operation of its own: the rate is that of records. */
static bool
fsync_records(struct worker *w, struct writer *writer)
{
	struct cluster *c = &w->engine->cluster;
	int64_t begin = io_now_ns();

	if (writer->fsynced == writer->written)
		return true;
	tally_call(&c->tally, SHM_CALL_FSYNC);
	atomic_store_explicit(&w->shm->since_ns, begin, memory_order_relaxed);
	if (fsync(c->fd) < 0)
		return cluster_fail(w, "run", SHM_CALL_FSYNC, errno);
	note_call(writer, begin);
	writer->fsynced = writer->written;
	atomic_store_explicit(&w->shm->fsynced, writer->fsynced, memory_order_release);
	return true;
}

/* Waits for the next record's turn; what a stall took is not made up for. False: the time is over. */
static bool
next_turn(struct worker *w, int64_t *due_ns)
{
	int64_t interval = w->engine->spec.interval, now = io_now_ns();

	if (interval > 0 && !cluster_wait(w, LS_MIN(*due_ns, tally_limit(&w->engine->cluster.tally))))
		return false;
	*due_ns = LS_MAX(*due_ns, now) + interval;
	return tally_more(&w->engine->cluster.tally, io_now_ns());
}

static void
tell_writer(struct worker *w, const struct writer *writer)
{
	cluster_number(w, (int64_t)writer->written);
	cluster_number(w, (int64_t)writer->fsynced);
	for (size_t i = 0; i < RECOVERY_STALLS && writer->stalls[i].length_ns > 0; i++) {
		cluster_number(w, writer->stalls[i].start_ns - w->engine->start_ns);
		cluster_number(w, writer->stalls[i].length_ns);
	}
}

static void
write_all(struct worker *w)
{
	struct writer writer = { 0 };
	int64_t due_ns = w->engine->start_ns;

	while (next_turn(w, &due_ns) && write_record(w, &writer))
		if (writer.written % w->engine->spec.count == 0 && !fsync_records(w, &writer))
			break;
	if (!w->failed)
		(void)fsync_records(w, &writer);
	tell_writer(w, &writer);
}

/* The file is there for everybody before the start: its name is not what is tried. */
static bool
arm_write(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;

	cluster_name(w, 'w', own_index(w));
	c->fd = cluster_open(w, O_WRONLY | O_CREAT);
	if (c->fd < 0)
		return cluster_fail(w, "arm", SHM_CALL_OPEN, errno);
	if (fsync(c->fd) < 0 || fsync(c->dir_fd) < 0)
		return cluster_fail(w, "arm", SHM_CALL_FSYNC, errno);
	return cluster_need_room(w, RECOVERY_RECORD);
}

/* --- looking ----------------------------------------------------------------------------------------------------- */

/* A block that is not that of the last fsynced record: a later one may have taken its place. */
static bool
is_later(struct worker *w, const struct cluster_piece *block, const unsigned char *found)
{
	_Alignas(LS_CACHE_LINE) unsigned char made[DATA_BLOCK];
	struct cluster_piece later = *block;

	if (!cluster_block_round(w, block, found, &later.round) || later.round <= block->round)
		return false;
	cluster_make_piece(w, &later, made);
	return memcmp(made, found, DATA_BLOCK) == 0;
}

/* One place, of which the file holds got bytes. */
static void
look_at_record(struct worker *w, const struct cluster_piece *record, const unsigned char *found, size_t got)
{
	unsigned char *wanted = w->engine->cluster.room + PIECE;

	cluster_make_piece(w, record, wanted);
	for (size_t b = 0; b < record->size; b += DATA_BLOCK) {
		struct cluster_piece block = *record;

		block.offset += b;
		block.size = DATA_BLOCK;
		if (b + DATA_BLOCK > got) {
			cluster_look(w, false,
			    "file of {%u}: ends at %" PRIu64 ", within or before a record that was fsynced",
			    record->node, record->offset + got);
			return;
		}
		if (memcmp(found + b, wanted + b, DATA_BLOCK) == 0 || is_later(w, &block, found + b))
			continue;
		cluster_tell_block(w, &block, found + b, wanted + b);
		return;
	}
	cluster_look(w, true, " ");
}

/* So many records of that node must be in its file. */
static void
look_at_file(struct worker *w, int fd, uint64_t node, uint64_t fsynced)
{
	struct cluster *c = &w->engine->cluster;
	uint64_t places = recovery_places(&w->engine->spec);
	uint64_t used = LS_MIN(places, fsynced);

	for (uint64_t first = 0; first < used && !cluster_stopped(w); first += PIECE / RECOVERY_RECORD) {
		uint64_t until = LS_MIN(used, first + PIECE / RECOVERY_RECORD);
		size_t size = (size_t)(until - first) * RECOVERY_RECORD;
		int64_t begin = cluster_op(w, SHM_CALL_PREAD);
		ssize_t n = cluster_read(fd, c->room, size, first * RECOVERY_RECORD);
		int errnum = errno;

		cluster_done(w, begin, n > 0 ? (uint64_t)n : 0);
		if (n < 0) {
			cluster_look(w, false, "file of {%u}, offset %" PRIu64 ": read: %s", (unsigned)node + 1,
			    first * RECOVERY_RECORD, errors_errno_name(errnum));
			return;
		}
		for (uint64_t place = first; place < until; place++) {
			size_t at = (size_t)(place - first) * RECOVERY_RECORD;
			/* The last one that was fsynced in that place. */
			struct cluster_piece record =
			    record_of(w, node, place + (fsynced - 1 - place) / places * places);

			look_at_record(w, &record, c->room + at, (size_t)n > at ? (size_t)n - at : 0);
		}
	}
}

static void
look_at_node(struct worker *w, uint64_t node)
{
	uint64_t fsynced = w->engine->fsynced[node];
	bool direct = w->engine->spec.read_access == ACCESS_DIRECT;
	int fd;

	if (fsynced == 0)
		return;
	cluster_name(w, 'w', node);
	fd = cluster_open(w, O_RDONLY | (direct ? O_DIRECT : 0));
	if (fd < 0 && direct && errno == EINVAL) {
		cluster_untested(w, "the volume has no direct I/O");
		return;
	}
	if (fd < 0) {
		cluster_look(w, false, "file of {%u}, with %" PRIu64 " fsynced records: open: %s", (unsigned)node + 1,
		    fsynced, errors_errno_name(errno));
		return;
	}
	/* What is cached here, from writing or from an earlier look, says nothing of the volume. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	look_at_file(w, fd, node, fsynced);
	close(fd);
}

static void
look_at_all(struct worker *w)
{
	uint64_t count = w->engine->config.node_count;

	/* Each begins with another, its own file comes last. */
	for (uint64_t i = 1; i <= count && !cluster_stopped(w); i++)
		look_at_node(w, (own_index(w) + i) % count);
}

static bool
arm_look(struct worker *w)
{
	uint64_t wanted = 0;

	tally_arm(&w->engine->cluster.tally, w->shm, w->engine->control, w->engine->epoch, OP_READ);
	for (uint64_t i = 0; i < w->engine->config.node_count; i++)
		wanted += w->engine->fsynced[i];
	w->idle = wanted == 0;
	return cluster_need_room(w, PIECE + RECOVERY_RECORD);
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static bool
arm(struct worker *w)
{
	bool writes = w->engine->spec.step == RECOVERY_WRITE;

	return cluster_begin(w, writes) && (writes ? arm_write(w) : arm_look(w));
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	cluster_go(w, cpu);
	if (w->engine->spec.step == RECOVERY_WRITE)
		write_all(w);
	else
		look_at_all(w);
	cluster_stop(w);
}

const struct phase_ops phase_ops_recovery = {
	.arm = arm,
	.run = run,
	.disarm = cluster_end,
};
