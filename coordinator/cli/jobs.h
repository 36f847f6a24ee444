/*
 * Jobs as the command line gives them: a job file or a preset, with options on top.
 */
#ifndef LS_COORDINATOR_CLI_JOBS_H
#define LS_COORDINATOR_CLI_JOBS_H

#include "common/base/err.h"
#include "common/conf/options.h"
#include "proto/model/job.h"

/* What stands on top of the job's own text. NULL and 0: as the job says. Borrowed. */
struct job_overrides {
	const char *path;
	const char *nodes;      /* names separated by commas */
	const char *nodes_from; /* file of cluster software that names them; not with nodes */
	const char *expect;     /* type of the file system */
	uint64_t workers, repeat;
	const struct option_texts *set; /* "key=value" */
};

/*
 * Reads what (a file when it contains a "/", ends in .json or exists; else a preset's name) and validates the whole. out is
 * ended with field_struct_fini(&job_desc, out). Errors: LS_E_INVALID and LS_E_RANGE with the place, LS_E_NOTFOUND for an
 * unknown preset, LS_E_SYS; untouched out then.
 */
enum ls_rc jobs_load(
    const char *what, const struct job_overrides *overrides, struct job *out, struct ls_err *err) LS_MUST_CHECK;

/* Does that word name a file rather than a preset, a run or "last"? */
bool jobs_is_file(const char *word);

/* Replaces the job's list of nodes by count names (copied). */
void jobs_set_nodes(struct job *job, const char *const *names, size_t count);

#endif
