/*
 * A job: the one description of a run that the operator writes, lockstepd keeps and the agents get.
 */
#ifndef LS_PROTO_MODEL_JOB_H
#define LS_PROTO_MODEL_JOB_H

#include "common/base/err.h"
#include "common/base/field.h"
#include "proto/model/phase.h"

enum job_on_node_loss {
	ON_LOSS_ABORT = 0,
	ON_LOSS_CONTINUE,
};

enum grid_cut_over {
	CUT_OVER_AUTO = 0,
	CUT_OVER_ON,
	CUT_OVER_OFF,
};

#define GRID_RECORD_MIN (4 << 10)
#define GRID_RECORD_MAX (16 << 20)

extern const char *const job_on_node_loss_names[];
extern const char *const grid_cut_over_names[];

#include "common/base/field_decl.h"
#include "proto/model/job.def"
#include "common/base/field_undef.h"

/*
 * Checks a whole job: a path that is absolute and has no ".." component, at least one phase, each phase valid, no
 * node twice. Errors: LS_E_INVALID or LS_E_RANGE, the sentence begins with the place ("phases[2].record_size: ...").
 */
enum ls_rc job_validate(const struct job *job, struct ls_err *err) LS_MUST_CHECK;

/*
 * Replaces the phases of a job with a grid by those of all its cells, in iozone's order: file sizes, in them record sizes, in them
 * the phases. The grid is gone afterwards. A job without one stays as it is. Errors: LS_E_RANGE, LS_E_INVALID; unchanged then.
 */
enum ls_rc job_expand_grid(struct job *job, struct ls_err *err) LS_MUST_CHECK;

/* Which of a run's nodes take part in a phase: out[i] for nodes[i]. */
void phase_takes_part(const struct phase *phase, char *const *nodes, size_t count, bool *out);

/* Do all phases name nodes of the run only? Errors: LS_E_INVALID, the sentence names the phase and the node. */
enum ls_rc job_check_phase_nodes(
    const struct job *job, char *const *nodes, size_t count, struct ls_err *err) LS_MUST_CHECK;

/*
 * Writes solo phases out, once the run's nodes are known: before each that is marked so, one for each of its nodes alone. Nothing
 * is marked afterwards, so that a second call changes nothing. Errors: LS_E_RANGE (too many phases); the job is as before then.
 */
enum ls_rc job_expand_solo(struct job *job, char *const *nodes, size_t count, struct ls_err *err) LS_MUST_CHECK;

/*
 * Holds the phases to the job's max_bandwidth and max_ops, once the run's nodes are known and before solo phases are written out: in a solo
 * phase each worker has the same share as in the phase of all, so that the two can be compared. A second call changes nothing. Errors: as
 * phase_hold, the sentence names the key and the phase; phases before it are held then.
 */
enum ls_rc job_hold(struct job *job, size_t node_count, struct ls_err *err) LS_MUST_CHECK;

/*
 * Says for each phase what becomes of the caches before it, once external programs and cluster phases are taken apart: what the job says
 * where the phase does not. Between the steps of one row of a cluster phase nothing does, and a program that stands at its gate keeps
 * its files open, so that there is no remount. A second call changes nothing.
 */
void job_settle_caches(struct job *job);

/* Is there a phase with that among those of a job that is settled? */
bool job_empties_caches(const struct job *job, enum phase_caches how);

/* Can each phase be held to the job's caps at all, on one node? Errors: as job_hold. */
enum ls_rc job_check_caps(const struct job *job, struct ls_err *err) LS_MUST_CHECK;

/* Workers per node of a phase: its own number, or the job's. */
uint64_t job_phase_workers(const struct job *job, const struct phase *phase);

/*
 * The most bytes and files that the run has on the volume at any time, all node_count nodes together. Phases share their
 * files: with the same layout, file n is the same file and as large as the largest phase makes it. Files per worker, per
 * node and shared ones have different names and add up; of the metadata phases the largest counts, for each class of
 * objects in private and in shared directories. Sizes are rounded up to 4 KiB blocks. Directories and lockstep's own markers are not counted.
 * Saturates at UINT64_MAX. The job is valid.
 */
void job_footprint(const struct job *job, uint64_t node_count, uint64_t *out_bytes, uint64_t *out_files);

/*
 * Files, directories and links that the run has removed before phase `index` of that repetition begins, in the phases before it (at least
 * of this repetition and the one before) and, untimed, in its own preparation. 0 for a phase that makes none. node_count: nodes of the run.
 */
uint64_t job_removed_before(const struct job *job, uint64_t node_count, uint64_t repetition, uint64_t index);

#endif
