/* What came of phases in which nodes look at what other nodes did. */
#include "coordinator/report/text_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "proto/model/cluster.h"

enum { W_WHAT = 40, W_OUTCOME = 13, W_COUNT = 10, W_TIME = 12 };

bool
text_has_rates(const struct phase_result *phase)
{
	return phase->promise == NULL || text_counts_locks(&phase->spec) || phase->recovery != NULL;
}

bool
text_counts_locks(const struct phase *spec)
{
	return spec->kind == PHASE_LOCKS && spec->step >= CLUSTER_LOCK_FIRST && spec->step % 2 == 0;
}

void
text_promise_about(const struct phase *spec, char *buf, size_t len)
{
	char poll[32], interval[32];

	if (recovery_is(spec, RECOVERY_WRITE))
		snprintf(buf, len,
		    "a record of %d KiB each %s, an fsync after each %" PRIu64 "; %" PRIu64
		    " node%s may be lost meanwhile",
		    RECOVERY_RECORD / 1024, units_format_duration(spec->interval, interval, sizeof(interval)),
		    spec->count, spec->expect_loss, spec->expect_loss == 1 ? "" : "s");
	else if (spec->kind == PHASE_VISIBILITY)
		snprintf(buf, len, "%" PRIu64 " changes, one each %s; the others look every %s", spec->count,
		    units_format_duration(spec->interval, interval, sizeof(interval)),
		    units_format_duration(spec->poll, poll, sizeof(poll)));
	else
		snprintf(buf, len, "step %" PRIu64 " of %" PRIu64 ", all nodes at a barrier before each",
		    spec->step + 1, spec->steps);
}

static void
seen_table(struct sink *out, const struct phase_result *phase)
{
	const struct promise_result *r = phase->promise;
	char a[32], b[32];

	if (r->seen_after_count == 0)
		return;
	sink_printf(out, " ");
	text_name(out, "made by");
	text_name(out, "seen by");
	text_cell_word(out, W_TIME, "p50");
	text_cell_word(out, W_TIME, "p99");
	text_cell_word(out, W_TIME, "longest");
	text_cell_word(out, W_COUNT, "unseen");
	text_cell_word(out, W_COUNT, "early");
	sink_printf(out, "\n");
	for (size_t i = 0; i < r->seen_after_count; i++) {
		const struct seen_after *s = &r->seen_after[i];
		char n[32];

		sink_printf(out, " ");
		text_name(out, s->from);
		text_name(out, s->by);
		text_cell_word(out, W_TIME, text_duration(s->latency_ns.p50, n, sizeof(n)));
		text_cell_word(out, W_TIME, text_duration(s->latency_ns.p99, n, sizeof(n)));
		text_cell_word(out, W_TIME, text_duration(s->latency_ns.max, n, sizeof(n)));
		text_cell(out, W_COUNT, (double)s->unseen);
		text_cell(out, W_COUNT, (double)s->early);
		sink_printf(out, "\n");
	}
	text_wrap(out, "   ",
	    "from the return of the call to the return of the look that saw it, clocks corrected: +/- %s, and up to a "
	    "poll of "
	    "%s too long; a look takes the cluster's locks itself. early: seen before the call had returned, counted "
	    "as 0",
	    text_duration(r->uncertainty_ns, a, sizeof(a)), units_format_duration(phase->spec.poll, b, sizeof(b)));
}

void
text_promise(struct sink *out, const struct phase_result *phase)
{
	const struct promise_result *r = phase->promise;

	if (r == NULL)
		return;
	if (r->outcome == OUTCOME_HELD)
		text_wrap(out, "   ", "held: %" PRIu64 " looked at, all as they must be%s", r->looked,
		    r->promised ? "" : " (though it is not promised)");
	seen_table(out, phase);
}

/* --- the table of all ---------------------------------------------------------------------------------------------- */

/* The steps of one row of the job together. */
struct row {
	const struct promise_result *worst;
	uint64_t looked, broken;
	int64_t median_ns, longest_ns; /* visibility: the worst pair's */
	char rates[160];               /* locks per second, for each number of nodes */
};

/* Which outcome tells more of a row. */
static int
weight(int outcome)
{
	static const int weights[] = {
		[OUTCOME_PREPARED] = 0,
		[OUTCOME_HELD] = 1,
		[OUTCOME_UNTESTED] = 2,
		[OUTCOME_NOT_PROMISED] = 3,
		[OUTCOME_VIOLATED] = 4,
	};

	return weights[outcome];
}

static void
add_step(struct row *row, const struct phase_result *phase)
{
	const struct promise_result *r = phase->promise;
	size_t used = strlen(row->rates);
	char rate[64];

	row->looked += r->looked;
	row->broken += r->broken;
	if (row->worst == NULL || weight(r->outcome) > weight(row->worst->outcome))
		row->worst = r;
	for (size_t i = 0; i < r->seen_after_count; i++) {
		row->median_ns = LS_MAX(row->median_ns, r->seen_after[i].latency_ns.p50);
		row->longest_ns = LS_MAX(row->longest_ns, r->seen_after[i].latency_ns.max);
	}
	if (text_counts_locks(&phase->spec))
		snprintf(row->rates + used, sizeof(row->rates) - used, "%s%s",
		    used > 0 ? ", " : "locks/s on 1, 2, ... nodes: ",
		    text_number(phase->aggregate.last_done.ops_per_s, rate, sizeof(rate)));
}

static void
put_row(struct sink *out, const struct row *row)
{
	char a[32], b[32];

	sink_printf(out, " %-*s", W_WHAT, row->worst->what);
	text_cell_word(out, W_OUTCOME, field_enum_name(promise_outcome_names, row->worst->outcome));
	text_cell_word(out, W_OUTCOME, row->worst->promised ? "yes" : "no");
	sink_printf(out, "%*" PRIu64 "%*" PRIu64 "\n", W_COUNT, row->looked, W_COUNT, row->broken);
	if (row->rates[0] != '\0')
		text_wrap(out, "   ", "%s", row->rates);
	if (row->median_ns > 0)
		text_wrap(out, "   ", "slowest pair: half after %s; longest of all %s",
		    text_duration(row->median_ns, a, sizeof(a)), text_duration(row->longest_ns, b, sizeof(b)));
	if (!row->worst->promised)
		text_wrap(out, "   ", "%s", row->worst->source);
}

void
text_promises(struct sink *out, const struct results *results)
{
	bool any = false;

	for (size_t p = 0; p < results->phases_count;) {
		const struct phase_result *first = &results->phases[p];
		struct row row = { .rates = "" };

		if (first->promise == NULL) {
			p++;
			continue;
		}
		if (!any) {
			sink_printf(out, "\n %-*s", W_WHAT, "what nodes saw of each other");
			text_cell_word(out, W_OUTCOME, "outcome");
			text_cell_word(out, W_OUTCOME, "promised");
			text_cell_word(out, W_COUNT, "looked");
			text_cell_word(out, W_COUNT, "broken");
			sink_printf(out, "\n");
		}
		any = true;
		/* A row's steps follow each other, from 0 on. */
		do
			add_step(&row, &results->phases[p++]);
		while (p < results->phases_count && results->phases[p].promise != NULL &&
		    results->phases[p].spec.step > 0);
		put_row(out, &row);
	}
}
