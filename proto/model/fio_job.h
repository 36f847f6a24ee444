/*
 * A fio job file as far as lockstep takes it: options of a table, names that are safe in a shell, and stages, which are what lies between
 * stonewalls. Each stage becomes a phase with a barrier of its own and runs as a fio of its own. Pure; no file is read.
 */
#ifndef LS_PROTO_MODEL_FIO_JOB_H
#define LS_PROTO_MODEL_FIO_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/sink.h"

#define FIO_JOB_STAGES_MAX    64
#define FIO_JOB_PROCESSES_MAX 256

/* Which counters of /proc/PID/io show what an I/O engine moves. */
enum fio_counts {
	FIO_COUNTS_CALLS = 0, /* rchar, wchar: read and write calls */
	FIO_COUNTS_DEVICE,    /* read_bytes, write_bytes: right for direct I/O only */
	FIO_COUNTS_NOTHING,
};

struct fio_section {
	char *name;
	bool global;
	size_t stage;
	uint64_t jobs;  /* numjobs */
	uint64_t bytes; /* size, 0 where the file does not tell it in bytes */
	char **options; /* "bs=4k", as written, without stonewall */
	size_t options_count;
};

struct fio_job {
	struct fio_section *sections; /* in the order of the file */
	size_t count;
	size_t stages;
	bool direct; /* in all sections of all stages */
	enum fio_counts counts;
};

/*
 * Reads and checks. Errors: LS_E_INVALID, "line N: why". out is filled on success only and ended by fio_job_fini.
 */
enum ls_rc fio_job_parse(const char *text, struct fio_job *out, struct ls_err *err) LS_MUST_CHECK;
void fio_job_fini(struct fio_job *job);

/* Processes (or threads) that a stage starts: so many wait at its barrier. */
uint64_t fio_job_processes(const struct fio_job *job, size_t stage);

/* Names of the stage's sections, "a+b", cut to fit. Returns buf. */
const char *fio_job_title(const struct fio_job *job, size_t stage, char *buf, size_t len);

/* The most bytes of files that its sections name, all processes of a node together. Saturates. */
uint64_t fio_job_bytes(const struct fio_job *job);

/* The job file of one stage: global sections, then its own; extra: lines for a first global section, ending in a line end. */
void fio_job_render(const struct fio_job *job, size_t stage, const char *extra, struct sink *out);

#endif
