/*
 * JSON+ as fio 3 prints it, for fio's own tools and those that others wrote for it. A job for each machine in each phase, and with
 * several machines "All clients" behind them, as fio's client prints. Only reads and writes are jobs of fio's: other phases are
 * named at the end. Latencies are those of whole operations; fio's part before the submission is 0.
 */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/stat/hist.h"
#include "coordinator/report/html_int.h"
#include "coordinator/report/rows_int.h"

extern const struct report_format report_fio;

/* A direction of a job. */
struct flow {
	const struct op_result *op; /* NULL: nothing of the kind */
	double bytes_per_s, ops_per_s;
	int64_t elapsed_ns;
};

static const double percentiles[] = { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99 };

static void
number(struct sink *out, const char *name, double value)
{
	sink_printf(out, "\"%s\":%.15g,", name, isfinite(value) ? value : 0);
}

static void
integer(struct sink *out, const char *name, uint64_t value)
{
	sink_printf(out, "\"%s\":%" PRIu64 ",", name, value == LS_UNKNOWN_U64 ? 0 : value);
}

/* As fio names a bucket. */
static uint64_t
middle_of(uint32_t bucket)
{
	return hist_bucket_start(bucket) + hist_bucket_width(bucket) / 2;
}

/* From the buckets: nothing else is known of single operations. */
static double
deviation(const struct hist *h)
{
	double mean = hist_mean(h);
	double sum = 0;

	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		double off = (double)middle_of(i) - mean;

		sum += (double)h->buckets[i] * off * off;
	}
	return h->count > 0 ? sqrt(sum / (double)h->count) : 0;
}

static void
distribution(struct sink *out, const struct latency *l)
{
	struct hist *h = ls_calloc(1, sizeof(*h));
	const char *comma = "";

	hist_reset(h);
	if (l->histogram.buckets_count > 0 && latency_add_to_hist(l, h, NULL) == LS_OK && h->count > 0) {
		sink_printf(out, ",\"percentile\":{");
		for (size_t i = 0; i < ARRAY_LEN(percentiles); i++)
			sink_printf(out, "%s\"%.6f\":%" PRIu64, i > 0 ? "," : "", percentiles[i],
			    hist_percentile(h, percentiles[i] / 100));
		sink_printf(out, "},\"bins\":{");
		for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
			if (h->buckets[i] == 0)
				continue;
			sink_printf(out, "%s\"%" PRIu64 "\":%" PRIu64, comma, middle_of(i), h->buckets[i]);
			comma = ",";
		}
		sink_printf(out, "}");
	}
	free(h);
}

static double
deviation_of(const struct latency *l)
{
	struct hist *h = ls_calloc(1, sizeof(*h));
	double sd = 0;

	hist_reset(h);
	if (latency_add_to_hist(l, h, NULL) == LS_OK)
		sd = deviation(h);
	free(h);
	return sd;
}

/* l NULL: nothing measured. */
static void
latency(struct sink *out, const char *name, const struct latency *l, bool buckets)
{
	bool known = l != NULL && l->count > 0;

	sink_printf(out, "\"%s\":{", name);
	integer(out, "min", known && l->min != LS_UNKNOWN_I64 ? (uint64_t)l->min : 0);
	integer(out, "max", known && l->max != LS_UNKNOWN_I64 ? (uint64_t)l->max : 0);
	number(out, "mean", known ? l->mean : 0);
	number(out, "stddev", known ? deviation_of(l) : 0);
	sink_printf(out, "\"N\":%" PRIu64, known ? l->count : 0);
	if (known && buckets)
		distribution(out, l);
	sink_printf(out, "}");
}

static void
direction(struct sink *out, const char *name, const struct flow *f)
{
	const struct op_result *op = f->op;
	double bytes_per_s = op == NULL || !isfinite(f->bytes_per_s) ? 0 : f->bytes_per_s;

	sink_printf(out, "\"%s\":{", name);
	integer(out, "io_bytes", op == NULL ? 0 : op->bytes);
	integer(out, "io_kbytes", op == NULL ? 0 : op->bytes / 1024);
	number(out, "bw_bytes", floor(bytes_per_s));
	number(out, "bw", floor(bytes_per_s / 1024));
	number(out, "iops", op == NULL ? 0 : f->ops_per_s);
	integer(
	    out, "runtime", op == NULL || f->elapsed_ns == LS_UNKNOWN_I64 ? 0 : (uint64_t)(f->elapsed_ns / 1000000));
	integer(out, "total_ios", op == NULL ? 0 : op->ops);
	sink_printf(out, "\"short_ios\":0,\"drop_ios\":0,");
	latency(out, "slat_ns", NULL, false);
	sink_printf(out, ",");
	latency(out, "clat_ns", op == NULL ? NULL : &op->latency_ns, true);
	sink_printf(out, ",");
	latency(out, "lat_ns", op == NULL ? NULL : &op->latency_ns, true);
	sink_printf(out, "}");
}

/* What fio would call reads and writes. */
static const struct op_result *
op_of(const struct by_op *by_op, enum op_kind kind)
{
	const struct op_result *op = by_op_get(by_op, kind);

	return op != NULL && op->ops > 0 ? op : NULL;
}

static bool
is_fio(const struct phase_result *phase)
{
	return op_of(&phase->aggregate.by_op, OP_READ) != NULL || op_of(&phase->aggregate.by_op, OP_WRITE) != NULL;
}

static void
directions(struct sink *out, const struct by_op *by_op, int64_t elapsed_ns)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} ways[] = { { "read", OP_READ }, { "write", OP_WRITE } };
	double s = elapsed_ns == LS_UNKNOWN_I64 || elapsed_ns <= 0 ? (double)NAN : (double)elapsed_ns / 1e9;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		const struct op_result *op = op_of(by_op, ways[i].kind);
		struct flow flow = { .op = op, .elapsed_ns = elapsed_ns };

		if (op != NULL) {
			flow.bytes_per_s = (double)op->bytes / s;
			flow.ops_per_s = (double)op->ops / s;
		}
		direction(out, ways[i].name, &flow);
		sink_printf(out, ",");
	}
	direction(out, "trim", &(struct flow){ 0 });
	sink_printf(out, ",\"sync\":{\"total_ios\":0,");
	latency(out, "lat_ns", NULL, false);
	sink_printf(out, "},");
}

static void
job_end(struct sink *out, const struct report_cell *cell, double user, double sys)
{
	number(out, "usr_cpu", user);
	number(out, "sys_cpu", sys);
	sink_printf(
	    out, "\"job_runtime\":%" PRId64 "}", cell->elapsed_ns == LS_UNKNOWN_I64 ? 0 : cell->elapsed_ns / 1000000);
}

static double
percent(int64_t ns, int64_t of_ns)
{
	return ns == LS_UNKNOWN_I64 || of_ns == LS_UNKNOWN_I64 || of_ns <= 0 ? 0 : 100 * (double)ns / (double)of_ns;
}

static void
options(struct sink *out, const struct phase_result *phase)
{
	static const char *const names[] = {
		[PHASE_READ] = "read",
		[PHASE_WRITE] = "write",
		[PHASE_RANDOM_READ] = "randread",
		[PHASE_RANDOM_WRITE] = "randwrite",
	};
	size_t kind = (size_t)phase->kind;

	sink_printf(out, "\"job options\":{\"name\":");
	html_json_text(out, phase->name);
	if (kind < ARRAY_LEN(names) && names[kind] != NULL)
		sink_printf(out, ",\"rw\":\"%s\"", names[kind]);
	if (report_record_size(phase) != LS_UNKNOWN_U64)
		sink_printf(out, ",\"bs\":\"%" PRIu64 "\"", report_record_size(phase));
	if (report_file_size(phase) != LS_UNKNOWN_U64)
		sink_printf(out, ",\"size\":\"%" PRIu64 "\"", report_file_size(phase));
	sink_printf(out, ",\"direct\":\"%d\"},", phase->spec.direct ? 1 : 0);
}

static void
job_begin(struct sink *out, const char *name, size_t group, int error, int64_t elapsed_ns)
{
	sink_printf(out, "{\"jobname\":");
	html_json_text(out, name);
	sink_printf(out, ",\"groupid\":%zu,\"error\":%d,\"eta\":0,\"elapsed\":%" PRId64 ",", group, error,
	    elapsed_ns == LS_UNKNOWN_I64 ? 0 : (elapsed_ns + 999999999) / 1000000000);
}

static void
node_job(struct sink *out, const struct phase_result *phase, const struct node_result *node, size_t group)
{
	struct report_cell cell = report_cell_of_node(node);

	job_begin(out, phase->name, group, node->state == NODE_DONE ? 0 : 5, cell.elapsed_ns);
	options(out, phase);
	directions(out, &node->by_op, cell.elapsed_ns);
	sink_printf(out, "\"hostname\":");
	html_json_text(out, node->node);
	sink_printf(out, ",");
	job_end(out, &cell, percent(node->cpu.user_ns, cell.elapsed_ns), percent(node->cpu.system_ns, cell.elapsed_ns));
}

static void
all_job(struct sink *out, const struct results *results, const struct phase_result *phase, size_t group)
{
	struct report_cell cell = report_cell_of(results, phase, REPORT_ALL);

	job_begin(out, "All clients", group, phase->state == PHASE_STATE_DONE ? 0 : 5, cell.elapsed_ns);
	directions(out, &phase->aggregate.by_op, cell.elapsed_ns);
	job_end(out, &cell, 0, 0);
}

static void
jobs(struct sink *out, const struct results *results)
{
	bool any = false;

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];

		for (size_t n = 0; n < phase->nodes_count && is_fio(phase); n++) {
			const struct node_result *node = &phase->nodes[n];

			if (op_of(&node->by_op, OP_READ) == NULL && op_of(&node->by_op, OP_WRITE) == NULL)
				continue;
			sink_printf(out, "%s\n", any ? "," : "");
			node_job(out, phase, node, p);
			any = true;
		}
		if (!is_fio(phase) || phase->nodes_count < 2)
			continue;
		sink_printf(out, "%s\n", any ? "," : "");
		all_job(out, results, phase, p);
		any = true;
	}
}

static void
left_out(struct sink *out, const struct results *results)
{
	bool any = false;

	sink_printf(out, "\"lockstep left out\":[");
	for (size_t p = 0; p < results->phases_count; p++) {
		if (is_fio(&results->phases[p]))
			continue;
		sink_printf(out, "%s", any ? "," : "");
		html_json_text(out, results->phases[p].name);
		any = true;
	}
	sink_printf(out, "]");
}

static enum ls_rc
render_fio(const struct results *results, struct sink *out, struct ls_err *err)
{
	const struct run_info *run = &results->run;

	(void)err;
	/* tools look at the number only */
	sink_printf(out, "{\"fio version\":\"fio-3.33, as written by lockstep\",\n\"time\":");
	html_json_text(out, run->started_at == NULL ? "" : run->started_at);
	sink_printf(out, ",\n\"global options\":{\"directory\":");
	html_json_text(out, run->job.path == NULL ? "" : run->job.path);
	sink_printf(out, "},\n\"jobs\":[");
	jobs(out, results);
	sink_printf(out, "],\n\"disk_util\":[],\n");
	left_out(out, results);
	sink_printf(out, "}\n");
	return LS_OK;
}

const struct report_format report_fio = {
	.name = "fio-json",
	.extension = "fio.json",
	.help = "reads and writes as fio's JSON+, a job for each machine in each phase",
	.render = render_fio,
};
