/*
 * lockstep run --dry-run: tells what a run would do and starts nothing.
 */
#ifndef LS_COORDINATOR_CLI_DRY_RUN_H
#define LS_COORDINATOR_CLI_DRY_RUN_H

#include "coordinator/cli/cmd.h"
#include "proto/model/job.h"

struct dry_run {
	uint64_t local;   /* so many nodes on this machine; 0: nodes of a lockstepd */
	const char *json; /* file for the plan as JSON, "-" for standard output; NULL: none */
};

/*
 * Prints the plan. Nodes are the job's, or all that lockstepd knows to be connected, or, when none can be asked, three without names of their
 * own. The job's phases are written out in it. Returns CLI_OK, or CLI_REFUSED when something would refuse the run.
 */
enum cli_exit dry_run(const struct cli *cli, const struct dry_run *what, struct job *job);

#endif
