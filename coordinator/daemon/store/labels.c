#include "coordinator/daemon/store/labels.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "coordinator/daemon/store/store_int.h"
#include "proto/model/label.h"

static enum ls_rc
run_text(struct store *s, enum store_sql which, const char *run, const char *text, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, which, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	store_bind_text(q, 2, text);
	return store_step(s, q, "label", err);
}

static void
free_tags(char **tags, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(tags[i]);
	free(tags);
}

enum ls_rc
store_get_tags(struct store *s, const char *run, char ***out, size_t *out_count, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	char **tags = NULL;
	size_t n = 0;
	int step;
	enum ls_rc rc = store_stmt(s, SQL_GET_LABELS, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		tags = ls_grow(tags, n, sizeof(*tags));
		tags[n++] = store_column_text(q, 0);
	}
	if (step != SQLITE_DONE)
		rc = store_fail(s, "tags", err);
	sqlite3_reset(q);
	if (rc != LS_OK) {
		free_tags(tags, n);
		return rc;
	}
	*out = tags;
	*out_count = n;
	return LS_OK;
}

static enum ls_rc
check_count(struct store *s, const char *run, struct ls_err *err)
{
	char **tags = NULL;
	size_t n = 0;
	enum ls_rc rc = store_get_tags(s, run, &tags, &n, err);

	if (rc != LS_OK)
		return rc;
	free_tags(tags, n);
	return n <= LABEL_TAGS_MAX ? LS_OK
				   : ls_err_set(err, LS_E_LIMIT, "run %s: more than %d tags", run, LABEL_TAGS_MAX);
}

enum ls_rc
store_apply_labels(struct store *s, const char *run, const struct label_change *c, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < c->remove_count && rc == LS_OK; i++)
		rc = run_text(s, SQL_REMOVE_TAG, run, c->remove[i], err);
	for (size_t i = 0; i < c->add_count && rc == LS_OK; i++)
		rc = run_text(s, SQL_ADD_TAG, run, c->add[i], err);
	if (rc == LS_OK && c->note != NULL)
		rc = run_text(s, SQL_SET_NOTE, run, c->note, err);
	return rc == LS_OK ? check_count(s, run, err) : rc;
}

enum ls_rc
store_label(struct store *s, const char *run, const struct label_change *change, struct ls_err *err)
{
	struct store_run row = { 0 };
	enum ls_rc rc = label_check(change->add, change->add_count, change->note, err);

	if (rc == LS_OK)
		rc = store_get_run(s, run, &row, err);
	store_run_fini(&row);
	if (rc != LS_OK)
		return rc;
	rc = store_begin(s, err);
	if (rc == LS_OK)
		rc = store_apply_labels(s, run, change, err);
	return store_end(s, rc, err);
}
