/* What came of phases in which nodes look at what others did, against what the file system promises. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"
#include "proto/model/cluster.h"

#define LIST_MAX   64
#define WARNED_MAX 4

static const struct {
	const char *types, *option;
	unsigned rows;
	struct promise promise;
} promises[] = {
#define PROMISE(types, option, rows, promised, source) { types, option, rows, { promised, source } },
#include "proto/model/promises.def"
#undef PROMISE
};

/* --- the table --------------------------------------------------------------------------------------------------- */

/* Is the word one of those in the list, with that separator between them? A * at the end of one stands for any rest. */
static bool
is_listed(const char *list, char separator, const char *word)
{
	for (const char *at = list; at != NULL && *at != '\0';) {
		const char *end = strchr(at, separator);
		size_t len = end != NULL ? (size_t)(end - at) : strlen(at);

		if (len > 0 && at[len - 1] == '*' && strncmp(at, word, len - 1) == 0)
			return true;
		if (strlen(word) == len && strncmp(at, word, len) == 0)
			return true;
		at = end != NULL ? end + 1 : NULL;
	}
	return false;
}

struct promise
promise_of(const char *fs_type, const char *mount_options, enum promise_row row)
{
	for (size_t i = 0; i < ARRAY_LEN(promises); i++) {
		if ((promises[i].rows & (unsigned)row) == 0 ||
		    !is_listed(promises[i].types, '|', fs_type != NULL ? fs_type : ""))
			continue;
		if (promises[i].option == NULL || is_listed(mount_options, ',', promises[i].option))
			return promises[i].promise;
	}
	return (struct promise){ false, "" };
}

/* What all nodes of the run have promised to them: as little as any. */
static struct promise
promise_to_all(const struct results *results, const struct phase_result *phase)
{
	struct promise p = { true, "the job asks for everything (promise: all)" };

	for (size_t i = 0; phase->spec.promise != PROMISE_ALL && p.promised && i < results->nodes_count; i++) {
		const struct volume_facts *v = results->nodes[i].facts.volume;

		p = promise_of(
		    v != NULL ? v->fs_type : NULL, v != NULL ? v->mount_options : NULL, cluster_row(&phase->spec));
	}
	return p;
}

/* --- what was seen ----------------------------------------------------------------------------------------------- */

static void LS_PRINTF(2, 3) tell(struct promise_result *r, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (r->list_count >= LIST_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	warnings_add(&r->list, &r->list_count, "%s", text);
}

static bool
took_part(const struct node_result *node)
{
	return node->state != NODE_IDLE;
}

/* Names that nodes made with O_EXCL: each by one node alone. */
static void
judge_winners(const struct phase_result *phase, struct promise_result *r)
{
	for (int64_t name = 0; name < (int64_t)phase->spec.count; name++) {
		const char *first = NULL, *second = NULL;

		for (size_t n = 0; n < phase->nodes_count; n++) {
			const struct cluster_node *c = phase->nodes[n].cluster;
			for (size_t i = 0; c != NULL && i < c->numbers_count; i++) {
				if (c->numbers[i] != name)
					continue;
				second = first;
				first = phase->nodes[n].node;
			}
		}
		r->looked++;
		if (first != NULL && second == NULL)
			continue;
		r->broken++;
		if (first == NULL)
			tell(r, "name %" PRId64 ": O_EXCL made it for nobody", name);
		else
			tell(r, "name %" PRId64 ": O_EXCL made it for %s and for %s", name, second, first);
	}
}

/* What nodes counted under locks: numbers are a node's own counts, and the sum that it reads. */
static void
judge_counts(const struct phase_result *phase, struct promise_result *r)
{
	int64_t counted = 0;

	for (size_t n = 0; n < phase->nodes_count; n++)
		if (phase->nodes[n].cluster != NULL && phase->nodes[n].cluster->numbers_count == 2)
			counted += phase->nodes[n].cluster->numbers[0];
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct cluster_node *c = phase->nodes[n].cluster;

		if (c == NULL || c->numbers_count != 2)
			continue;
		r->looked++;
		if (c->numbers[1] == counted)
			continue;
		r->broken++;
		tell(r, "%s reads %" PRId64 " where the nodes counted %" PRId64 " under the lock", phase->nodes[n].node,
		    c->numbers[1], counted);
	}
}

static void
judge_pair(const struct node_result *actor, const struct node_result *node, struct promise_result *r)
{
	const struct cluster_node *did = actor->cluster, *saw = node->cluster;
	struct hist *hist = ls_malloc(sizeof(*hist));
	struct seen_after *pair;

	r->seen_after = ls_grow(r->seen_after, r->seen_after_count, sizeof(*r->seen_after));
	pair = &r->seen_after[r->seen_after_count++];
	field_struct_init(&seen_after_desc, pair);
	free(pair->from);
	free(pair->by);
	pair->from = ls_strdup(actor->node);
	pair->by = ls_strdup(node->node);
	hist_reset(hist);
	for (size_t i = 0; i < did->numbers_count; i++) {
		int64_t made = did->numbers[i], seen = i < saw->numbers_count ? saw->numbers[i] : -1;

		if (made < 0)
			continue; /* the phase was stopped before */
		r->looked++;
		if (seen < 0) {
			pair->unseen++;
			continue;
		}
		pair->early += seen < made;
		hist_record(hist, (uint64_t)LS_MAX(seen - made, (int64_t)0));
	}
	latency_from_hist(hist, &pair->latency_ns);
	free(hist);
	r->broken += pair->unseen;
	if (pair->unseen > 0)
		tell(r, "%s never saw %" PRIu64 " of %zu changes of %s", node->node, pair->unseen, did->numbers_count,
		    actor->node);
}

static void
judge_visibility(const struct phase_result *phase, struct promise_result *r)
{
	const struct node_result *actor = NULL;

	r->uncertainty_ns = phase->start_skew_uncertainty_ns;
	for (size_t n = 0; n < phase->nodes_count; n++)
		if (phase->nodes[n].cluster != NULL && phase->nodes[n].cluster->acted)
			actor = &phase->nodes[n];
	for (size_t n = 0; actor != NULL && n < phase->nodes_count; n++)
		if (&phase->nodes[n] != actor && took_part(&phase->nodes[n]) && phase->nodes[n].cluster != NULL)
			judge_pair(actor, &phase->nodes[n], r);
}

/* What single nodes said. Returns one who could not try it, or NULL. */
static const struct node_result *
gather(const struct phase_result *phase, struct promise_result *r)
{
	const struct node_result *untested = NULL;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->cluster == NULL)
			continue;
		r->looked += node->cluster->looked;
		r->broken += node->cluster->broken;
		for (size_t i = 0; i < node->cluster->list_count; i++)
			tell(r, "%s: %s", node->node, node->cluster->list[i]);
		if (untested == NULL && node->cluster->untested != NULL && node->cluster->untested[0] != '\0')
			untested = node;
	}
	return untested;
}

/* Of recovery the nodes that were lost are what it is about: the others look. */
static bool
is_expected(const struct phase_result *phase, const struct node_result *node)
{
	return took_part(node) && !(phase->kind == PHASE_RECOVERY && node->state == NODE_LOST);
}

static bool
is_whole(const struct phase_result *phase)
{
	for (size_t n = 0; n < phase->nodes_count; n++)
		if (is_expected(phase, &phase->nodes[n]) &&
		    (phase->nodes[n].state != NODE_DONE || phase->nodes[n].cluster == NULL))
			return false;
	return phase->nodes_count > 0;
}

/* A step of recovery that had nothing to do: why not. NULL: it had. */
static char *
why_nothing_to_recover(const struct results *results, const struct phase_result *phase)
{
	const struct phase *spec = &phase->spec;
	uint64_t lost = 0;

	for (size_t n = 0; n < results->nodes_count; n++) {
		const struct node_loss *loss = results->nodes[n].loss;

		/* The three steps follow each other: it was lost in this one or in one before it. */
		if (loss == NULL || loss->repetition != phase->repetition || loss->phase > phase->index ||
		    loss->phase + spec->step < phase->index)
			continue;
		lost++;
		if (spec->step == RECOVERY_AGAIN && !loss->returned)
			return ls_asprintf("%s did not come back%s: what it had fsynced was not looked at once more",
			    results->nodes[n].name, spec->return_time > 0 ? " in time" : ", and was not waited for");
	}
	if (lost == 0 && spec->step == RECOVERY_WRITE && spec->expect_loss > 0)
		return ls_strdup("no node was lost: how the others get over that is not known");
	return NULL;
}

static enum promise_outcome
outcome_of(const struct promise_result *r, bool untested)
{
	if (r->broken > 0)
		return r->promised ? OUTCOME_VIOLATED : OUTCOME_NOT_PROMISED;
	if (untested)
		return OUTCOME_UNTESTED;
	return r->looked > 0 ? OUTCOME_HELD : OUTCOME_PREPARED;
}

/* What was not held stands among the phase's warnings, where every report shows it. */
static void
warn(struct phase_result *phase, const struct promise_result *r)
{
	static const char *const words[] = {
		[OUTCOME_VIOLATED] = "is promised and was violated",
		[OUTCOME_NOT_PROMISED] = "is not promised, and was not held",
		[OUTCOME_UNTESTED] = "could not be tested",
		NULL,
	};

	if (r->outcome == OUTCOME_HELD || r->outcome == OUTCOME_PREPARED)
		return;
	if (r->outcome == OUTCOME_UNTESTED)
		warnings_add(&phase->warnings, &phase->warnings_count, "%s %s", r->what, words[r->outcome]);
	else
		warnings_add(&phase->warnings, &phase->warnings_count, "%s %s: %" PRIu64 " of %" PRIu64 " times (%s)",
		    r->what, words[r->outcome], r->broken, r->looked, r->source);
	for (size_t i = 0; i < r->list_count && i < WARNED_MAX; i++)
		warnings_add(&phase->warnings, &phase->warnings_count, "%s", r->list[i]);
}

static void
judge(const struct results *results, struct phase_result *phase)
{
	const struct phase *spec = &phase->spec;
	struct promise promise = promise_to_all(results, phase);
	struct promise_result *r = ls_malloc(sizeof(*r));
	const struct node_result *untested;
	char *idle = NULL;
	char about[128];

	field_struct_init(&promise_result_desc, r);
	free(r->what);
	free(r->source);
	r->what = ls_strdup(cluster_about(spec, about, sizeof(about)));
	r->source = ls_strdup(promise.source);
	r->promised = promise.promised;
	untested = gather(phase, r);
	if (phase->kind == PHASE_RECOVERY && (idle = why_nothing_to_recover(results, phase)) != NULL)
		tell(r, "%s", idle);
	if (untested != NULL)
		tell(r, "%s: %s", untested->node, untested->cluster->untested);
	/* Without a node's part nobody can say who made a name or how many counts there should be. */
	else if (!is_whole(phase))
		tell(r, "not all nodes told what they saw");
	else if (phase->kind == PHASE_VISIBILITY)
		judge_visibility(phase, r);
	else if (phase->kind == PHASE_COHERENCE && spec->check == CHECK_EXCL && spec->step == 0)
		judge_winners(phase, r);
	else if (phase->kind == PHASE_LOCKS && spec->step > CLUSTER_LOCK_FIRST && spec->step % 2 == 1)
		judge_counts(phase, r);
	if (recovery_is(spec, RECOVERY_WRITE))
		recovery_judge(results, phase);
	r->outcome = (int)outcome_of(r, untested != NULL || idle != NULL || !is_whole(phase));
	free(idle);
	warn(phase, r);
	if (phase->promise != NULL)
		field_struct_fini(&promise_result_desc, phase->promise);
	free(phase->promise);
	phase->promise = r;
	if (r->outcome == OUTCOME_VIOLATED && phase->state == PHASE_STATE_DONE)
		phase->state = PHASE_STATE_MISMATCH;
}

void
results_judge_promises(struct results *results)
{
	results_name_nodes(results);
	for (size_t p = 0; p < results->phases_count; p++) {
		struct phase_result *phase = &results->phases[p];

		if (phase->imported == NULL &&
		    (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_CLUSTER) != 0)
			judge(results, phase);
	}
}
