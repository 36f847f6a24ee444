/*
 * Job files and presets: JSON text to a validated struct job.
 */
#ifndef LS_PROTO_CODEC_JOBFILE_H
#define LS_PROTO_CODEC_JOBFILE_H

#include <stddef.h>

#include "common/base/err.h"
#include "proto/model/job.h"

struct job_preset {
	const char *name;
	const char *help; /* one line */
	const char *text; /* the job file, without a path */
};

/* All presets; count goes to *count. Static. A preset's text is built in from proto/presets/<name>.json. */
const struct job_preset *job_presets(size_t *count);
const struct job_preset *job_preset_find(const char *name);

/*
 * Parses a job file. what: its name for errors. set: count texts "key=value", applied in order on top of the file; key
 * is a job key, "grid.KEY", "phases.KEY" for all phases to which it applies, or "phases[N].KEY". The result is not validated yet, since
 * the path may come from elsewhere: job_validate does that. Parameters that do not apply to a phase's kind are errors. A grid is
 * written out as phases at the end (job_expand_grid): keys of phases mean those that stand in the file.
 * Errors: LS_E_INVALID, LS_E_RANGE; out is untouched then, else ended with field_struct_fini(&job_desc, out).
 */
enum ls_rc jobfile_parse(const char *text, size_t len, const char *what, const char *const *set, size_t set_count,
    struct job *out, struct ls_err *err) LS_MUST_CHECK;

#endif
