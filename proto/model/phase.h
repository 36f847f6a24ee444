/*
 * What a job can ask the workers to do: the kinds of phases, their parameters and what belongs together. Facts only;
 * how a phase does it stands in agent/engine.
 */
#ifndef LS_PROTO_MODEL_PHASE_H
#define LS_PROTO_MODEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "proto/model/phase_choices.h"

#define PHASE_NAME_MAX 128

#define STEADY_INTERVALS 5 /* of a steady_window; SNIA's performance test specification takes five rounds, too */

enum op_kind {
#define OP(ID, id) OP_##ID,
#include "proto/model/ops.def"
#undef OP
	OP_COUNT
};

/* Names by enum op_kind, NULL-terminated. */
extern const char *const op_names[OP_COUNT + 1];

enum phase_kind {
#define PHASE(ID, id, name, op, unit, groups, needs, help) PHASE_##ID,
#include "proto/model/phases.def"
#undef PHASE
	PHASE_KIND_COUNT
};

enum phase_unit {
	PHASE_BYTES = 0,
	PHASE_FILES,
};

enum phase_needs {
	PHASE_FRESH = 0,
	PHASE_FILLED,
};

/* Groups of parameters, as flags of their fields. */
enum phase_group {
	PHASE_DATA = 1 << FIELD_GROUP_SHIFT,           /* works on the contents of files */
	PHASE_META = 2 << FIELD_GROUP_SHIFT,           /* works on many files */
	PHASE_RAW = 4 << FIELD_GROUP_SHIFT,            /* data past the C library's streams */
	PHASE_SYNCS = 8 << FIELD_GROUP_SHIFT,          /* writes, and can do so with O_SYNC */
	PHASE_PRIME = 16 << FIELD_GROUP_SHIFT,         /* iozone reads the first record before it times the rest */
	PHASE_STRIDE = 32 << FIELD_GROUP_SHIFT,        /* has a stride */
	PHASE_MIXED_WORK = 64 << FIELD_GROUP_SHIFT,    /* reads and writes by shares */
	PHASE_AMOUNT = 128 << FIELD_GROUP_SHIFT,       /* ends after a number of bytes */
	PHASE_BONNIE = 256 << FIELD_GROUP_SHIFT,       /* as that program does */
	PHASE_SEEK = 512 << FIELD_GROUP_SHIFT,         /* ends after a number of seeks */
	PHASE_DIRS = 1024 << FIELD_GROUP_SHIFT,        /* in private directories or one that all share */
	PHASE_TREE = 2048 << FIELD_GROUP_SHIFT,        /* in a tree of each worker's own */
	PHASE_RANDOM = 4096 << FIELD_GROUP_SHIFT,      /* in random order */
	PHASE_SHIFTED = 8192 << FIELD_GROUP_SHIFT,     /* can work on the files of another node */
	PHASE_SIZED = 16384 << FIELD_GROUP_SHIFT,      /* its many files have a size */
	PHASE_XATTR = 32768 << FIELD_GROUP_SHIFT,      /* works on extended attributes */
	PHASE_DEVICE = 0x40000 << FIELD_GROUP_SHIFT,   /* only reads, and can do so from a raw device */
	PHASE_CHECK = 0x400000 << FIELD_GROUP_SHIFT,   /* reads data that can be checked */
	PHASE_CLUSTER = 0x200000 << FIELD_GROUP_SHIFT, /* nodes look at what others did (cluster.h) */
	PHASE_TOOL = 65536 << FIELD_GROUP_SHIFT,       /* an external program does it (tool.h) */
	PHASE_FIO_TOOL = 131072 << FIELD_GROUP_SHIFT,
	PHASE_BONNIE_TOOL = 0x100000 << FIELD_GROUP_SHIFT,
	PHASE_IOZONE_TOOL = 524288 << FIELD_GROUP_SHIFT,
	PHASE_GROUPS = 0x7fffff << FIELD_GROUP_SHIFT,
};

/* Most phases over data are of one of these. */
#define PHASE_DATA_ANY   (PHASE_DATA | PHASE_AMOUNT)
#define PHASE_DATA_READ  (PHASE_DATA_ANY | PHASE_RAW | PHASE_SHIFTED | PHASE_CHECK | PHASE_DEVICE)
#define PHASE_DATA_WRITE (PHASE_DATA_ANY | PHASE_RAW | PHASE_SYNCS)

/* And those over many names of these. */
#define PHASE_NAMES       (PHASE_META | PHASE_DIRS | PHASE_SHIFTED)
#define PHASE_NAMED_FILES (PHASE_NAMES | PHASE_SIZED)

extern const char *const phase_kind_names[PHASE_KIND_COUNT + 1];

/* What is fixed for a kind. */
struct phase_kind_info {
	const char *name;
	enum op_kind op;
	enum phase_unit unit;
	unsigned groups;
	enum phase_needs needs;
	const char *help;
};

#include "common/base/field_decl.h"
#include "proto/model/phase.def"
#include "common/base/field_undef.h"

/* The row of a kind; kind must be in range. Static. */
const struct phase_kind_info *phase_kind_info(enum phase_kind kind);

/* Its name if it has one, else that of its kind. Borrowed from the phase. */
const char *phase_title(const struct phase *phase);

/* Does it read a raw device? Then it has no files. */
bool phase_reads_device(const struct phase *phase);

/* Is what it writes on the medium when its time ends, so that its rate is not that of the page cache? */
bool phase_is_durable(const struct phase *phase);

/* A copy with texts and lists of its own; field_struct_fini(&phase_desc, out) ends it. */
void phase_copy(const struct phase *phase, struct phase *out);

/* Do their workers do the same, whatever the phases are called and whoever takes part? (scaling.c) */
bool phase_same_work(const struct phase *a, const struct phase *b);

/* The same, wherever they do it: on files and in directories of their own, or on one that all share. (scaling.c) */
bool phase_same_elsewhere(const struct phase *a, const struct phase *b);

/* Do workers of different nodes work on one file, or in one directory? */
bool phase_is_shared(const struct phase *phase);

/*
 * What a worker moves at the most when neither amount nor time says more: bonnie++ from 1.97 on takes no more than 3 MiB byte by byte.
 * 0: its whole part.
 */
uint64_t phase_byte_limit(const struct phase *phase);
/* Does that field apply to the kind? */
bool phase_field_applies(const struct field_desc *field, enum phase_kind kind);

/*
 * Checks what can be known without a node: limits that depend on each other (record_size against file_size, alignment
 * to 512 for direct, depth against engine ...). Errors: LS_E_INVALID, LS_E_RANGE; the sentence names the field.
 */
enum ls_rc phase_validate(const struct phase *phase, struct ls_err *err) LS_MUST_CHECK;

/* Whose files a node works on, who works on the files of a node (each the other's inverse), and are they not the node's own? */
uint64_t phase_owner(const struct phase *phase, uint64_t node, uint64_t node_count);
uint64_t phase_user(const struct phase *phase, uint64_t node, uint64_t node_count);
bool phase_is_shifted(const struct phase *phase, uint64_t node_count);

/*
 * Which part of which file belongs to a worker. rank counts all workers of the run, node by node; first_rank is that of
 * the node's first worker. Segments of a shared file are whole records, as even as they go: the first ones have one more.
 * In an interleaved file record r belongs to rank r modulo all workers (IOR calls that strided).
 * Only the last record of a file can be short. With a shift both are those of the owner, as if it had the node's workers.
 */
struct phase_place {
	uint64_t file;   /* number of the file: rank (worker), owner (node), 0 (shared, interleaved) */
	uint64_t offset; /* first byte of the part */
	uint64_t length; /* bytes of the part; with files_per_worker of each file */
	uint64_t
	    step; /* from one record of the part to the next: record_size, or with interleaved that times all workers */
};

/*
 * The place of worker w (0..node_workers-1) of node (0..) with these worker numbers; node_workers[i] workers run on
 * node i. For phases with data. Pure. Errors: LS_E_RANGE when the part would be empty because there are fewer records
 * than workers, or when there is no such worker.
 */
enum ls_rc phase_place(const struct phase *phase, const uint64_t *node_workers, uint64_t node_count, uint64_t node,
    uint64_t worker, struct phase_place *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * Bytes that the phase goes over when every worker does its part once; total_workers: over all nodes. For phases with data.
 * Saturates at UINT64_MAX.
 */
uint64_t phase_bytes_once(const struct phase *phase, uint64_t node_count, uint64_t total_workers);

/*
 * Bytes of the phase's files, all nodes together and rounded up to 4 KiB blocks, and how many files there are, whether
 * the phase makes them or finds them. total_workers: over all nodes. Saturates at UINT64_MAX. For a job: job_footprint.
 */
void phase_footprint(
    const struct phase *phase, uint64_t node_count, uint64_t total_workers, uint64_t *out_bytes, uint64_t *out_files);

/* What becomes of the caches before a phase that has run: documents from before there was a choice leave it to the job. Pure. */
enum phase_caches phase_caches_of(const struct phase *phase);

#endif
