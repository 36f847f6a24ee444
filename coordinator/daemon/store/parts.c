/* Results of nodes, in the pieces in which they came. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/daemon/store/store_int.h"

static void
bind_key(sqlite3_stmt *q, const char *run, const char *node, uint64_t phase, uint64_t repetition, uint64_t attempt)
{
	store_bind_text(q, 1, run);
	store_bind_text(q, 2, node);
	store_bind_u64(q, 3, phase);
	store_bind_u64(q, 4, repetition);
	store_bind_u64(q, 5, attempt);
}

static enum ls_rc
part_stmt(struct store *s, enum store_sql which, const struct store_part *p, sqlite3_stmt **q, struct ls_err *err)
{
	enum ls_rc rc = store_stmt(s, which, q, err);

	if (rc == LS_OK)
		bind_key(*q, p->run, p->node, p->phase, p->repetition, p->attempt);
	return rc;
}

/* Into *seen: -1 not there, 0 there with other content, 1 there with the same. */
static enum ls_rc
find_part(struct store *s, const struct store_part *p, int *seen, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = part_stmt(s, SQL_FIND_PART, p, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_u64(q, 6, p->part);
	store_bind_u64(q, 7, p->parts);
	store_bind_text(q, 8, p->data);
	switch (sqlite3_step(q)) {
	case SQLITE_ROW:
		*seen = sqlite3_column_int(q, 0);
		break;
	case SQLITE_DONE:
		*seen = -1;
		break;
	default:
		rc = store_fail(s, "find part", err);
	}
	sqlite3_reset(q);
	return rc;
}

/* How many parts are there, and is their number of parts the same in all? parts 0: none there. */
static enum ls_rc
count_parts(struct store *s, const struct store_part *p, uint64_t *count, uint64_t *min_parts, uint64_t *max_parts,
    struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = part_stmt(s, SQL_COUNT_PARTS, p, &q, err);

	if (rc != LS_OK)
		return rc;
	if (sqlite3_step(q) == SQLITE_ROW) {
		*count = store_column_u64(q, 0);
		*min_parts = store_column_u64(q, 1);
		*max_parts = store_column_u64(q, 2);
	} else {
		rc = store_fail(s, "count parts", err);
	}
	sqlite3_reset(q);
	return rc;
}

static enum ls_rc
insert_part(struct store *s, struct store_part *p, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = part_stmt(s, SQL_PUT_PART, p, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_u64(q, 6, p->part);
	store_bind_u64(q, 7, p->parts);
	store_bind_text(q, 8, p->data);
	rc = store_step(s, q, "part", err);
	if (rc == LS_OK && sqlite3_changes(s->db) == 0)
		p->rc = LS_E_NOTFOUND;
	return rc;
}

static enum ls_rc
put_part(struct store *s, struct store_part *p, struct ls_err *err)
{
	uint64_t count = 0, min_parts = 0, max_parts = 0;
	int seen = -1;
	enum ls_rc rc = find_part(s, p, &seen, err);

	p->rc = LS_OK;
	p->complete = false;
	if (rc == LS_OK)
		rc = count_parts(s, p, &count, &min_parts, &max_parts, err);
	if (rc != LS_OK)
		return rc;
	if (seen == 0 || (count > 0 && (min_parts != p->parts || max_parts != p->parts))) {
		p->rc = LS_E_EXISTS;
		return LS_OK;
	}
	if (seen < 0) {
		rc = insert_part(s, p, err);
		count++;
	}
	p->complete = rc == LS_OK && p->rc == LS_OK && count == p->parts;
	return rc;
}

enum ls_rc
store_put_parts(struct store *s, struct store_part *parts, size_t count, struct ls_err *err)
{
	enum ls_rc rc = store_begin(s, err);

	for (size_t i = 0; rc == LS_OK && i < count; i++)
		rc = put_part(s, &parts[i], err);
	rc = store_end(s, rc, err);
	for (size_t i = 0; rc != LS_OK && i < count; i++) {
		parts[i].rc = rc;
		parts[i].complete = false;
	}
	return rc;
}

enum ls_rc
store_get_result(struct store *s, const char *run, uint64_t phase, uint64_t repetition, uint64_t attempt,
    const char *node, char **out, size_t *out_len, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	struct sink text = { 0 };
	uint64_t next = 0, parts = 1;
	int step;
	enum ls_rc rc = store_stmt(s, SQL_GET_RESULT, &q, err);

	if (rc != LS_OK)
		return rc;
	bind_key(q, run, node, phase, repetition, attempt);
	while ((step = sqlite3_step(q)) == SQLITE_ROW && store_column_u64(q, 0) == next) {
		const char *data = (const char *)sqlite3_column_text(q, 2);

		parts = store_column_u64(q, 1);
		if (data != NULL)
			sink_add(&text, data, strlen(data));
		next++;
	}
	if (step != SQLITE_DONE && step != SQLITE_ROW)
		rc = store_fail(s, "result", err);
	else if (next != parts || text.text == NULL)
		rc = ls_err_set(err, LS_E_NOTFOUND, "run %s: no result of node %s for phase %llu", run, node,
		    (unsigned long long)phase);
	sqlite3_reset(q);
	if (rc != LS_OK) {
		sink_free(&text);
		return rc;
	}
	*out = text.text;
	*out_len = text.len;
	return LS_OK;
}
