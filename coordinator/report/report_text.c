/* The report for people: at most 100 columns, units in every header, last done and all active side by side. */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/scale_int.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_text;

#define SCALE_NODES 16 /* of each phase, in the section on scaling */

static const char *
or_na(const char *text)
{
	return text == NULL || text[0] == '\0' ? "n/a" : text;
}

static const char *
size_text(uint64_t bytes, char *buf, size_t len)
{
	if (bytes == LS_UNKNOWN_U64)
		snprintf(buf, len, "n/a");
	else
		units_format_size(bytes, buf, len);
	return buf;
}

/* The volume as the first node that looked at it saw it. */
static void
header_volume(struct sink *out, const struct results *results)
{
	char total[32];
	char free_text[32];

	for (size_t n = 0; n < results->nodes_count; n++) {
		const struct volume_facts *v = results->nodes[n].facts.volume;

		if (v == NULL)
			continue;
		text_wrap(out, "volume  ", "%s %s on %s, %s, %s free (%s)", or_na(v->fs_type), or_na(v->source),
		    or_na(v->mount_point), size_text(v->total_bytes, total, sizeof(total)),
		    size_text(v->free_bytes, free_text, sizeof(free_text)), or_na(v->mount_options));
		return;
	}
	text_wrap(out, "volume  ", "n/a: no node has looked at it");
}

static void
header_node(struct sink *out, const struct run_node *node)
{
	const struct node_facts *f = &node->facts;
	char cpus[32] = "n/a";
	char memory[32];
	char clock[32];

	if (f->cpus != LS_UNKNOWN_U64)
		snprintf(cpus, sizeof(cpus), "%" PRIu64, f->cpus);
	text_wrap(out, "        ", "%s at %s: lockstep %s (%s), kernel %s, %s CPUs, %s memory, clock +/- %s",
	    node->name, or_na(node->address), or_na(f->version), or_na(f->build), or_na(f->kernel), cpus,
	    size_text(f->memory_bytes, memory, sizeof(memory)),
	    text_duration(node->clock.uncertainty_ns, clock, sizeof(clock)));
}

static void
header_skew(struct sink *out, const struct results *results)
{
	const struct phase_result *worst = NULL;
	char skew[32];
	char unsure[32];

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];

		if (phase->start_skew_ns == LS_UNKNOWN_I64)
			continue;
		if (worst == NULL || phase->start_skew_ns > worst->start_skew_ns)
			worst = phase;
	}
	if (worst == NULL)
		text_wrap(out, "skew    ", "n/a: no phase has started");
	else
		text_wrap(out, "skew    ", "worst %s +/- %s (phase %s): last minus first start of all workers",
		    text_duration(worst->start_skew_ns, skew, sizeof(skew)),
		    text_duration(worst->start_skew_uncertainty_ns, unsure, sizeof(unsure)), worst->name);
}

static void
header(struct sink *out, const struct results *results)
{
	const struct run_info *run = &results->run;
	char took[32];

	text_wrap(out, "run     ", "%s, %s", run->id, field_enum_name(run_state_names, run->state));
	if (run->reason != NULL && run->reason[0] != '\0')
		text_wrap(out, "reason  ", "%s", run->reason);
	text_labels(out, run);
	text_warnings(out, "", run->warnings, run->warnings_count);
	text_wrap(out, "job     ", "%s, started %s, took %s; lockstepd %s (%s)", run->name, or_na(run->started_at),
	    text_duration(run->duration_ns, took, sizeof(took)), or_na(run->lockstep.version),
	    or_na(run->lockstep.build));
	text_wrap(out, "path    ", "%s", or_na(run->job.path));
	header_volume(out, results);
	text_wrap(out, "nodes   ", "%zu", results->nodes_count);
	for (size_t n = 0; n < results->nodes_count; n++)
		header_node(out, &results->nodes[n]);
	header_skew(out, results);
}

static void
footer(struct sink *out)
{
	sink_printf(out, "\n");
	text_wrap(out, "",
	    "%s; CPU %%: of one CPU; share: of bytes, else of operations; -: does not apply; n/a: not "
	    "known, "
	    "a line with ! says why. last done: all work over last end minus first start. all active: the rate while "
	    "every "
	    "worker was active. first done: until the first worker ended. sum of rates: each worker's own average, "
	    "added.",
	    units_mega_note());
}

static enum ls_rc
render_text(const struct results *results, struct sink *out, struct ls_err *err)
{
	(void)err;
	if (results->run.origin != NULL) {
		text_import(out, results);
		return LS_OK;
	}
	header(out, results);
	text_promises(out, results);
	for (size_t p = 0; p < results->phases_count; p++) {
		sink_printf(out, "\n");
		text_phase(out, results, &results->phases[p]);
	}
	if (results->phases_count == 0)
		sink_printf(out, "\nNo phase has a result.\n");
	text_repetitions(out, results);
	scale_text(out, results, SCALE_NODES);
	footer(out);
	return LS_OK;
}

const struct report_format report_text = {
	.name = "text",
	.extension = "txt",
	.for_people = true,
	.help = "for people, at most 100 columns wide",
	.render = render_text,
};
