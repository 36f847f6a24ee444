/*
 * What failed in a phase: all are counted, the first ones kept with everything needed to find them. Any thread.
 */
#ifndef LS_AGENT_ENGINE_ERRORS_H
#define LS_AGENT_ENGINE_ERRORS_H

#include <pthread.h>

#include "agent/engine/engine.h"

struct failure {
	enum ls_rc rc;    /* LS_E_SYS where a system call failed */
	uint64_t worker;  /* LS_UNKNOWN_U64: none in particular */
	const char *step; /* "arm", "run", "flush" */
	enum shm_call call;
	const char *path; /* relative to the run's directory; NULL: none */
	uint64_t offset;  /* LS_UNKNOWN_U64: none */
	int errnum;       /* 0: text says what */
	const char *text; /* NULL: the errno's */
};

struct errors {
	pthread_mutex_t lock;
	const char *run_dir; /* borrowed */
	struct io_error kept[ENGINE_ERRORS_MAX];
	size_t kept_count;
	uint64_t count;
	enum ls_rc first_rc;
};

/* Empty, empty again, ended. run_dir is borrowed for the list's life. */
void errors_init(struct errors *list, const char *run_dir);
void errors_reset(struct errors *list);
void errors_fini(struct errors *list);

/* Copies everything it needs. */
void errors_add(struct errors *list, const struct failure *failure);

/* Moves a copy of the first one into out (initialised) and its sentence into err; returns its code, LS_OK if there is none. */
enum ls_rc errors_first(struct errors *list, struct io_error *out, struct ls_err *err);

/* "ENOSPC" and so on; NULL for a number without a name. Static. */
const char *errors_errno_name(int errnum);

#endif
