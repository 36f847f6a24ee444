#include "agent/engine/io.h"

#include <errno.h>

static const struct io_engine *const engines[] = {
	[ENGINE_SYNC] = &io_engine_sync,
	[ENGINE_IO_URING] = &io_engine_io_uring,
	[ENGINE_LIBAIO] = &io_engine_libaio,
	[ENGINE_NULL] = &io_engine_null,
	[ENGINE_MMAP] = &io_engine_mmap,
};

const struct io_engine *
io_engine_get(enum phase_engine engine)
{
	return engines[engine];
}

/* Is the next operation of a mixed job a read? */
static bool
draws_read(struct io_job *job)
{
	uint64_t hash = offsets_mix(job->offsets.config.seed ^ offsets_mix(job->drawn++));

	return (hash >> 32) * 100 >> 32 < job->read_percent;
}

/* Is it an update, where some are? */
static bool
is_update(struct io_job *job, const struct io_flight *f)
{
	return (job->draw_updates ? f->record.ticket : job->drawn++) % job->update_each == 0;
}

static enum op_kind
next_op(struct io_job *job, const struct io_flight *f)
{
	if (job->update_each > 0)
		return is_update(job, f) ? OP_UPDATE : OP_READ;
	if (job->read_percent > 0 && draws_read(job))
		return OP_READ;
	return job->op;
}

bool
io_flight_next(struct io_job *job, struct io_flight *f)
{
	if (!offsets_next(&job->offsets, &f->record))
		return false;

	f->done = 0;
	f->op = next_op(job, f);
	f->call = f->op == OP_WRITE ? job->write_call : job->read_call;
	if (job->write && f->op != OP_WRITE) {
		f->buffer = job->memory + (size_t)(job->slots + f->index) * job->slot_bytes;
		return true;
	}

	unsigned groups = job->slots / job->depth;
	unsigned slot = f->index + job->depth * f->turn;
	f->turn = f->turn + 1 < groups ? f->turn + 1 : 0;
	f->buffer = job->memory + (size_t)slot * job->slot_bytes;
	if (job->write)
		data_stamp_record(&job->source, f->buffer, f->record.offset, f->record.length, f->record.round);
	return true;
}

bool
io_failed(const struct io_job *job)
{
	return job->failure.call != SHM_CALL_NONE;
}

static void
fail(struct io_job *job, const struct io_flight *f, int errnum, const char *text)
{
	if (io_failed(job)) /* the first one is the cause */
		return;
	job->failure.call = f->call;
	job->failure.errnum = errnum;
	job->failure.text = text;
	job->failure.offset = f->record.offset + f->done;
}

bool
io_flight_result(struct io_job *job, struct io_flight *f, int64_t result)
{
	if (result > 0) {
		f->done += (uint32_t)result;
		return f->done == f->record.length;
	}
	if (result == 0)
		fail(job, f, 0, f->call == job->read_call ? "the file ends there" : "wrote nothing");
	else if (result != -EINTR)
		fail(job, f, (int)-result, NULL);
	return false;
}
