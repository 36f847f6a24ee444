/* Documents that came whole: imports. */
#include <stdlib.h>

#include "coordinator/daemon/store/store_int.h"

enum ls_rc
store_get_document(struct store *s, const char *run, char **out, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_GET_DOCUMENT, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	switch (sqlite3_step(q)) {
	case SQLITE_ROW:
		*out = store_column_text(q, 0);
		break;
	case SQLITE_DONE:
		rc = ls_err_set(err, LS_E_NOTFOUND, "run %s has no document of its own", run);
		break;
	default:
		rc = store_fail(s, "document", err);
	}
	sqlite3_reset(q);
	return rc;
}

static enum ls_rc
put_document(struct store *s, const struct store_run *run, const char *text, const struct label_change *labels,
    struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_put_run(s, run, err);

	if (rc == LS_OK)
		rc = store_stmt(s, SQL_PUT_DOCUMENT, &q, err);
	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run->id);
	store_bind_text(q, 2, text);
	rc = store_step(s, q, "document", err);
	return rc == LS_OK && labels != NULL ? store_apply_labels(s, run->id, labels, err) : rc;
}

enum ls_rc
store_put_document(struct store *s, const struct store_run *run, const char *text, const struct label_change *labels,
    bool *known, struct ls_err *err)
{
	struct store_run row = { 0 };
	char *there = NULL;
	enum ls_rc rc = store_get_document(s, run->id, &there, err);

	*known = rc == LS_OK;
	free(there);
	if (rc != LS_E_NOTFOUND)
		return rc;
	rc = store_get_run(s, run->id, &row, err);
	if (rc == LS_OK) {
		store_run_fini(&row);
		return ls_err_set(err, LS_E_EXISTS, "run %s is there, and was measured here", run->id);
	}
	if (rc != LS_E_NOTFOUND)
		return rc;
	rc = store_begin(s, err);
	if (rc == LS_OK)
		rc = put_document(s, run, text, labels, err);
	return store_end(s, rc, err);
}
