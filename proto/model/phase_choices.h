/*
 * The words that parameters of a phase can be, each with the names that a job file uses: an enum and, in its order, a
 * NULL-terminated list of names (phase.c). Which parameter takes which stands in phase.def.
 */
#ifndef LS_PROTO_MODEL_PHASE_CHOICES_H
#define LS_PROTO_MODEL_PHASE_CHOICES_H

enum phase_layout {
	LAYOUT_WORKER = 0,
	LAYOUT_NODE,
	LAYOUT_SHARED,      /* in segments */
	LAYOUT_INTERLEAVED, /* records in turn */
	LAYOUT_SAME,        /* all workers all records */
};

enum phase_engine {
	ENGINE_SYNC = 0,
	ENGINE_IO_URING,
	ENGINE_LIBAIO,
	ENGINE_NULL,
	ENGINE_MMAP,
};

enum phase_mmap_sync {
	MMAP_SYNC_NONE = 0,
	MMAP_SYNC_ASYNC, /* MS_ASYNC */
	MMAP_SYNC_SYNC,  /* MS_SYNC */
};

enum phase_locks {
	LOCKS_NONE = 0,
	LOCKS_FILE,
	LOCKS_RECORD,
};

enum phase_sync_writes {
	SYNC_WRITES_NONE = 0,
	SYNC_WRITES_SYNC,  /* O_SYNC */
	SYNC_WRITES_DSYNC, /* O_DSYNC */
};

enum phase_semantics {
	BONNIE_2_00 = 0, /* and 1.97, 1.98 */
	BONNIE_1_03,
};

enum phase_order {
	ORDER_SEQUENTIAL = 0,
	ORDER_RANDOM,
};

enum phase_links {
	LINKS_NONE = 0,
	LINKS_HARD,
	LINKS_SYMBOLIC,
};

enum phase_sync {
	SYNC_VOLUME = 0,
	SYNC_SYSTEM,
};

enum phase_mix {
	MIX_OPERATIONS = 0,
	MIX_ALTERNATE,
	MIX_WORKERS,
};

enum phase_mix_order {
	MIX_RANDOM = 0,
	MIX_SEQUENTIAL,
};

/* How iozone runs. */
enum phase_mode {
	TOOL_THROUGHPUT = 0,
	TOOL_SINGLE,
};

/* What becomes of the machine's caches before a phase. */
enum phase_caches {
	CACHES_NONE = 0, /* left as they are */
	CACHES_FADVISE,  /* posix_fadvise on the run's files of the node */
	CACHES_DROP,     /* drop_caches, by the root helper */
	CACHES_REMOUNT,  /* unmounted and mounted again, likewise */
	CACHES_AS_JOB,   /* phases only: what the job says */
};

enum phase_dirs {
	DIRS_PRIVATE = 0,
	DIRS_SHARED,
};

extern const char *const phase_layout_names[];
extern const char *const phase_engine_names[];
extern const char *const phase_mmap_sync_names[];
extern const char *const phase_locks_names[];
extern const char *const phase_dirs_names[];
extern const char *const phase_caches_names[]; /* of a phase */
extern const char *const job_caches_names[];   /* of a job: the same without the last */
extern const char *const phase_mode_names[];
extern const char *const phase_sync_writes_names[];
extern const char *const phase_mix_names[];
extern const char *const phase_order_names[];
extern const char *const phase_links_names[];
extern const char *const phase_sync_names[];
extern const char *const phase_semantics_names[];
extern const char *const phase_mix_order_names[];

/* What coherence looks at. */
enum phase_check {
	CHECK_DATA = 0,
	CHECK_APPEND,
	CHECK_EXCL,
	CHECK_RENAME,
	CHECK_UNLINK,
	CHECK_TRUNCATE,
	CHECK_ATTRIBUTES,
	CHECK_COUNT
};

enum phase_access {
	ACCESS_BUFFERED = 0,
	ACCESS_DIRECT,
	ACCESS_MMAP,
};

enum phase_lock {
	LOCK_FCNTL = 0,
	LOCK_FLOCK,
	LOCK_RANGE,
};

enum phase_change { CHANGE_CREATE = 0, CHANGE_WRITE, CHANGE_RENAME, CHANGE_UNLINK, CHANGE_ATTRIBUTES, CHANGE_COUNT };

enum phase_promise {
	PROMISE_TABLE = 0,
	PROMISE_ALL,
};

extern const char *const phase_check_names[];
extern const char *const phase_access_names[];
extern const char *const phase_lock_names[];
extern const char *const phase_change_names[];
extern const char *const phase_promise_names[];

#endif
