/* What came of phases in which nodes look at what other nodes did. */
#include "coordinator/report/promise_int.h"
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
	char note[512];

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
		sink_printf(out, "%*" PRIu64 "%*" PRIu64 "\n", W_COUNT, s->unseen, W_COUNT, s->early);
	}
	text_wrap(out, "   ", "%s", promise_pairs_note(phase, note, sizeof(note)));
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

static void
put_row(struct sink *out, const struct promise_line *row)
{
	char note[256];

	sink_printf(out, " %-*s", W_WHAT, row->worst->what);
	text_cell_word(out, W_OUTCOME, field_enum_name(promise_outcome_names, row->worst->outcome));
	text_cell_word(out, W_OUTCOME, row->worst->promised ? "yes" : "no");
	sink_printf(out, "%*" PRIu64 "%*" PRIu64 "\n", W_COUNT, row->looked, W_COUNT, row->broken);
	if (promise_line_note(row, note, sizeof(note))[0] != '\0')
		text_wrap(out, "   ", "%s", note);
	if (!row->worst->promised)
		text_wrap(out, "   ", "%s", row->worst->source);
}

void
text_promises(struct sink *out, const struct results *results)
{
	struct promise_lines rows = promise_lines_of(results);

	if (rows.count > 0) {
		sink_printf(out, "\n %-*s", W_WHAT, "what nodes saw of each other");
		text_cell_word(out, W_OUTCOME, "outcome");
		text_cell_word(out, W_OUTCOME, "promised");
		text_cell_word(out, W_COUNT, "looked");
		text_cell_word(out, W_COUNT, "broken");
		sink_printf(out, "\n");
	}
	for (size_t i = 0; i < rows.count; i++)
		put_row(out, &rows.items[i]);
	promise_lines_free(&rows);
}
