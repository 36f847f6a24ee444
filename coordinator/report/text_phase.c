/* One phase as a table. */
#include "coordinator/report/text_int.h"
#include "proto/model/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/by_op.h"
#include "coordinator/report/steady.h"
#include "proto/model/tool.h"

#define ERRORS_SHOWN 3 /* of each node */

/* Widths of the columns after the name; together with name and indent below TEXT_COLUMNS. */
enum {
	W_RATE = 10,
	W_OPS = 10,
	W_P50 = 9,
	W_P99 = 9,
	W_P99_9 = 10,
	W_CPU = 7,
	W_TIME = 8,
	W_SHARE = 8,
	W_DEVICE = 11,
	W_FIGURE = 27,
	W_AGGREGATE = 15,
};

static bool
moves_bytes(const struct phase_result *phase)
{
	return phase_kind_info((enum phase_kind)phase->kind)->unit == PHASE_BYTES ||
	    (phase->aggregate.bytes > 0 && phase->aggregate.bytes != LS_UNKNOWN_U64);
}

static void
describe_data(const struct phase *spec, char *buf, size_t len)
{
	static const char *const layouts[] = {
		[LAYOUT_WORKER] = "a file per worker",
		[LAYOUT_NODE] = "a file per node",
		[LAYOUT_SHARED] = "one file shared by all",
		[LAYOUT_INTERLEAVED] = "one interleaved file",
		[LAYOUT_SAME] = "the same records of one file by all",
	};
	char size[32];
	char record[32];
	char depth[32] = "";
	char many[64] = "";

	if (spec->engine == ENGINE_IO_URING || spec->engine == ENGINE_LIBAIO)
		snprintf(depth, sizeof(depth), " depth %" PRIu64, spec->depth);
	if (spec->files_per_worker > 1)
		snprintf(many, sizeof(many), "%" PRIu64 " files per worker", spec->files_per_worker);
	snprintf(buf, len, "%s of %s, records of %s, %s, %s%s%s", many[0] != '\0' ? many : layouts[spec->layout],
	    units_format_size(spec->file_size, size, sizeof(size)),
	    units_format_size(spec->record_size, record, sizeof(record)), spec->direct ? "direct" : "buffered",
	    field_enum_name(phase_engine_names, spec->engine), depth, spec->fsync ? ", flush timed" : "");
}

static void
describe_meta(const struct phase *spec, char *buf, size_t len)
{
	const struct phase_kind_info *info = phase_kind_info((enum phase_kind)spec->kind);
	const char *what = "files";
	char size[32] = "", spread[64] = "";
	char s[32];

	if (info->op == OP_MKDIR || info->op == OP_RMDIR)
		what = "directories";
	else if (info->op == OP_SYMLINK)
		what = "symbolic links";
	if (info->groups & PHASE_SIZED)
		snprintf(size, sizeof(size), " of %s", units_format_size(spec->size, s, sizeof(s)));
	if (spec->directories > 1)
		snprintf(spread, sizeof(spread), ", spread over %" PRIu64 " in it", spec->directories);
	snprintf(buf, len, "%" PRIu64 " %s per worker%s, %s%s", spec->files, what, size,
	    spec->dirs == DIRS_SHARED ? "one directory for all" : "a directory per worker", spread);
}

/* Of an import only what its tool told is known. */
static void
about_import(const struct phase_result *phase, char *buf, size_t len)
{
	const struct imported_phase *i = phase->imported;
	char size[32] = "n/a";
	char record[32] = "n/a";

	if (i->file_size != LS_UNKNOWN_U64)
		units_format_size(i->file_size, size, sizeof(size));
	if (i->record_size != LS_UNKNOWN_U64)
		units_format_size(i->record_size, record, sizeof(record));
	snprintf(buf, len, "imported; file size %s, record size %s", size, record);
}

static const char *
caches_about(const struct phase *spec)
{
	static const char *const texts[] = {
		[CACHES_NONE] = "",
		[CACHES_FADVISE] = "; caches of its files emptied before",
		[CACHES_DROP] = "; all caches of the nodes dropped before",
		[CACHES_REMOUNT] = "; volume mounted anew before",
		[CACHES_AS_JOB] = "",
	};

	return texts[spec->caches];
}

void
text_phase_about(const struct results *results, const struct phase_result *phase, char *buf, size_t len)
{
	const struct phase *spec = &phase->spec;
	uint64_t workers = job_phase_workers(&results->run.job, spec);
	char what[256];
	char limits[256] = "";
	char d[32];

	if (phase->imported != NULL) {
		about_import(phase, buf, len);
		return;
	}
	if (phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_TOOL) {
		tool_about(spec, what, sizeof(what));
		snprintf(buf, len, "%s at the barrier: %s%s", phase_kind_names[spec->kind], what, caches_about(spec));
		return;
	}
	if (phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_CLUSTER) {
		text_promise_about(spec, buf, len);
		return;
	}
	if (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DATA)
		describe_data(spec, what, sizeof(what));
	else
		describe_meta(spec, what, sizeof(what));
	if (spec->shift == 1)
		snprintf(limits, sizeof(limits), ", those of the next node");
	else if (spec->shift > 0)
		snprintf(limits, sizeof(limits), ", those of the node %" PRIu64 " places on", spec->shift);
	if (spec->steady_window > 0)
		snprintf(limits + strlen(limits), sizeof(limits) - strlen(limits), ", until steady for %s, at most",
		    units_format_duration(spec->steady_window, d, sizeof(d)));
	else if (spec->time > 0)
		snprintf(limits + strlen(limits), sizeof(limits) - strlen(limits), ", for");
	if (spec->time > 0)
		snprintf(limits + strlen(limits), sizeof(limits) - strlen(limits), " %s",
		    units_format_duration(spec->time, d, sizeof(d)));
	if (spec->warmup > 0)
		snprintf(limits + strlen(limits), sizeof(limits) - strlen(limits), ", after a warm-up of %s",
		    units_format_duration(spec->warmup, d, sizeof(d)));
	snprintf(limits + strlen(limits), sizeof(limits) - strlen(limits), "%s", caches_about(spec));
	snprintf(buf, len, "%s; %" PRIu64 " worker%s per node, %s%s", field_enum_name(phase_kind_names, phase->kind),
	    workers, workers == 1 ? "" : "s", what, limits);
	text_work_about(spec, buf, len);
}

void
text_phase_title(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	const struct job *job = &results->run.job;
	char repetition[64] = "";
	char about[512];

	if (job->repeat > 1)
		snprintf(repetition, sizeof(repetition), " (repetition %" PRIu64 " of %" PRIu64 ")",
		    phase->repetition + 1, job->repeat);
	text_wrap(out, "", "Phase %" PRIu64 "%s: %s%s%s", phase->index + 1, repetition, phase->name,
	    phase->state == PHASE_STATE_DONE ? "" : " -- ",
	    phase->state == PHASE_STATE_DONE ? "" : field_enum_name(phase_state_names, phase->state));
	text_phase_about(results, phase, about, sizeof(about));
	text_wrap(out, " ", "%s", about);
}

static void
table_head(struct sink *out)
{
	char device_head[32];

	snprintf(device_head, sizeof(device_head), "device %s", units_mega_name());
	sink_printf(out, " ");
	text_name(out, "node");
	text_cell_word(out, W_RATE, units_mega_rate());
	text_cell_word(out, W_OPS, "op/s");
	text_cell_word(out, W_P50, "p50 us");
	text_cell_word(out, W_P99, "p99 us");
	text_cell_word(out, W_P99_9, "p99.9 us");
	text_cell_word(out, W_CPU, "CPU %");
	text_cell_word(out, W_TIME, "time s");
	text_cell_word(out, W_SHARE, "share %");
	text_cell_word(out, W_DEVICE, device_head);
	sink_printf(out, "\n");
}

static void
cells_latency(struct sink *out, const struct phase_result *phase, const struct latency *l)
{
	const int64_t values[] = {
		l == NULL ? LS_UNKNOWN_I64 : l->p50,
		l == NULL ? LS_UNKNOWN_I64 : l->p99,
		l == NULL ? LS_UNKNOWN_I64 : l->p99_9,
	};
	static const int widths[] = { W_P50, W_P99, W_P99_9 };

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (by_op_mixes(phase))
			text_cell_word(out, widths[i], "-");
		else
			text_cell(out, widths[i], values[i] == LS_UNKNOWN_I64 ? (double)NAN : (double)values[i] / 1e3);
}

static void
cells_rate(struct sink *out, const struct phase_result *phase, double bytes_per_s, double ops_per_s)
{
	if (by_op_mixes(phase)) {
		text_cell_word(out, W_RATE, "-");
		text_cell_word(out, W_OPS, "-");
		return;
	}
	if (moves_bytes(phase))
		text_cell(out, W_RATE, bytes_per_s / units_mega());
	else
		text_cell_word(out, W_RATE, "-");
	text_cell(out, W_OPS, ops_per_s);
}

/* Percent of one CPU: workers on two CPUs can reach 200. */
static double
cpu_percent(const struct cpu_time *cpu, int64_t span_ns)
{
	if (cpu->user_ns == LS_UNKNOWN_I64 || cpu->system_ns == LS_UNKNOWN_I64 || span_ns <= 0)
		return (double)NAN;
	return 100 * ((double)cpu->user_ns + (double)cpu->system_ns) / (double)span_ns;
}

static void
cell_time(struct sink *out, int64_t ns)
{
	char text[32];
	double s = (double)ns / 1e9;

	if (ns == LS_UNKNOWN_I64 || ns < 0)
		snprintf(text, sizeof(text), "n/a");
	else
		snprintf(text, sizeof(text), "%.*f", s < 0.1 ? 5 : s < 10 ? 3 : s < 1000 ? 1 : 0, s);
	text_cell_word(out, W_TIME, text);
}

static int64_t
node_time(const struct node_result *node)
{
	if (node->start_ns == LS_UNKNOWN_I64 || node->end_ns == LS_UNKNOWN_I64)
		return LS_UNKNOWN_I64;
	return node->end_ns - node->start_ns;
}

static double
node_share(const struct phase_result *phase, const struct node_result *node)
{
	const struct aggregate *a = &phase->aggregate;

	if (a->bytes != LS_UNKNOWN_U64 && a->bytes > 0)
		return 100 * (double)node->bytes / (double)a->bytes;
	if (a->ops != LS_UNKNOWN_U64 && a->ops > 0)
		return 100 * (double)node->ops / (double)a->ops;
	return (double)NAN;
}

static double
device_bytes(const struct device_io *device)
{
	return device == NULL ? (double)NAN : (double)device->read_bytes + (double)device->write_bytes;
}

static void
node_row(struct sink *out, const struct phase_result *phase, const struct node_result *node)
{
	int64_t time_ns = node_time(node);

	sink_printf(out, " ");
	text_name(out, node->node);
	if (node->state == NODE_IDLE || node->state == NODE_LOST) {
		text_cell_word(out, W_RATE, node->state == NODE_IDLE ? "idle" : "lost");
		sink_printf(out, "\n");
		return;
	}
	cells_rate(out, phase, node->bytes_per_s, node->ops_per_s);
	cells_latency(out, phase, node->latency_ns);
	text_cell(out, W_CPU, cpu_percent(&node->cpu, time_ns));
	cell_time(out, time_ns);
	if (by_op_mixes(phase))
		text_cell_word(out, W_SHARE, "-");
	else
		text_cell(out, W_SHARE, node_share(phase, node));
	text_cell(out, W_DEVICE, device_bytes(node->device) / units_mega());
	sink_printf(out, "\n");
}

static void
all_row(struct sink *out, const struct phase_result *phase, const struct text_totals *t)
{
	const struct aggregate *a = &phase->aggregate;

	sink_printf(out, " ");
	text_name(out, "all (last done)");
	cells_rate(out, phase, a->last_done.bytes_per_s, a->last_done.ops_per_s);
	cells_latency(out, phase, a->latency_ns);
	text_cell(out, W_CPU, cpu_percent(&t->cpu, phase->duration_ns));
	cell_time(out, phase->duration_ns);
	if (by_op_mixes(phase))
		text_cell_word(out, W_SHARE, "-");
	else
		text_cell(out, W_SHARE,
		    a->bytes == LS_UNKNOWN_U64 || a->ops == LS_UNKNOWN_U64 || a->ops == 0 ? (double)NAN : 100);
	text_cell(out, W_DEVICE, t->has_device ? device_bytes(&t->device) / units_mega() : (double)NAN);
	sink_printf(out, "\n");
}

static const char *
ratio_text(double value, char *buf, size_t len)
{
	if (isfinite(value))
		snprintf(buf, len, "%.3f", value);
	else
		snprintf(buf, len, "n/a");
	return buf;
}

/* The four aggregates side by side, never one alone. */
static void
aggregate_table(struct sink *out, const struct phase_result *phase)
{
	const struct aggregate *a = &phase->aggregate;
	static const char *const heads[] = { "last done", "all active", "first done", "sum of rates" };
	const struct rate *rates[] = { &a->last_done, &a->all_active, &a->first_done, &a->sum_of_rates };

	sink_printf(out, " %-*s", W_FIGURE, "all together");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		text_cell_word(out, W_AGGREGATE, heads[i]);
	if (moves_bytes(phase)) {
		char rate_head[48];

		snprintf(rate_head, sizeof(rate_head), "%s%s", units_mega_rate(),
		    a->page_cache ? " into the page cache" : "");
		sink_printf(out, "\n   %-*s", W_FIGURE - 2, rate_head);
		for (size_t i = 0; i < ARRAY_LEN(rates); i++)
			text_cell(out, W_AGGREGATE, rates[i]->bytes_per_s / units_mega());
	}
	sink_printf(out, "\n   %-*s", W_FIGURE - 2, a->page_cache ? "op/s into the page cache" : "op/s");
	for (size_t i = 0; i < ARRAY_LEN(rates); i++)
		text_cell(out, W_AGGREGATE, rates[i]->ops_per_s);
	sink_printf(out, "\n");
}

static void
quality_line(struct sink *out, const struct phase_result *phase)
{
	const struct aggregate *a = &phase->aggregate;
	char skew[32];
	char unsure[32];
	char r[3][32];

	text_wrap(out, "   ", "overlap %s, fairness %s, slowest/median node %s, start skew %s +/- %s",
	    ratio_text(a->overlap, r[0], sizeof(r[0])), ratio_text(a->fairness, r[1], sizeof(r[1])),
	    ratio_text(a->slowest_to_median, r[2], sizeof(r[2])),
	    text_duration(phase->start_skew_ns, skew, sizeof(skew)),
	    text_duration(phase->start_skew_uncertainty_ns, unsure, sizeof(unsure)));
}

static void
bytes_moved(struct sink *out, const struct phase_result *phase, const struct text_totals *t)
{
	const struct aggregate *a = &phase->aggregate;
	char app[96] = "n/a";
	char device[96] = "n/a (no block device known)";
	char read[32];
	char written[32];
	char cpu[32];

	if (a->bytes != LS_UNKNOWN_U64)
		units_format_size(a->bytes, app, sizeof(app));
	else if (by_op_mixes(phase))
		snprintf(app, sizeof(app), "%s read, %s written",
		    units_format_size(a->by_op.read != NULL ? a->by_op.read->bytes : 0, read, sizeof(read)),
		    units_format_size(a->by_op.write != NULL ? a->by_op.write->bytes : 0, written, sizeof(written)));
	if (t->has_device)
		snprintf(device, sizeof(device), "%s read, %s written",
		    units_format_size(t->device.read_bytes, read, sizeof(read)),
		    units_format_size(t->device.write_bytes, written, sizeof(written)));
	text_wrap(out, "   ", "application %s, device %s; agents used %s CPU, %s network", app, device,
	    units_format_duration(t->agent_cpu_ns, cpu, sizeof(cpu)),
	    units_format_size(t->agent_net_bytes, read, sizeof(read)));
}

static void
failures(struct sink *out, const struct phase_result *phase)
{
	for (size_t i = 0; i < phase->attempts_count; i++)
		text_wrap(out, " ! ", "attempt %" PRIu64 " was void: %s", phase->attempts[i].index + 1,
		    phase->attempts[i].reason);
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		for (size_t i = 0; i < node->error_list_count && i < ERRORS_SHOWN; i++)
			if (i == 0 || strcmp(node->error_list[i].text, node->error_list[i - 1].text) != 0)
				text_wrap(out, " ! ", "%s: %s", node->node, node->error_list[i].text);
		if (node->errors > 1)
			text_wrap(out, " ! ", "%s: %" PRIu64 " errors in all", node->node, node->errors);
	}
}

static void
steady_line(struct sink *out, const struct phase_result *phase)
{
	struct sink said = { 0 };

	if (phase->steady == NULL)
		return;
	steady_sentence(&said, phase);
	text_wrap(out, "   ", "%s", said.text);
	sink_free(&said);
}

void
text_phase(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	struct text_totals t = text_totals_of(results, phase);

	text_phase_title(out, results, phase);
	text_warnings(out, " ", phase->warnings, phase->warnings_count);
	failures(out, phase);
	if (phase->nodes_count == 0) {
		sink_printf(out, " n/a: no node has a result\n");
		return;
	}
	text_promise(out, phase);
	/* Of the others rates mean nothing. */
	if (!text_has_rates(phase))
		return;
	table_head(out);
	for (size_t n = 0; n < phase->nodes_count; n++)
		node_row(out, phase, &phase->nodes[n]);
	all_row(out, phase, &t);
	if (!by_op_mixes(phase))
		aggregate_table(out, phase);
	by_op_text(out, phase);
	if (by_op_mixes(phase))
		text_wrap(out, "   ", "reads and writes are not added up; rates of all: last done%s",
		    phase->aggregate.page_cache ? ", writes into the page cache" : "");
	steady_line(out, phase);
	quality_line(out, phase);
	bytes_moved(out, phase, &t);
	text_verified(out, phase);
	text_side_tables(out, phase);
}
