/*
 * Phases in which nodes look at what other nodes did: coherence, locks, visibility, recovery. A job names one phase for a row; lockstep takes it
 * apart into steps once it knows the run's nodes, so that what must have happened before something else lies behind a barrier. All
 * nodes of the row take part in each step (of locks: so many as the step is for), one worker each; its place among them is its rank.
 *
 *	coherence data	by turns all write their own files, all read those of the others; CLUSTER_ROUNDS times
 *	append		all append; all read
 *	excl		all make the same names, each at an instant of its own; all look for them
 *	rename		rank 0 puts new files over one that the others read; all read the last
 *	unlink		rank 0 makes a file; the others open it; rank 0 removes it; the others read it and look for its name
 *	truncate	rank 0 empties a file to which the others append; all read it
 *	attributes	by turns all change size and mtime of their own files, all ask for those of the others; CLUSTER_ROUNDS times
 *	locks		rank 0 takes a lock; the others try it; then for 1 to all nodes: lock and count; read the counts
 *	visibility	each rank in turn makes the changes
 *	recovery	all write and fsync, while a node is lost; the others look for what was fsynced; and once more when it is back
 *
 * Promises: promises.def says what a file system promises; a violation of that alone fails a phase.
 */
#ifndef LS_PROTO_MODEL_CLUSTER_H
#define LS_PROTO_MODEL_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/defs.h"
#include "common/base/err.h"
#include "proto/model/job.h"
#include "proto/model/results.h"

#define CLUSTER_ROUNDS     3   /* the second finds what was cached in the first */
#define CLUSTER_RECORD     240 /* bytes that an append adds: records cross pages */
#define CLUSTER_LOCK_HOLD  0   /* steps of locks */
#define CLUSTER_LOCK_TRY   1
#define CLUSTER_LOCK_FIRST 2  /* from here on, for each number of nodes: count under locks, read */
#define CLUSTER_LIST_MAX   16 /* sentences of a node */
#define RECOVERY_WRITE     0  /* steps of recovery */
#define RECOVERY_LOOK      1
#define RECOVERY_AGAIN     2
#define RECOVERY_STEPS     3
#define RECOVERY_RECORD    16384          /* bytes of a record */
#define RECOVERY_STALLS    8              /* longest ones that a node tells */
#define RECOVERY_STALL_NS  NS_PER_S       /* shorter ones do not put off when full rate counts as reached */
#define RECOVERY_WINDOW_NS (2 * NS_PER_S) /* over which that rate is taken */
#define RECOVERY_FULL      0.9            /* of the rate before the loss */

/* What a phase holds a file system to, as bits. */
enum promise_row {
	ROW_DATA_BUFFERED = 1 << 0,
	ROW_DATA_DIRECT = 1 << 1, /* written or read past the page cache */
	ROW_DATA_MMAP = 1 << 2,
	ROW_APPEND = 1 << 3,
	ROW_EXCL = 1 << 4,
	ROW_RENAME = 1 << 5,
	ROW_UNLINK = 1 << 6,
	ROW_TRUNCATE = 1 << 7,
	ROW_ATTRIBUTES = 1 << 8,
	ROW_FCNTL = 1 << 9,
	ROW_FLOCK = 1 << 10,
	ROW_RANGE = 1 << 11,
	ROW_SEEN = 1 << 12,    /* each change, within the time that a visibility phase waits */
	ROW_DURABLE = 1 << 13, /* what was fsynced is there after the loss of the node that wrote it */
};

#define ROWS_DATA  (ROW_DATA_BUFFERED | ROW_DATA_DIRECT | ROW_DATA_MMAP)
#define ROWS_LOCKS (ROW_FCNTL | ROW_FLOCK | ROW_RANGE)
#define ROWS_ALL   0x3fff

struct promise {
	bool promised;
	const char *source; /* static */
};

/* What a file system of that type, mounted with these options ("rw,coherency=full"), promises; either may be NULL. */
struct promise promise_of(const char *fs_type, const char *mount_options, enum promise_row row);

/* Records that a recovery phase keeps: the n-th lies in place n modulo these. */
uint64_t recovery_places(const struct phase *phase);

/* Is it that step of a recovery phase? */
bool recovery_is(const struct phase *phase, uint64_t step);

/* The row that a phase is about. */
enum promise_row cluster_row(const struct phase *phase);

/* Steps of a phase on so many nodes. */
size_t cluster_steps(const struct phase *phase, size_t nodes);

/* Nodes that take part in a step, of so many. */
size_t cluster_step_nodes(const struct phase *phase, size_t step, size_t nodes);

/* What the phase looks at, in a few words: "data written buffered, read direct". Returns buf. */
const char *cluster_about(const struct phase *phase, char *buf, size_t len);

/* Errors: LS_E_INVALID, LS_E_RANGE; the sentence begins with the field. */
enum ls_rc cluster_phase_validate(const struct phase *phase, struct ls_err *err) LS_MUST_CHECK;

/*
 * Replaces each such phase that was not taken apart by its steps, for these nodes of the run. Errors: LS_E_RANGE (too many phases),
 * LS_E_INVALID (fewer than two nodes); the job is as before then.
 */
enum ls_rc job_expand_cluster(struct job *job, char *const *nodes, size_t count, struct ls_err *err) LS_MUST_CHECK;

/* Bytes and files of a step on all nodes. Saturates. */
void cluster_footprint(const struct phase *phase, uint64_t node_count, uint64_t *out_bytes, uint64_t *out_files);

/* A deep copy into uninitialised memory; ended with cluster_node_desc. */
void cluster_node_copy(const struct cluster_node *from, struct cluster_node *to);

/* Fills recovery of a phase that writes while a node is lost, from what its nodes told and when they were lost. results_judge_promises does it. */
void recovery_judge(const struct results *results, struct phase_result *phase);

/*
 * Sets promise of each such phase from what its nodes saw, and makes a phase in which a promise was violated one that is not
 * done (PHASE_STATE_MISMATCH). Once all phases and node facts are in; a second call makes it anew.
 */
void results_judge_promises(struct results *results);

#endif
