/*
 * CrystalDiskMark's table, for each machine and for all together. A row is a phase of the job: its best repetition as there (rate and
 * operations of the fastest, the lowest mean latency), and beside it the mean of all, which CrystalDiskMark does not tell.
 */
#include "coordinator/report/by_op.h"
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_crystaldiskmark;

#define MB 1e6

enum part { PART_READ = 0, PART_WRITE, PART_MIX, PART_COUNT, PART_NONE };

/* Which part of the table a phase belongs to, and whether its order is random. */
static enum part
part_of(const struct phase_result *phase, bool *random)
{
	*random = phase->kind == PHASE_RANDOM_READ || phase->kind == PHASE_RANDOM_WRITE ||
	    (phase->kind == PHASE_MIXED && phase->spec.mix_order == MIX_RANDOM);
	if (phase->imported != NULL)
		return PART_NONE;
	if (phase->kind == PHASE_READ || phase->kind == PHASE_RANDOM_READ)
		return PART_READ;
	if (phase->kind == PHASE_WRITE || phase->kind == PHASE_REWRITE || phase->kind == PHASE_RANDOM_WRITE)
		return PART_WRITE;
	return phase->kind == PHASE_MIXED ? PART_MIX : PART_NONE;
}

/* What the repetitions of a row come to. */
struct row {
	double best, best_ops, mean, latency_us;
	size_t runs;
};

/* Mean time of an operation, of whatever kind. */
static double
mean_latency_us(const struct by_op *by_op)
{
	double sum = 0, count = 0;

	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);

		if (r == NULL)
			continue;
		sum += (double)r->latency_ns.sum;
		count += (double)r->latency_ns.count;
	}
	return count > 0 ? sum / count / 1e3 : (double)NAN;
}

static void
row_add(struct row *row, double bytes_per_s, double ops_per_s, double latency_us)
{
	double rate = bytes_per_s / MB;

	if (!isfinite(rate))
		return;
	if (row->runs == 0 || rate > row->best) {
		row->best = rate;
		row->best_ops = ops_per_s;
	}
	row->latency_us = row->runs == 0 ? latency_us : fmin(row->latency_us, latency_us);
	row->mean = (row->mean * (double)row->runs + rate) / (double)(row->runs + 1);
	row->runs++;
}

static struct row
row_of(const struct results *results, const struct phase_result *first, size_t node)
{
	struct row row = { 0 };

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];
		const struct node_result *n = node == REPORT_ALL ? NULL : report_node_find(results, phase, node);
		bool mixes = by_op_mixes(phase); /* its mixed rows are of reads and writes together */
		struct rate all = mixes ? by_op_sum(&phase->aggregate.by_op) : phase->aggregate.last_done;
		struct rate own = { (double)NAN, (double)NAN };

		if (n != NULL)
			own = mixes ? by_op_sum(&n->by_op) : (struct rate){ n->bytes_per_s, n->ops_per_s };

		if (phase->index != first->index || phase->state != PHASE_STATE_DONE)
			continue;
		if (node == REPORT_ALL)
			row_add(&row, all.bytes_per_s, all.ops_per_s, mean_latency_us(&phase->aggregate.by_op));
		else if (n != NULL)
			row_add(&row, own.bytes_per_s, own.ops_per_s, mean_latency_us(&n->by_op));
	}
	return row;
}

/* "1MiB", "512KiB" */
static const char *
size_text(uint64_t bytes, char *buf, size_t len)
{
	if (bytes % (1 << 20) == 0)
		snprintf(buf, len, "%" PRIu64 "MiB", bytes >> 20);
	else if (bytes % 1024 == 0)
		snprintf(buf, len, "%" PRIu64 "KiB", bytes >> 10);
	else
		snprintf(buf, len, "%" PRIu64 "B", bytes);
	return buf;
}

static void
table_row(struct sink *out, const struct results *results, const struct phase_result *phase, size_t node, bool random)
{
	struct row row = row_of(results, phase, node);
	char size[32];

	sink_printf(out, "  %s %7s (Q=%3" PRIu64 ", T=%2" PRIu64 "): ", random ? "RND" : "SEQ",
	    size_text(phase->spec.record_size, size, sizeof(size)), phase->spec.depth,
	    job_phase_workers(&results->run.job, &phase->spec));
	if (row.runs == 0) {
		sink_printf(out, "      n/a\n");
		return;
	}
	sink_printf(out, "%9.3f MB/s [%9.1f IOPS] <%9.2f us>  mean %9.3f MB/s\n", row.best, row.best_ops,
	    row.latency_us, row.mean);
}

static void
part(struct sink *out, const struct results *results, enum part wanted, size_t node)
{
	bool any = false;

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];
		bool random;

		if (phase->repetition > 0 || part_of(phase, &random) != wanted)
			continue;
		if (!any && wanted == PART_MIX)
			sink_printf(out, "\n[Mix] Read %" PRIu64 "%%/Write %" PRIu64 "%%\n", phase->spec.read_percent,
			    100 - phase->spec.read_percent);
		else if (!any)
			sink_printf(out, "\n[%s]\n", wanted == PART_READ ? "Read" : "Write");
		any = true;
		table_row(out, results, phase, node, random);
	}
}

static const struct phase_result *
first_row(const struct results *results)
{
	bool random;

	for (size_t p = 0; p < results->phases_count; p++)
		if (part_of(&results->phases[p], &random) != PART_NONE)
			return &results->phases[p];
	return NULL;
}

static void
machine(struct sink *out, const struct results *results, size_t node)
{
	if (node == REPORT_ALL)
		sink_printf(out, "\nMachine: (all %zu), work over last end minus first start\n", results->nodes_count);
	else
		sink_printf(out, "\nMachine: %s\n", results->nodes[node].name);
	for (enum part p = PART_READ; p < PART_COUNT; p++)
		part(out, results, p, node);
}

static void
settings(struct sink *out, const struct results *results, const struct phase_result *first)
{
	const struct phase *spec = &first->spec;
	const struct run_info *run = &results->run;
	char size[32];
	char path[512];
	char d[2][32];

	snprintf(path, sizeof(path), "%s", run->job.path != NULL ? run->job.path : "n/a");
	text_wrap(out, "   Test: ", "%s (x%" PRIu64 ") [%s]", units_format_size(spec->file_size, size, sizeof(size)),
	    run->job.repeat, path);
	sink_printf(out, "   Mode: %s\n", spec->direct ? "direct" : "buffered: caches answer");
	if (spec->time > 0)
		sink_printf(out, "   Time: Measure %s / Interval %s\n",
		    units_format_duration(spec->time, d[0], sizeof(d[0])),
		    units_format_duration(spec->pause, d[1], sizeof(d[1])));
	if (run->started_at != NULL)
		sink_printf(out, "   Date: %s\n", run->started_at);
}

static void
unfinished(struct sink *out, const struct results *results)
{
	text_warnings(out, "", results->run.warnings, results->run.warnings_count);
	for (size_t p = 0; p < results->phases_count; p++)
		if (results->phases[p].state != PHASE_STATE_DONE)
			text_wrap(out, "! ", "phase %s %s: its numbers are not used", results->phases[p].name,
			    field_enum_name(phase_state_names, results->phases[p].state));
}

static enum ls_rc
render_crystaldiskmark(const struct results *results, struct sink *out, struct ls_err *err)
{
	const struct phase_result *first = first_row(results);

	(void)err;
	if (first == NULL) {
		sink_printf(out, "No phase that CrystalDiskMark knows has a result.\n");
		return LS_OK;
	}
	sink_repeat(out, '-', 78);
	sink_printf(out, "\nlockstep %s: rows as those of CrystalDiskMark\n", report_version(results));
	sink_repeat(out, '-', 78);
	sink_printf(out,
	    "\n* MB/s = 1,000,000 bytes/s; the best repetition and the mean of all; <lowest mean latency>\n"
	    "* KB = 1000 bytes, KiB = 1024 bytes\n");
	unfinished(out, results);
	machine(out, results, REPORT_ALL);
	for (size_t n = 0; n < results->nodes_count; n++)
		machine(out, results, n);
	sink_printf(out, "\n");
	settings(out, results, first);
	return LS_OK;
}

const struct report_format report_crystaldiskmark = {
	.name = "crystaldiskmark",
	.extension = "cdm.txt",
	.help = "CrystalDiskMark's table: MB/s, IOPS, latency; best and mean of the repetitions",
	.render = render_crystaldiskmark,
};
