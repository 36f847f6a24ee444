/*
 * What limits the trust in a result, as sentences. Gates mark a result, they never hide it.
 */
#include "proto/model/aggregate_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/sink.h"
#include "common/base/units.h"
#include "proto/model/aggregate.h"

#define GATE_OVERLAP     0.9
#define GATE_SKEW_SHARE  0.01
#define GATE_CLOCK_SHARE 0.005
#define GATE_PHASE_NS    (30 * NS_PER_S)
#define GATE_REMOVED     10000ULL /* files: enough for the removal to weigh on what comes after it */
#define LATE_SHARE       0.05     /* of the phase: whoever ends so much after the first worker is named */
#define NAMES_MAX        5

/* A list of names for a sentence: "a, b and 7 more". */
struct names {
	struct sink text;
	size_t count;
};

static void
names_add(struct names *names, const char *name)
{
	if (names->count < NAMES_MAX)
		sink_printf(&names->text, "%s%s", names->count > 0 ? ", " : "", name);
	names->count++;
}

static const char *
names_text(struct names *names)
{
	if (names->count > NAMES_MAX)
		sink_printf(&names->text, " and %zu more", names->count - NAMES_MAX);
	return names->text.text == NULL ? "" : names->text.text;
}

static void
warn_overlap(struct phase_result *phase, const struct span *span, int64_t whole)
{
	struct names late = { 0 };
	struct names tardy = { 0 };
	int64_t slack = (int64_t)(LATE_SHARE * (double)whole);
	char d[32];

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (!node_counts(node) || node->start_ns == LS_UNKNOWN_I64 || node->end_ns == LS_UNKNOWN_I64)
			continue;
		if (span_between(node->end_ns, span->e0) > slack)
			names_add(&late, node->node);
		if (span_between(node->start_ns, span->s0) > slack)
			names_add(&tardy, node->node);
	}
	if (late.count > 0)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "overlap is only %.2f: after the first worker had ended, %s went on (the last for %s); all active "
		    "covers "
		    "only the shared part",
		    phase->aggregate.overlap, names_text(&late),
		    units_format_duration(span_between(span->e1, span->e0), d, sizeof(d)));
	if (tardy.count > 0)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "overlap is only %.2f: %s began up to %s after the first", phase->aggregate.overlap,
		    names_text(&tardy), units_format_duration(span_between(span->s1, span->s0), d, sizeof(d)));
	if (late.count == 0 && tardy.count == 0)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "overlap is only %.2f: workers did not begin and end together", phase->aggregate.overlap);
	sink_free(&late.text);
	sink_free(&tardy.text);
}

static void
warn_start(struct phase_result *phase, int64_t whole)
{
	char a[32];
	char b[32];
	double length = (double)whole;

	if (phase->start_skew_ns != LS_UNKNOWN_I64 && (double)phase->start_skew_ns > GATE_SKEW_SHARE * length)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "start skew of %s is more than 1 %% of the phase's %s",
		    units_format_duration(phase->start_skew_ns, a, sizeof(a)),
		    units_format_duration(whole, b, sizeof(b)));
	if (phase->start_skew_uncertainty_ns != LS_UNKNOWN_I64 &&
	    (double)phase->start_skew_uncertainty_ns > GATE_CLOCK_SHARE * length)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "clock uncertainty of %s is more than 0.5 %% of the phase's %s",
		    units_format_duration(phase->start_skew_uncertainty_ns, a, sizeof(a)),
		    units_format_duration(whole, b, sizeof(b)));
}

/* On a used ext4, for one, it is many times slower just after. */
static void
warn_after_removal(struct phase_result *phase, const struct job *job)
{
	uint64_t removed = job_removed_before(job, phase->nodes_count, phase->repetition, phase->index);

	if (removed < GATE_REMOVED)
		return;
	warnings_add(&phase->warnings, &phase->warnings_count,
	    "this run removed %" PRIu64
	    " files or directories from the volume before: many file systems create more slowly "
	    "after a mass delete; compare on a fresh one",
	    removed);
}

void
phase_add_quality_warnings(struct phase_result *phase, const struct job *job, const struct span *span)
{
	int64_t whole = span_between(span->e1, span->s0);
	char d[32];

	if (phase->start_skew_ns != LS_UNKNOWN_I64 && phase->start_skew_uncertainty_ns == LS_UNKNOWN_I64)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "start skew is without its uncertainty: what the coordinator knew of the clocks at the start is "
		    "lost");
	warn_after_removal(phase, job);
	if (whole <= 0 || span_is_too_short(span))
		return;
	/* without any overlap all active is n/a, and its reason says it */
	if (phase->aggregate.overlap > 0 && phase->aggregate.overlap < GATE_OVERLAP)
		warn_overlap(phase, span, whole);
	warn_start(phase, whole);
	if (whole < GATE_PHASE_NS && !job->short_phases)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "the phase took %s: below 30 s caches and start-up effects weigh heavily",
		    units_format_duration(whole, d, sizeof(d)));
}

/* --- the whole run ------------------------------------------------------------------------------------------------ */

static const char *
fact_version(const struct run_node *node)
{
	return node->facts.version;
}

static const char *
fact_build(const struct run_node *node)
{
	return node->facts.build;
}

static const char *
fact_kernel(const struct run_node *node)
{
	return node->facts.kernel;
}

static const char *
fact_fs_type(const struct run_node *node)
{
	return node->facts.volume == NULL ? NULL : node->facts.volume->fs_type;
}

static const char *
fact_mount_options(const struct run_node *node)
{
	return node->facts.volume == NULL ? NULL : node->facts.volume->mount_options;
}

static const struct {
	const char *what;
	const char *(*get)(const struct run_node *node);
} alike[] = {
	{ "versions of lockstep", fact_version },
	{ "builds of lockstep", fact_build },
	{ "kernels", fact_kernel },
	{ "types of file system", fact_fs_type },
	{ "mount options", fact_mount_options },
};

/* Compares with the first node that tells; a node that does not know is no difference. */
static void
warn_differences(struct results *results)
{
	for (size_t k = 0; k < ARRAY_LEN(alike); k++) {
		const struct run_node *first = NULL;

		for (size_t n = 0; n < results->nodes_count; n++) {
			const struct run_node *node = &results->nodes[n];
			const char *value = alike[k].get(node);

			if (value == NULL)
				continue;
			if (first == NULL) {
				first = node;
				continue;
			}
			if (strcmp(value, alike[k].get(first)) == 0)
				continue;
			warnings_add(&results->run.warnings, &results->run.warnings_count,
			    "the nodes have different %s: %s has \"%.80s\", %s has \"%.80s\"", alike[k].what,
			    first->name, alike[k].get(first), node->name, value);
			break;
		}
	}
}

static void
warn_one_machine(struct results *results)
{
	if (results->nodes_count < 2)
		return;
	for (size_t n = 0; n < results->nodes_count; n++) {
		const char *boot_id = results->nodes[n].facts.boot_id;

		if (boot_id == NULL || strcmp(boot_id, results->nodes[0].facts.boot_id) != 0)
			return;
	}
	warnings_add(&results->run.warnings, &results->run.warnings_count,
	    "all nodes are one machine: page cache and locks were shared; this is not a cluster result");
}

/* Bytes of files that one node goes over in the phase: what its page cache would have to hold. */
static double
node_file_set(const struct phase *spec, uint64_t workers, size_t nodes)
{
	double all = (double)phase_bytes_once(spec, nodes, workers * nodes);

	return nodes > 0 ? all / (double)nodes : all;
}

static uint64_t
least_memory(const struct results *results)
{
	uint64_t least = 0;

	for (size_t n = 0; n < results->nodes_count; n++) {
		uint64_t memory = results->nodes[n].facts.memory_bytes;

		if (memory == LS_UNKNOWN_U64 || memory == 0)
			continue;
		least = least == 0 ? memory : LS_MIN(least, memory);
	}
	return least;
}

static void
warn_small_file_set(struct results *results)
{
	struct names small = { 0 };
	double least_set = 0;
	uint64_t memory = least_memory(results);
	char a[32];
	char b[32];

	for (size_t p = 0; memory > 0 && p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];
		const struct phase *spec = &phase->spec;

		if (!(phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DATA) || phase->repetition > 0)
			continue;
		double set = node_file_set(spec, job_phase_workers(&results->run.job, spec), results->nodes_count);
		if (spec->direct || spec->engine == ENGINE_NULL || set >= 2.0 * (double)memory)
			continue;
		names_add(&small, phase->name);
		least_set = small.count == 1 ? set : LS_MIN(least_set, set);
	}
	if (small.count > 0)
		warnings_add(&results->run.warnings, &results->run.warnings_count,
		    "file set of %s per node is below twice the memory (%s) and direct I/O is off: caches answer in %s",
		    units_format_size((uint64_t)least_set, a, sizeof(a)), units_format_size(memory, b, sizeof(b)),
		    names_text(&small));
	sink_free(&small.text);
}

static void
warn_heartbeat(struct results *results)
{
	for (size_t n = 0; n < results->nodes_count; n++) {
		const char *type = fact_fs_type(&results->nodes[n]);

		if (type == NULL || (strcmp(type, "ocfs2") != 0 && strcmp(type, "gfs2") != 0))
			continue;
		warnings_add(&results->run.warnings, &results->run.warnings_count,
		    "nobody watched the cluster stack's heartbeat under this load");
		return;
	}
}

static void
warn_caps(struct results *results)
{
	const struct job *job = &results->run.job;
	char rate[32];

	if (results->run.origin != NULL)
		return;
	if (job->max_bandwidth != LS_UNKNOWN_U64 && job->max_bandwidth > 0)
		warnings_add(&results->run.warnings, &results->run.warnings_count,
		    "all nodes together were held to %s (max_bandwidth of the job): where that is reached, it and not "
		    "the volume was "
		    "measured",
		    units_format_rate((double)job->max_bandwidth, rate, sizeof(rate)));
	if (job->max_ops != LS_UNKNOWN_U64 && job->max_ops > 0)
		warnings_add(&results->run.warnings, &results->run.warnings_count,
		    "all nodes together were held to %" PRIu64
		    " op/s (max_ops of the job): where that is reached, it and not the volume was measured",
		    job->max_ops);
}

void
results_add_quality_warnings(struct results *results)
{
	warn_caps(results);
	warn_one_machine(results);
	warn_differences(results);
	warn_small_file_set(results);
	warn_heartbeat(results);
}
