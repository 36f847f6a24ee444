/*
 * Figures of one job of fio's JSON. Used where whole documents are imported, and fit for single jobs too. Not for other folders.
 */
#ifndef LS_COORDINATOR_IMPORT_FIO_INT_H
#define LS_COORDINATOR_IMPORT_FIO_INT_H

#include <jansson.h>
#include <stdbool.h>

#include "coordinator/import/import_int.h"

enum fio_direction { FIO_READ = 0, FIO_WRITE, FIO_TRIM, FIO_DIRECTIONS };

extern const char *const import_fio_direction_names[FIO_DIRECTIONS];

/* What fio says of one direction. Unknown: LS_UNKNOWN_U64, NAN. */
struct fio_figures {
	uint64_t bytes, ops;
	double bytes_per_s, ops_per_s, runtime_ms;
	bool consistent; /* bytes over time is about the rate */
};

/* Has the job done anything in that direction? Sections of zeros mean that it was not run. */
bool import_fio_did(json_t *job, enum fio_direction d);

/* modern: io_bytes counts bytes (3.0 and later), where io_kbytes does not decide it. False when there is no such section. */
bool import_fio_figures_of(json_t *job, enum fio_direction d, bool modern, struct fio_figures *out);

/* Fills a node from the figures and the latencies of the section. */
void import_fio_to_node(json_t *job, enum fio_direction d, const struct fio_figures *f, struct node_result *node);

/* Its name, whole where "jobname" is cut. Borrowed from job; "job" if it has none. */
const char *import_fio_job_name(json_t *job);

/* Does an option of the job, or a global one, contain what? globals: "global options", or NULL. */
bool import_fio_option_has(json_t *globals, json_t *job, const char *option, const char *what);

/* Its block size in bytes, or LS_UNKNOWN_U64. */
uint64_t import_fio_block_size(json_t *globals, json_t *job);

#endif
