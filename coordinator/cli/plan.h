/*
 * What a job would do on which nodes, reckoned without starting anything. Pure: no connection, no file, no clock.
 */
#ifndef LS_COORDINATOR_CLI_PLAN_H
#define LS_COORDINATOR_CLI_PLAN_H

#include "proto/codec/msg.h"
#include "proto/model/job.h"
#include "proto/model/results.h"

#include "common/base/field_decl.h"
#include "coordinator/cli/plan.def"
#include "common/base/field_undef.h"

/* Whom it would run on. Borrowed. */
struct plan_nodes {
	char *const *names;
	size_t count;
	const struct node_row *known; /* what lockstepd says of nodes, in any order; NULL: it was not asked */
	size_t known_count;
};

/*
 * Writes the job's phases out for these nodes (grid and solo; the job is changed like a run's) and reckons each. What would refuse the run is
 * told in out->limits, not as an error. out is uninitialised and ended with field_struct_fini(&plan_desc, out).
 */
void plan_make(struct job *job, const struct plan_nodes *nodes, struct plan *out);

/*
 * Takes times, and bytes where the job does not tell them, from a run that did the same work on as many nodes with as many workers: the mean of its
 * repetitions. job: as plan_make left it. Only phases that are not known yet change.
 */
void plan_learn(struct plan *plan, const struct job *job, const struct results *earlier);

/* Adds up what the phases tell, and judges it against the nodes' limits of time. Once, at the end. */
void plan_finish(struct plan *plan, const struct plan_nodes *nodes);

#endif
