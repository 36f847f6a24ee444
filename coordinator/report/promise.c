#include "coordinator/report/promise_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/text_int.h"

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
add_step(struct promise_line *row, const struct phase_result *phase)
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

struct promise_lines
promise_lines_of(const struct results *results)
{
	struct promise_lines rows = { 0 };

	for (size_t p = 0; p < results->phases_count;) {
		struct promise_line row = { .first = &results->phases[p] };

		if (results->phases[p].promise == NULL) {
			p++;
			continue;
		}
		/* A row's steps follow each other, from 0 on. */
		do
			add_step(&row, &results->phases[p++]);
		while (p < results->phases_count && results->phases[p].promise != NULL &&
		    results->phases[p].spec.step > 0);
		rows.items = ls_grow(rows.items, rows.count, sizeof(*rows.items));
		rows.items[rows.count++] = row;
	}
	return rows;
}

void
promise_lines_free(struct promise_lines *rows)
{
	free(rows->items);
	*rows = (struct promise_lines){ 0 };
}

const char *
promise_line_note(const struct promise_line *row, char *buf, size_t len)
{
	char a[32], b[32];

	snprintf(buf, len, "%s", row->rates);
	if (row->median_ns > 0)
		snprintf(buf, len, "slowest pair: half after %s; longest of all %s",
		    text_duration(row->median_ns, a, sizeof(a)), text_duration(row->longest_ns, b, sizeof(b)));
	return buf;
}

const char *
promise_pairs_note(const struct phase_result *phase, char *buf, size_t len)
{
	char a[32], b[32];

	snprintf(buf, len,
	    "from the return of the call to the return of the look that saw it, clocks corrected: +/- %s, and up to a "
	    "poll of %s too long; a look takes the cluster's locks itself. early: seen before the call had returned, "
	    "counted as 0",
	    text_duration(phase->promise->uncertainty_ns, a, sizeof(a)),
	    units_format_duration(phase->spec.poll, b, sizeof(b)));
	return buf;
}
