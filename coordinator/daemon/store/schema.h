/*
 * The tables of the store and how older ones become the present ones. One list of steps; the database's user_version says how
 * many of them it has seen.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_SCHEMA_H
#define LS_COORDINATOR_DAEMON_STORE_SCHEMA_H

#include "common/base/err.h"

struct sqlite3;

/* Steps known to this program: the user_version of an up-to-date store. */
int schema_version(void);

/*
 * Brings db to schema_version(), each step in a transaction of its own. path: for errors. Errors: LS_E_STORE; a store that is
 * newer than this program is refused.
 */
enum ls_rc schema_migrate(struct sqlite3 *db, const char *path, struct ls_err *err) LS_MUST_CHECK;

#endif
