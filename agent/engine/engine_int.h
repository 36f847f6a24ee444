/*
 * What the files of this folder share: the engine, its workers, and how one fails.
 *
 * Threads: the runner's main thread owns the engine. It gives orders to the workers under engine.lock and, except for a go, waits
 * until they are carried out. Between the orders a worker's members are its own.
 */
#ifndef LS_AGENT_ENGINE_ENGINE_INT_H
#define LS_AGENT_ENGINE_ENGINE_INT_H

#include <pthread.h>

#include "agent/engine/check.h"
#include "agent/engine/cluster.h"
#include "agent/engine/engine.h"
#include "agent/engine/errors.h"
#include "agent/engine/filled.h"
#include "agent/engine/io.h"
#include "agent/engine/meta_set.h"
#include "agent/engine/path.h"
#include "agent/engine/phase_ops.h"
#include "agent/engine/phase_tree.h"

enum order {
	ORDER_ARM = 0,
	ORDER_GO,
	ORDER_FLUSH,  /* flush what was written, then disarm */
	ORDER_DISARM, /* close files, rings */
	ORDER_EXIT,
};

/* A worker's many files: numbers 0..count-1 were written whole by this worker, so large, spread over so many directories. */
struct file_set {
	uint64_t count, file_size, directories;
};

/* A phase with data: one worker's state. */
struct data_state {
	const struct io_engine *io;
	struct io_job job;
	struct phase_place place;
	struct check check;
	char path[PATH_MAX_REL];
	uint64_t file; /* number for engine.filled */
	bool fresh;
	bool dirty; /* written to since the last flush */
	bool timed_fsync, timed_close;
	const char *step; /* where it fails, if so: "arm", "run" */
	uint64_t number;  /* of the present file, where a worker has many */
	uint64_t left;    /* bytes that are left to do, where a worker has many files */
};

/* How the records of the interleaved file go round. */
struct interleaving {
	uint64_t record_size, offset, step; /* of the node's first worker: struct phase_place */
};

/* A phase over many objects: one worker's state. */
struct meta_state {
	const struct meta_phase *phase;
	enum meta_class class;
	struct meta_set *set;    /* of the class: the worker's own, or foreign */
	struct meta_set foreign; /* in its place where another node owns the objects */
	int dir_fd;              /* the class's directory */
	int files_fd;            /* that of the files, for phases that need both */
	char dir[PATH_MAX_REL];
	char name[PATH_MAX_REL]; /* of the present object, relative to dir_fd */
	size_t name_length;      /* without the mark of a renamed file */
	uint64_t number;         /* of the present object */
	uint64_t per_directory;  /* objects in each directory below dir_fd; 0: they lie in dir_fd */
	struct tally tally;
	struct data_source source;
	char target[2 * PATH_MAX_REL]; /* of symbolic links: the way to the files, then a name */
	size_t target_length;          /* of the way */
	unsigned char *value;          /* of extended attributes, owned */
	bool in_directory;             /* the thread's working directory is dir_fd */
};

struct worker {
	struct engine *engine;
	uint32_t index;
	pthread_t thread;
	uint64_t born_at; /* the order that was the last when its thread was made */
	struct shm_worker *shm;
	bool armed; /* has something to disarm */
	bool idle;  /* no operations in this phase */
	bool failed;
	int64_t wall_ns;                           /* CLOCK_REALTIME less CLOCK_MONOTONIC, when it was armed */
	struct data_pool write_pool, read_pool;    /* kept from phase to phase */
	struct meta_set sets[2][META_CLASS_COUNT]; /* by enum phase_dirs */
	bool own_directory;                        /* its working directory is not the process's any more */
	struct data_state data;
	struct file_set files; /* kept from phase to phase */
	struct meta_state meta;
	struct tree_state tree;
	struct tally tool_tally; /* a phase of an external program */
};

struct engine {
	struct engine_config config;
	char *run_dir;
	struct shm_control *control;
	int event_fd;

	pthread_mutex_t lock; /* guards the orders: the next six members */
	pthread_cond_t wake;  /* for workers: a new order */
	pthread_cond_t done;  /* for the main thread: pending is 0 */
	uint64_t order_number;
	enum order order;
	uint32_t pending; /* workers that have not carried out the order */
	uint32_t running; /* workers that have not left since the go */

	struct worker **workers;
	uint32_t worker_count; /* threads there are */
	uint32_t active;       /* workers 0..active-1 take part in the phase */

	/* The armed phase; written by the main thread before the order, read by workers. */
	struct phase spec; /* without its strings */
	char device[96];   /* spec.device; "": files */
	uint64_t *node_workers;
	uint64_t
	    user; /* the node that the workers act for: this one, or when laying out the one that will work on its files */
	uint64_t owner; /* whose files they are */
	bool lay_out;   /* the files only */
	bool shifted;   /* the phase works on files of another node: made by their owner, not by arm */
	const struct phase_ops *ops;
	uint64_t epoch;
	int64_t start_ns, late_limit_ns;
	_Atomic uint64_t tickets; /* taken by this node's workers */

	struct phase_size sizes[PHASE_SIZES_MAX]; /* of operations, where they have several */
	size_t size_count;

	struct errors errors;
	struct filled filled;
	struct interleaving interleaving; /* that the ranges of filled are told in */
	struct checks checks;
	uint64_t tag;      /* struct engine_arm */
	uint64_t *fsynced; /* [node_count] */
	struct cluster cluster;
};

/* A worker's thread: waits for orders. arg is its struct worker. */
void *worker_main(void *arg);

/*
 * Waits for the instant and takes or follows the node's decision. Reads the CPU time used so far into *cpu, last before the
 * instant.
 */
enum shm_decision start_wait(struct worker *w, struct rusage *cpu);

/* The worker has failed: told to the mapping and kept for the report. Call only once it can do no more operations. */
void worker_fail(struct worker *w, const struct failure *failure);

/* The same for a system call on the worker's own file. */
void worker_fail_sys(struct worker *w, const char *step, enum shm_call call, const char *path, int errnum);

/* The same for an error that explains itself. */
void worker_fail_err(struct worker *w, const char *step, const struct ls_err *err);

/* Should a long preparation end? Fails the worker if so. */
bool worker_stop_asked(struct worker *w);

/* Bytes of random data that each worker of this phase keeps. */
uint64_t worker_data_budget(const struct worker *w);

/* Buffers are aligned to this. */
size_t engine_alignment(const struct engine *e);

/* What the worker's data is filled with. */
struct data_pattern worker_data_pattern(const struct worker *w);

/* What the worker writes is stamped with, but for the file. */
struct data_source worker_data_source(const struct worker *w);

#endif
