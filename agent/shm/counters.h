/*
 * The mapping that the runner's workers write and the agent reads whenever it likes: a sealed memfd that the agent made, so
 * that the numbers survive a killed runner. Live statistics cost the workers no lock and no system call.
 *
 * Rules: one writer per member. Members in struct shm_control are written by whom the comment names; a struct shm_worker by
 * its worker alone, with relaxed stores (release where said). Readers may see members of different instants; none goes back within
 * an epoch. All times are CLOCK_MONOTONIC of the machine, ns.
 */
#ifndef LS_AGENT_SHM_COUNTERS_H
#define LS_AGENT_SHM_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/base/defs.h"
#include "common/base/err.h"
#include "common/stat/hist.h"
#include "proto/model/phase.h"

#define SHM_MAGIC   0x6c6f636b73746570ULL /* "lockstep" */
#define SHM_VERSION 5
#define SHM_RING    512 /* steps kept per worker: 6.4 s at the finest */
#define SHM_STEP_NS                                                                                                    \
	12500000LL /* a worker notes its counters at its first operation's end in each such step since the start */
#define SHM_FILE_MAX 256

/* The call a worker is in. SHM_CALL(identifier, "name") */
#define SHM_CALLS(X)                                                                                                   \
	X(NONE, "none")                                                                                                \
	X(WAIT, "barrier")                                                                                             \
	X(PACE, "pause")                                                                                               \
	X(OPEN, "open")                                                                                                \
	X(PREAD, "pread")                                                                                              \
	X(PWRITE, "pwrite")                                                                                            \
	X(IO_URING_ENTER, "io_uring_enter")                                                                            \
	X(IO_GETEVENTS, "io_getevents")                                                                                \
	X(FSYNC, "fsync")                                                                                              \
	X(CLOSE, "close")                                                                                              \
	X(STAT, "stat")                                                                                                \
	X(UNLINK, "unlink")                                                                                            \
	X(MKDIR, "mkdir")                                                                                              \
	X(WRITE, "write")                                                                                              \
	X(SYNCFS, "syncfs")                                                                                            \
	X(READ, "read")                                                                                                \
	X(LINK, "link")                                                                                                \
	X(SYMLINK, "symlink")                                                                                          \
	X(READDIR, "getdents64")                                                                                       \
	X(RMDIR, "rmdir")                                                                                              \
	X(CHMOD, "chmod")                                                                                              \
	X(RENAME, "rename")                                                                                            \
	X(SETXATTR, "setxattr")                                                                                        \
	X(GETXATTR, "getxattr")                                                                                        \
	X(MMAP, "mmap")                                                                                                \
	X(MSYNC, "msync")                                                                                              \
	X(FCNTL, "fcntl")                                                                                              \
	X(FLOCK, "flock")                                                                                              \
	X(TRUNCATE, "ftruncate")                                                                                       \
	X(TOOL, "external program")

enum shm_call {
#define X(ID, name) SHM_CALL_##ID,
	SHM_CALLS(X)
#undef X
	    SHM_CALL_COUNT
};

extern const char *const shm_call_names[SHM_CALL_COUNT + 1];

enum shm_worker_state {
	SHM_IDLE = 0,  /* no part in this phase, or one without operations */
	SHM_PREPARING, /* opening, laying out */
	SHM_PARKED,    /* waits for the instant */
	SHM_RUNNING,
	SHM_FLUSHING, /* the untimed flush */
	SHM_ENDED,
	SHM_FAILED,
};

/* The node's decision at the instant: taken once per epoch by the first worker that gets there. */
enum shm_decision {
	SHM_UNDECIDED = 0,
	SHM_STARTED,
	SHM_MISSED_COMMIT, /* no commit had come */
	SHM_MISSED_LATE,   /* woke later than the limit */
};

/* Written before ring_count is, with release stores: a reader that meets a new value in an old slot sees the count move, too. */
struct shm_step {
	_Atomic int64_t at_ns;
	_Atomic uint64_t bytes, ops;             /* since the phase's (counted) start */
	_Atomic uint64_t write_bytes, write_ops; /* of these, plain writes: the rest of a mixed phase are reads */
};

/* One worker's. Everything up to the ring is reset by the worker's owner (the runner) before it arms. */
struct shm_worker {
	/* Hot line: written at each operation. */
	_Alignas(LS_CACHE_LINE) _Atomic uint64_t bytes; /* counted ones, all operations */
	_Atomic uint64_t ops;
	_Atomic int64_t last_ns;     /* end of the last operation, counted or not */
	_Atomic uint64_t done;       /* operations since the start, warm-up included: "moves" */
	_Atomic uint32_t call;       /* enum shm_call */
	_Atomic uint32_t state;      /* enum shm_worker_state, release */
	_Atomic int64_t since_ns;    /* start of the present call */
	_Atomic uint64_t ring_count; /* steps ever written, release; the newest is ring[(ring_count - 1) % SHM_RING] */

	/* Rarely written. */
	_Alignas(LS_CACHE_LINE) _Atomic int64_t first_op_ns; /* 0 until then */
	_Atomic int64_t start_ns;                            /* first counted operation, 0 until then */
	_Atomic int64_t end_ns;                     /* last counted operation's end; 0 until the worker ended */
	_Atomic int64_t wake_late_ns;               /* how late the sleep before the spin ended */
	_Atomic int64_t cpu_user_ns, cpu_system_ns; /* of the phase; set at its end */
	_Atomic uint64_t errors;
	_Atomic uint64_t checked_blocks, mismatches; /* of data that was read, where the phase verifies */
	_Atomic uint64_t fsynced;                    /* recovery: records that are, release */
	_Atomic int32_t tid;
	_Atomic uint64_t op_bytes[OP_COUNT], op_ops[OP_COUNT];
	char file[SHM_FILE_MAX]; /* what it works on, relative to the run's directory; set before SHM_PARKED */

	/* The last step, noted when the worker ends, is the whole at the last operation's end. */
	_Alignas(LS_CACHE_LINE) struct shm_step ring[SHM_RING];
	_Alignas(LS_CACHE_LINE) struct hist latency[OP_COUNT]; /* counted operations; untouched pages cost nothing */
	struct hist service[OP_COUNT]; /* the same from issue, where latency counts from an intended instant */
};

struct shm_control {
	uint64_t magic;
	uint32_t version;
	uint32_t workers;             /* how many struct shm_worker follow */
	_Atomic uint64_t armed_epoch; /* runner: the epoch number that the workers wait in; counts up from 1 */
	_Atomic int64_t start_ns;     /* runner: the instant of that epoch, 0: none yet */
	_Alignas(
	    LS_CACHE_LINE) _Atomic uint64_t commit_epoch; /* agent: equal to armed_epoch once committed (release) */
	_Atomic uint64_t stop_epoch; /* agent or runner: workers of epochs up to this stop after their operation */
	_Atomic int64_t
	    limit_ns; /* no operation of the epoch begins from here on; runner: before it is set; agent: lowers it later */
	_Atomic uint32_t decision; /* workers, by compare-and-swap: enum shm_decision of armed_epoch */
	_Atomic int64_t decided_ns;
	_Atomic uint64_t
	    free_plus_one; /* runner: bytes free on the volume and one, where the job wants to know; 0: not looked at */
};

struct shm_map; /* a mapping in this process */

/* Agent: makes and seals (F_SEAL_SHRINK, F_SEAL_GROW) a memfd for so many workers. Errors: LS_E_NOMEM, LS_E_SYS. */
enum ls_rc shm_map_new(uint32_t workers, struct shm_map **out, struct ls_err *err) LS_MUST_CHECK;

/* Runner: maps an inherited fd after checking seals, size, magic and version. Takes fd over, also on error. */
enum ls_rc shm_map_open(int fd, struct shm_map **out, struct ls_err *err) LS_MUST_CHECK;

/* Unmaps and closes. NULL-safe. */
void shm_map_free(struct shm_map *map);

/* What a mapping consists of; all borrowed until shm_map_free. */
int shm_map_fd(const struct shm_map *map);
struct shm_control *shm_map_control(struct shm_map *map);
struct shm_worker *shm_map_worker(struct shm_map *map, uint32_t i); /* i < workers */
uint32_t shm_map_workers(const struct shm_map *map);

/* Empties one worker's numbers, ring and histograms before an epoch. */
void shm_worker_reset(struct shm_worker *w);

#endif
