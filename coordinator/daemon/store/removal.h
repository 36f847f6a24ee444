/*
 * Removing runs. A run disappears at once and as a whole; the results of its nodes, which may be hundreds of MB, are deleted piece by
 * piece afterwards, so that no acknowledgement waits behind them. The file does not shrink: what was freed is used again. Threads: as
 * store.h.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_REMOVAL_H
#define LS_COORDINATOR_DAEMON_STORE_REMOVAL_H

#include "coordinator/daemon/store/store.h"

/* Removes a run that has ended. Errors: LS_E_NOTFOUND, LS_E_REFUSED when it has not ended, LS_E_STORE. */
enum ls_rc store_remove_run(struct store *store, const char *run, struct ls_err *err) LS_MUST_CHECK;

/* Deletes up to pieces of what removed runs left. *more: there may be more. Errors: LS_E_STORE. */
enum ls_rc store_sweep(struct store *store, uint64_t pieces, bool *more, struct ls_err *err) LS_MUST_CHECK;

/* Which runs are kept. */
struct store_limits {
	uint64_t runs;     /* the newest so many; 0: no limit */
	int64_t before_ns; /* those that came before this wall clock time are too old; 0: none is */
};

struct store_expired {
	char *run; /* heap */
	bool by_age;
};

/*
 * Ended runs beyond the limits, without those that are tagged LABEL_KEEP, which do not count either. *out: heap, ended with
 * store_expired_free. Errors: LS_E_STORE.
 */
enum ls_rc store_find_expired(struct store *store, const struct store_limits *limits, struct store_expired **out,
    size_t *out_count, struct ls_err *err) LS_MUST_CHECK;
void store_expired_free(struct store_expired *expired, size_t count);

#endif
