/*
 * How a worker's reads and writes are issued: the back ends. One file each, one row in io.c. A back end knows a descriptor,
 * an order of records and buffers; what the phase means is not its business.
 */
#ifndef LS_AGENT_ENGINE_IO_H
#define LS_AGENT_ENGINE_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/check.h"
#include "agent/engine/data.h"
#include "agent/engine/offsets.h"
#include "agent/engine/pace.h"
#include "agent/engine/tally.h"
#include "common/base/clock.h"

/* The operation that ended a worker's phase; all zero: none did. */
struct io_failure {
	enum shm_call call;
	int errnum;       /* 0: no system call's own failure, text alone says what */
	const char *text; /* static; NULL: the errno says it all */
	uint64_t offset;
};

/* One worker's part of a phase with data. Filled by the phase; the back end owns state and sets failure. */
struct io_job {
	int fd;
	enum op_kind op;       /* of its operations, or of those that read_percent leaves */
	bool write;            /* some write, updates included */
	unsigned update_each;  /* one of so many operations is an update, the others are reads; 0: as op says */
	bool draw_updates;     /* by the ticket instead of each update_each-th of this worker's */
	bool sync_updates;     /* each is followed by an fsync */
	unsigned read_percent; /* so many of a hundred operations are reads all the same, drawn at random */
	unsigned depth;        /* operations in flight, >= 1 */
	enum shm_call read_call, write_call;
	uint64_t file_size; /* what the file grows to, for back ends that must know */
	bool lock_records;  /* each operation holds a lock of its record */
	enum phase_mmap_sync mmap_sync;
	bool io_poll, sq_poll; /* io_uring */
	bool unshared_file;    /* nothing but fd may hold the file: it is closed in the measured time */
	struct offsets offsets;
	uint64_t drawn; /* operations whose direction was decided one by one */
	struct data_source source;
	const struct check *check; /* what is read is checked; NULL: it is not */
	unsigned char *memory;     /* slots, aligned for direct I/O; borrowed */
	size_t slot_bytes;         /* >= the longest record */
	unsigned
	    slots; /* a multiple of depth: flight i has i, i + depth, ... in turn; where not all is written, depth more */
	struct tally tally;
	struct pace pace;
	int64_t
	    wait_ns; /* for a back end with a queue: its wait ends after so long at the latest; 0: with a completion only */
	struct io_failure failure;
	bool complete; /* run: all that was handed out has been done */
	void *state;
};

struct io_engine {
	const char *name;
	bool plain_calls;   /* read and write instead of pread and pwrite */
	enum shm_call call; /* how its operations are named, if by neither */
	/* LS_OK, or LS_E_REFUSED with the reason why this machine cannot do it. NULL: always can. */
	enum ls_rc (*supported)(struct ls_err *err);
	/* Everything slow; the first operations are ready to be issued when it returns. In the worker's thread. */
	enum ls_rc (*setup)(struct io_job *job, struct ls_err *err);
	/*
	 * From the first operation to the last. Returns with nothing in flight, unless the kernel's queue itself failed; a failure is
	 * in job->failure. Yields the processor once after the first operation.
	 */
	void (*run)(struct io_job *job);
	/*
	 * After run with complete: job->fd is another file and job->offsets begin anew. In the measured time. NULL: the back end
	 * cannot change files.
	 */
	enum ls_rc (*again)(struct io_job *job, struct ls_err *err);
	/* Hands what it still holds to the kernel. 0 or a negative errno. NULL: holds nothing. */
	int (*push)(struct io_job *job);
	/* Flushes what was written to the medium. 0 or a negative errno. NULL: fsync of the file does. */
	int (*sync)(struct io_job *job);
	/* After run, or after setup without it; also after a failed setup. */
	void (*teardown)(struct io_job *job);
};

extern const struct io_engine io_engine_sync, io_engine_io_uring, io_engine_libaio, io_engine_null, io_engine_mmap;

/*
 * Those that phases choose themselves: fread and fwrite through a buffer of one record; getc and putc; read and write of one byte;
 * updates.
 */
extern const struct io_engine io_engine_stdio, io_engine_putc, io_engine_bytes, io_engine_update;

/* The back end of that number, in range. Static. */
const struct io_engine *io_engine_get(enum phase_engine engine);

/*
 * Can completions be polled for with this file (O_DIRECT, 4096 bytes or more), which lies on that volume? LS_OK, or LS_E_REFUSED
 * with the reason. io_uring must be supported.
 */
enum ls_rc io_uring_can_poll(int fd, struct ls_err *err);

/* Can a thread of the kernel take what is to be issued? */
enum ls_rc io_uring_can_sq_poll(struct ls_err *err);

/* --- for back ends --- */

/* One record on its way. */
struct io_flight {
	struct record record;
	unsigned char *buffer;
	uint32_t done;      /* bytes of it that are through */
	enum op_kind op;    /* what this one does */
	enum shm_call call; /* by which call */
	int64_t begin_ns;
	int64_t due_ns; /* where there is a pace: when it should begin */
	unsigned index, turn;
};

/* The next record for a flight: its buffer, stamped when it is written. False when there is none. No system call. */
bool io_flight_next(struct io_job *job, struct io_flight *f);

/*
 * Takes the result of a system call (bytes, or a negative errno) for the flight. True when the record is complete. False: issue
 * the rest again, or the job has failed (job->failure is set).
 */
bool io_flight_result(struct io_job *job, struct io_flight *f, int64_t result);

/* Did an operation of this attempt fail? */
bool io_failed(const struct io_job *job);

/* The synchronous loop; issue does one system call for what is left of a flight and returns bytes or a negative errno. */
enum ls_rc io_sync_setup(struct io_job *job, struct ls_err *err);
enum ls_rc io_sync_again(struct io_job *job, struct ls_err *err);
void io_sync_run(struct io_job *job, int64_t (*issue)(struct io_job *job, struct io_flight *f));
void io_sync_teardown(struct io_job *job);

/* What a completion tells. */
struct io_completion {
	struct io_flight *flight;
	int64_t result;
};

/* The asynchronous loop over a kernel interface with a queue. */
struct io_queue_ops {
	enum shm_call call; /* the call that waits */
	enum ls_rc (*open)(struct io_job *job, void **out_queue, struct ls_err *err);
	/*
	 * Issues the flights of batch (what is left of each), then waits for at least one completion of all that are in flight.
	 * Returns the number of completions (up to the depth, 0 after a signal), and through issued how many of the batch were
	 * taken, the first ones; or a negative errno.
	 */
	int (*submit_wait)(void *queue, struct io_job *job, struct io_flight *const *batch, unsigned count,
	    unsigned *issued, struct io_completion *out);
	void (*close)(void *queue);
};

/* As the members of struct io_engine: opens the queue, runs the job, closes it (also after a setup that failed). */
enum ls_rc io_async_setup(struct io_job *job, const struct io_queue_ops *ops, struct ls_err *err);
enum ls_rc io_async_again(struct io_job *job, struct ls_err *err);
void io_async_run(struct io_job *job, const struct io_queue_ops *ops);
void io_async_teardown(struct io_job *job, const struct io_queue_ops *ops);

/* Slots in memory. */
static inline unsigned
io_slots(const struct io_job *job)
{
	return job->slots + (job->read_percent > 0 || job->op == OP_UPDATE ? job->depth : 0);
}

/* Counts an operation that has ended. */
static inline void
io_flight_ended(struct io_job *job, const struct io_flight *f, int64_t end_ns)
{
	if (__builtin_expect(pace_has_rate(&job->pace), 0))
		tally_end_due(&job->tally, f->op, f->due_ns, f->begin_ns, end_ns, f->record.length);
	else
		tally_end_op(&job->tally, f->op, f->begin_ns, end_ns, f->record.length);
}

/* CLOCK_MONOTONIC. */
static inline int64_t
io_now_ns(void)
{
	return ls_mono_now().ns;
}

#endif
