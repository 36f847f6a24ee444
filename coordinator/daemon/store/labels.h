/*
 * Tags and notes of runs in the store; what they may be says proto/model/label.h. Threads: as store.h.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_LABELS_H
#define LS_COORDINATOR_DAEMON_STORE_LABELS_H

#include "coordinator/daemon/store/store.h"

/* A change. Borrowed strings. */
struct label_change {
	char *const *add;
	size_t add_count;
	char *const *remove;
	size_t remove_count;
	const char *note; /* NULL: as it is; "": none */
};

/* Checks and applies it, in one transaction. Errors: LS_E_INVALID, LS_E_LIMIT (too many tags), LS_E_NOTFOUND, LS_E_STORE. */
enum ls_rc store_label(
    struct store *store, const char *run, const struct label_change *change, struct ls_err *err) LS_MUST_CHECK;

/* The run's tags in their order; heap, each and the array (NULL when there is none). Errors: LS_E_STORE. */
enum ls_rc store_get_tags(
    struct store *store, const char *run, char ***out, size_t *out_count, struct ls_err *err) LS_MUST_CHECK;

#endif
