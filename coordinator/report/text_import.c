/* The report of an imported run: what the tool printed, one line a figure; nothing that only lockstep measures. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/text_int.h"

#define SETTING_MAX 160 /* bytes of a setting's value that are shown */

enum {
	W_TEST = 18,
	W_SIZE = 10,
	W_RATE = 10,
	W_OPS = 10,
	W_P99 = 11,
};

static void
settings(struct sink *out, const struct origin *origin)
{
	for (size_t i = 0; i < origin->settings_count; i++) {
		const struct setting *s = &origin->settings[i];

		text_wrap(out, "        ", "%s: %.*s%s", s->name, SETTING_MAX, s->value,
		    strlen(s->value) > SETTING_MAX ? " ..." : "");
	}
}

static void
header(struct sink *out, const struct results *results)
{
	const struct run_info *run = &results->run;
	const struct origin *o = run->origin;

	text_wrap(out, "run     ", "%s, %s, imported: lockstep has not measured this", run->id,
	    field_enum_name(run_state_names, run->state));
	if (run->reason != NULL && run->reason[0] != '\0')
		text_wrap(out, "reason  ", "%s", run->reason);
	text_labels(out, run);
	text_warnings(out, "", run->warnings, run->warnings_count);
	text_wrap(out, "name    ", "%s", run->name);
	text_wrap(out, "tool    ", "%s %s", o->tool, o->version != NULL ? o->version : "of unknown version");
	text_wrap(out, "from    ", "%s, lines %" PRIu64 " to %" PRIu64 " (%s)", o->file, o->first_line, o->last_line,
	    o->format);
	settings(out, o);
}

static void
cell_size(struct sink *out, uint64_t bytes)
{
	char text[32] = "";

	if (bytes != LS_UNKNOWN_U64)
		units_format_size(bytes, text, sizeof(text));
	text_cell_word(out, W_SIZE, text);
}

static void
row(struct sink *out, const struct phase_result *phase, const char *who, double bytes_per_s, double ops_per_s,
    const struct latency *latency)
{
	int64_t p99 = latency != NULL ? latency->p99 : LS_UNKNOWN_I64;
	int64_t max = latency != NULL ? latency->max : LS_UNKNOWN_I64;

	sink_printf(out, " %-*.*s", W_TEST, W_TEST, phase->imported->test);
	cell_size(out, phase->imported->file_size);
	cell_size(out, phase->imported->record_size);
	sink_printf(out, "  ");
	text_name(out, who);
	text_cell(out, W_RATE, bytes_per_s / units_mega());
	text_cell(out, W_OPS, ops_per_s);
	text_cell(out, W_P99, p99 != LS_UNKNOWN_I64 ? (double)p99 / 1e3 : (double)NAN);
	text_cell(out, W_P99, max != LS_UNKNOWN_I64 ? (double)max / 1e3 : (double)NAN);
	sink_printf(out, "\n");
}

static void
row_rate(struct sink *out, const struct phase_result *phase, const char *who, const struct rate *rate)
{
	if (!isnan(rate->bytes_per_s) || !isnan(rate->ops_per_s))
		row(out, phase, who, rate->bytes_per_s, rate->ops_per_s, NULL);
}

static void
phase_rows(struct sink *out, const struct phase_result *phase)
{
	const struct aggregate *a = &phase->aggregate;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		row(out, phase, node->node, node->bytes_per_s, node->ops_per_s, node->latency_ns);
	}
	row_rate(out, phase, "(first done)", &a->first_done);
	row_rate(out, phase, "(last done)", &a->last_done);
	row_rate(out, phase, "(sum of rates)", &a->sum_of_rates);
	if (phase->state != PHASE_STATE_DONE)
		text_wrap(out, "   ! ", "%s", field_enum_name(phase_state_names, phase->state));
	text_warnings(out, "   ", phase->warnings, phase->warnings_count);
}

static void
head_row(struct sink *out)
{
	sink_printf(out, "\n %-*s", W_TEST, "test");
	text_cell_word(out, W_SIZE, "file");
	text_cell_word(out, W_SIZE, "record");
	sink_printf(out, "  ");
	text_name(out, "node");
	text_cell_word(out, W_RATE, units_mega_rate());
	text_cell_word(out, W_OPS, "op/s");
	text_cell_word(out, W_P99, "p99 us");
	text_cell_word(out, W_P99, "max us");
	sink_printf(out, "\n");
}

void
text_import(struct sink *out, const struct results *results)
{
	header(out, results);
	head_row(out);
	for (size_t p = 0; p < results->phases_count; p++)
		if (results->phases[p].imported != NULL)
			phase_rows(out, &results->phases[p]);
	sink_printf(out, "\n");
	text_wrap(out, "",
	    "%s; n/a: the tool does not tell. In brackets: what the tool says of all its processes, "
	    "and sums "
	    "of rates, "
	    "which tell nothing of what a volume gives at one time.",
	    units_mega_note());
}
