/* Rows of runs, attempts and phases. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/store/store_int.h"

void
store_run_fini(struct store_run *r)
{
	free(r->id);
	free(r->name);
	free(r->reason);
	free(r->boot_id);
	free(r->job);
	free(r->nodes);
	free(r->warnings);
	free(r->path);
	free(r->tags);
	free(r->note);
	*r = (struct store_run){ 0 };
}

void
store_attempt_fini(struct store_attempt *a)
{
	free(a->run);
	free(a->reason);
	*a = (struct store_attempt){ 0 };
}

void
store_phase_fini(struct store_phase *p)
{
	free(p->run);
	free(p->spec);
	free(p->note);
	*p = (struct store_phase){ 0 };
}

/* The nodes by which a run is found. */
static enum ls_rc
put_nodes(struct store *s, const struct store_run *r, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_CLEAR_NODES, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, r->id);
	rc = store_step(s, q, "nodes", err);
	if (rc == LS_OK)
		rc = store_stmt(s, SQL_PUT_NODES, &q, err);
	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, r->id);
	store_bind_text(q, 2, r->nodes);
	return store_step(s, q, "nodes", err);
}

enum ls_rc
store_put_run(struct store *s, const struct store_run *r, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_PUT_RUN, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, r->id);
	store_bind_text(q, 2, r->name);
	sqlite3_bind_int(q, 3, (int)r->state);
	sqlite3_bind_int(q, 4, (int)r->verdict);
	store_bind_text(q, 5, r->reason);
	sqlite3_bind_int64(q, 6, r->started_ns);
	store_bind_i64_or_null(q, 7, r->duration_ns);
	store_bind_text(q, 8, r->boot_id);
	store_bind_u64(q, 9, r->phase);
	store_bind_u64(q, 10, r->repetition);
	store_bind_u64(q, 11, r->attempt);
	sqlite3_bind_int(q, 12, r->phase_committed);
	store_bind_u64(q, 13, r->phases_total);
	store_bind_u64(q, 14, r->node_count);
	store_bind_text(q, 15, r->job);
	store_bind_text(q, 16, r->nodes);
	store_bind_text(q, 17, r->warnings);
	sqlite3_bind_int64(q, 18, r->added_ns != 0 ? r->added_ns : r->started_ns);
	rc = store_step(s, q, "run", err);
	return rc == LS_OK && r->nodes != NULL ? put_nodes(s, r, err) : rc;
}

static enum ls_rc
put_attempt(struct store *s, const struct store_attempt *a, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_PUT_ATTEMPT, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, a->run);
	store_bind_u64(q, 2, a->phase);
	store_bind_u64(q, 3, a->repetition);
	store_bind_u64(q, 4, a->attempt);
	store_bind_text(q, 5, a->reason);
	return store_step(s, q, "attempt", err);
}

static enum ls_rc
put_phase(struct store *s, const struct store_phase *p, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_PUT_PHASE, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, p->run);
	store_bind_u64(q, 2, p->phase);
	store_bind_u64(q, 3, p->repetition);
	store_bind_u64(q, 4, p->attempt);
	sqlite3_bind_int(q, 5, (int)p->state);
	store_bind_i64_or_null(q, 6, p->skew_uncertainty_ns);
	store_bind_text(q, 7, p->spec);
	store_bind_text(q, 8, p->note);
	return store_step(s, q, "phase", err);
}

enum ls_rc
store_save(struct store *s, const struct store_run *run, const struct store_attempt *attempt,
    const struct store_phase *phase, struct ls_err *err)
{
	enum ls_rc rc = store_begin(s, err);

	if (rc == LS_OK && run != NULL)
		rc = store_put_run(s, run, err);
	if (rc == LS_OK && attempt != NULL)
		rc = put_attempt(s, attempt, err);
	if (rc == LS_OK && phase != NULL)
		rc = put_phase(s, phase, err);
	return store_end(s, rc, err);
}

/* What stands in a row may have been changed by hand: a state outside of the enum becomes the given one. */
static int
column_enum(sqlite3_stmt *q, int at, int count, int otherwise)
{
	int value = sqlite3_column_int(q, at);

	return value >= 0 && value < count ? value : otherwise;
}

static void
read_run(sqlite3_stmt *q, bool with_texts, struct store_run *r)
{
	*r = (struct store_run){
		.id = store_column_text(q, 0),
		.name = store_column_text(q, 1),
		.state = (enum run_state)column_enum(q, 2, RUN_STATE_COUNT, RUN_FAILED),
		.verdict = (enum run_state)column_enum(q, 3, RUN_STATE_COUNT, RUN_FAILED),
		.reason = store_column_text(q, 4),
		.started_ns = sqlite3_column_int64(q, 5),
		.duration_ns = store_column_i64_or_null(q, 6),
		.boot_id = store_column_text(q, 7),
		.phase = store_column_u64(q, 8),
		.repetition = store_column_u64(q, 9),
		.attempt = store_column_u64(q, 10),
		.phase_committed = sqlite3_column_int(q, 11) != 0,
		.phases_total = store_column_u64(q, 12),
		.node_count = store_column_u64(q, 13),
		.phases_done = store_column_u64(q, 17),
		.path = store_column_text(q, 18),
		.note = store_column_text(q, 19),
		.tags = store_column_text(q, 20),
		.added_ns = sqlite3_column_int64(q, 21),
	};
	if (!with_texts)
		return;
	r->job = store_column_text(q, 14);
	r->nodes = store_column_text(q, 15);
	r->warnings = store_column_text(q, 16);
}

enum ls_rc
store_get_run(struct store *s, const char *id, struct store_run *out, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_GET_RUN, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, id);
	switch (sqlite3_step(q)) {
	case SQLITE_ROW:
		read_run(q, true, out);
		break;
	case SQLITE_DONE:
		rc = ls_err_set(err, LS_E_NOTFOUND, "there is no run %s", id);
		break;
	default:
		rc = store_fail(s, "run", err);
	}
	sqlite3_reset(q);
	return rc;
}

/* An exact match comes first and wins; else there must be one row only. */
static enum ls_rc
take_only_id(struct store *s, sqlite3_stmt *q, const char *prefix, char **id, struct ls_err *err)
{
	int step = sqlite3_step(q);
	char *found;

	if (step == SQLITE_DONE && prefix == NULL)
		return ls_err_set(err, LS_E_NOTFOUND, "there is no run yet");
	if (step == SQLITE_DONE)
		return ls_err_set(err, LS_E_NOTFOUND, "there is no run %s", prefix);
	if (step != SQLITE_ROW)
		return store_fail(s, "find run", err);
	found = store_column_text(q, 0);
	if (prefix == NULL || strcmp(found, prefix) == 0 || sqlite3_step(q) == SQLITE_DONE) {
		*id = found;
		return LS_OK;
	}
	free(found);
	return ls_err_set(err, LS_E_INVALID, "more than one run begins with %s", prefix);
}

enum ls_rc
store_find_run(struct store *s, const char *prefix, char **id, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc;

	if (prefix != NULL && prefix[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "an empty run id names no run");
	rc = store_stmt(s, prefix != NULL ? SQL_FIND_RUN : SQL_NEWEST_RUN, &q, err);
	if (rc != LS_OK)
		return rc;
	if (prefix != NULL)
		store_bind_text(q, 1, prefix);
	rc = take_only_id(s, q, prefix, id, err);
	sqlite3_reset(q);
	return rc;
}

enum ls_rc
store_list_runs(
    struct store *s, const struct store_wanted *wanted, struct store_run **out, size_t *out_count, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	struct store_run *runs = NULL;
	size_t n = 0;
	int step;
	enum ls_rc rc = store_stmt(s, wanted->only_live ? SQL_LIST_LIVE : SQL_LIST_RUNS, &q, err);

	if (rc != LS_OK)
		return rc;
	if (wanted->only_live) {
		sqlite3_bind_int64(q, 1, (sqlite3_int64)RUN_FINISHED);
	} else {
		sqlite3_bind_int64(q, 1, wanted->limit == 0 ? -1 : (sqlite3_int64)wanted->limit);
		store_bind_text(q, 2, wanted->node);
	}
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		runs = ls_grow(runs, n, sizeof(*runs));
		read_run(q, wanted->with_texts, &runs[n++]);
	}
	if (step != SQLITE_DONE)
		rc = store_fail(s, "list runs", err);
	sqlite3_reset(q);
	if (rc != LS_OK) {
		for (size_t i = 0; i < n; i++)
			store_run_fini(&runs[i]);
		free(runs);
		return rc;
	}
	*out = runs;
	*out_count = n;
	return LS_OK;
}

static struct store_phase
read_phase(sqlite3_stmt *q, const char *run)
{
	return (struct store_phase){
		.run = ls_strdup(run),
		.phase = store_column_u64(q, 0),
		.repetition = store_column_u64(q, 1),
		.attempt = store_column_u64(q, 2),
		.state = (enum phase_state)column_enum(q, 3, PHASE_STATE_COUNT, PHASE_STATE_FAILED),
		.skew_uncertainty_ns = store_column_i64_or_null(q, 4),
		.spec = store_column_text(q, 5),
		.note = store_column_text(q, 6),
	};
}

enum ls_rc
store_get_phase(
    struct store *s, const char *run, uint64_t phase, uint64_t repetition, struct store_phase *out, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_GET_PHASE, &q, err);
	int step;

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	store_bind_u64(q, 2, phase);
	store_bind_u64(q, 3, repetition);
	step = sqlite3_step(q);
	if (step == SQLITE_ROW)
		*out = read_phase(q, run);
	else if (step == SQLITE_DONE)
		rc = ls_err_set(err, LS_E_NOTFOUND, "run %s: phase %llu is not there", run, (unsigned long long)phase);
	else
		rc = store_fail(s, "get a phase", err);
	sqlite3_reset(q);
	return rc;
}

enum ls_rc
store_list_phases(struct store *s, const char *run, struct store_phase **out, size_t *out_count, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	struct store_phase *phases = NULL;
	size_t n = 0;
	int step;
	enum ls_rc rc = store_stmt(s, SQL_LIST_PHASES, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		phases = ls_grow(phases, n, sizeof(*phases));
		phases[n++] = read_phase(q, run);
	}
	if (step != SQLITE_DONE)
		rc = store_fail(s, "list phases", err);
	sqlite3_reset(q);
	if (rc != LS_OK) {
		for (size_t i = 0; i < n; i++)
			store_phase_fini(&phases[i]);
		free(phases);
		return rc;
	}
	*out = phases;
	*out_count = n;
	return LS_OK;
}

enum ls_rc
store_list_attempts(struct store *s, const char *run, struct store_attempt **out, size_t *out_count, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	struct store_attempt *attempts = NULL;
	size_t n = 0;
	int step;
	enum ls_rc rc = store_stmt(s, SQL_LIST_ATTEMPTS, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		attempts = ls_grow(attempts, n, sizeof(*attempts));
		attempts[n++] = (struct store_attempt){
			.run = ls_strdup(run),
			.phase = store_column_u64(q, 0),
			.repetition = store_column_u64(q, 1),
			.attempt = store_column_u64(q, 2),
			.reason = store_column_text(q, 3),
		};
	}
	if (step != SQLITE_DONE)
		rc = store_fail(s, "list attempts", err);
	sqlite3_reset(q);
	if (rc != LS_OK) {
		for (size_t i = 0; i < n; i++)
			store_attempt_fini(&attempts[i]);
		free(attempts);
		return rc;
	}
	*out = attempts;
	*out_count = n;
	return LS_OK;
}
