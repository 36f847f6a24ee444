#include "agent/daemon/result.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"
#include "proto/model/cluster.h"

/* One worker's numbers, read once: those of a hung runner may still move. */
struct totals {
	int64_t first_op_ns, start_ns, end_ns; /* 0: none */
	struct sampler_work done;
	bool ended; /* left by itself: its CPU times are there */
	int64_t cpu_user_ns, cpu_system_ns;
};

static struct totals
read_totals(const struct shm_worker *w)
{
	uint32_t state = atomic_load_explicit(&w->state, memory_order_acquire);
	struct totals t = {
		.first_op_ns = atomic_load_explicit(&w->first_op_ns, memory_order_relaxed),
		.start_ns = atomic_load_explicit(&w->start_ns, memory_order_relaxed),
		.end_ns = atomic_load_explicit(&w->end_ns, memory_order_relaxed),
		.done = {
			.bytes = atomic_load_explicit(&w->bytes, memory_order_relaxed),
			.ops = atomic_load_explicit(&w->ops, memory_order_relaxed),
			.write_bytes = atomic_load_explicit(&w->op_bytes[OP_WRITE], memory_order_relaxed),
			.write_ops = atomic_load_explicit(&w->op_ops[OP_WRITE], memory_order_relaxed),
		},
		.ended = state == SHM_ENDED || state == SHM_FAILED,
		.cpu_user_ns = atomic_load_explicit(&w->cpu_user_ns, memory_order_relaxed),
		.cpu_system_ns = atomic_load_explicit(&w->cpu_system_ns, memory_order_relaxed),
	};

	/* One that was killed never wrote its end: its last operation's is as good, unless only warm-up was done. */
	if (t.end_ns == 0 && t.done.ops > 0)
		t.end_ns = atomic_load_explicit(&w->last_ns, memory_order_relaxed);
	return t;
}

static int64_t
from_start(int64_t at_ns, struct ls_mono start)
{
	return at_ns > 0 ? at_ns - start.ns : LS_UNKNOWN_I64;
}

static void
fill_worker(const struct result_input *in, uint32_t i, const struct totals *t, struct worker_result *out)
{
	field_struct_init(&worker_result_desc, out);
	out->rank = in->first_rank + i;
	out->first_op_ns = from_start(t->first_op_ns, in->start);
	out->start_ns = from_start(t->start_ns, in->start);
	out->end_ns = from_start(t->end_ns, in->start);
	out->bytes = t->done.bytes;
	out->ops = t->done.ops;
	if (t->ended) {
		out->cpu.user_ns = t->cpu_user_ns;
		out->cpu.system_ns = t->cpu_system_ns;
	}
}

static void
fill_own_series(const struct series_grid *grid, struct worker_result *out)
{
	if (grid == NULL || grid->used == 0)
		return;
	out->series = ls_malloc(sizeof(*out->series));
	field_struct_init(&worker_series_desc, out->series);
	out->series->interval_ns = grid->interval_ns;
	out->series->bytes = ls_calloc(grid->used, sizeof(*out->series->bytes));
	out->series->bytes_count = grid->used;
	for (size_t i = 0; i < grid->used; i++)
		out->series->bytes[i] = (int64_t)grid->bytes[i];
}

static int64_t
sum_known(int64_t sum, int64_t more)
{
	return sum == LS_UNKNOWN_I64 || more == LS_UNKNOWN_I64 ? LS_UNKNOWN_I64 : sum + more;
}

/* Adds a worker to its node. */
static void
add_worker(struct node_result *node, const struct worker_result *w)
{
	node->bytes += w->bytes;
	node->ops += w->ops;
	if (w->start_ns != LS_UNKNOWN_I64 && (node->start_ns == LS_UNKNOWN_I64 || w->start_ns < node->start_ns))
		node->start_ns = w->start_ns;
	if (w->end_ns != LS_UNKNOWN_I64 && (node->end_ns == LS_UNKNOWN_I64 || w->end_ns > node->end_ns))
		node->end_ns = w->end_ns;
	node->cpu.user_ns = sum_known(node->cpu.user_ns, w->cpu.user_ns);
	node->cpu.system_ns = sum_known(node->cpu.system_ns, w->cpu.system_ns);
}

static void
fill_workers(const struct result_input *in, struct node_result *node)
{
	struct ls_mono end = in->start;

	node->workers = ls_calloc(in->workers, sizeof(*node->workers));
	node->workers_count = in->workers;
	node->cpu.user_ns = node->cpu.system_ns = 0;
	sampler_drain(in->sampler, in->now);

	for (uint32_t i = 0; i < in->workers; i++) {
		struct totals t = read_totals(shm_map_worker(in->map, i));
		fill_worker(in, i, &t, &node->workers[i]);
		add_worker(node, &node->workers[i]);
		struct ls_mono last = { t.end_ns > 0 ? LS_MIN(t.end_ns, in->now.ns) : in->now.ns };
		sampler_end_worker(in->sampler, i, last, &t.done);
		fill_own_series(sampler_own(in->sampler, i), &node->workers[i]);
		end.ns = LS_MAX(end.ns, last.ns);
	}
	series_export(sampler_end(in->sampler, end), &node->series);
}

/* One operation over all workers; its histograms are touched only where there is something in them. */
static void
fill_op(const struct result_input *in, enum op_kind op, struct node_result *node)
{
	uint64_t bytes = 0, ops = 0;
	struct hist *merged = ls_malloc(sizeof(*merged)), *service = ls_malloc(sizeof(*service));

	hist_reset(merged);
	hist_reset(service);
	for (uint32_t i = 0; i < in->workers; i++) {
		const struct shm_worker *w = shm_map_worker(in->map, i);
		uint64_t n = atomic_load_explicit(&w->op_ops[op], memory_order_relaxed);
		if (n == 0)
			continue;
		ops += n;
		bytes += atomic_load_explicit(&w->op_bytes[op], memory_order_relaxed);
		hist_merge(merged, &w->latency[op]);
		hist_merge(service, &w->service[op]);
	}
	if (ops > 0) {
		struct op_result *r = ls_calloc(1, sizeof(*r));
		field_struct_init(&op_result_desc, r);
		r->bytes = bytes;
		r->ops = ops;
		latency_from_hist(merged, &r->latency_ns);
		if (atomic_load_explicit(&service->count, memory_order_relaxed) > 0) {
			r->service_ns = ls_malloc(sizeof(*r->service_ns));
			field_struct_init(&latency_desc, r->service_ns);
			latency_from_hist(service, r->service_ns);
		}
		*by_op_slot(&node->by_op, op) = r;
	}
	free(merged);
	free(service);
}

static struct worker_op *
worker_op_of(const struct shm_worker *w, enum op_kind op)
{
	struct worker_op *out = ls_malloc(sizeof(*out));

	field_struct_init(&worker_op_desc, out);
	out->bytes = atomic_load_explicit(&w->op_bytes[op], memory_order_relaxed);
	out->ops = atomic_load_explicit(&w->op_ops[op], memory_order_relaxed);
	return out;
}

/* Where reads and writes were mixed each has its series, each worker its two counts, and the node's series of both is not told. */
static void
keep_apart(const struct result_input *in, struct node_result *node)
{
	static const enum op_kind ops[] = { OP_READ, OP_WRITE };

	if (sampler_apart(in->sampler, OP_READ) == NULL || node->by_op.read == NULL || node->by_op.write == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		struct op_result *r = *by_op_slot(&node->by_op, ops[i]);

		r->series = ls_malloc(sizeof(*r->series));
		field_struct_init(&series_desc, r->series);
		series_export(sampler_apart(in->sampler, ops[i]), r->series);
	}
	for (uint32_t i = 0; i < in->workers; i++) {
		node->workers[i].read = worker_op_of(shm_map_worker(in->map, i), OP_READ);
		node->workers[i].write = worker_op_of(shm_map_worker(in->map, i), OP_WRITE);
	}
	node->series.bytes_count = node->series.ops_count = 0;
}

static void
copy_error(const struct io_error *from, struct io_error *to)
{
	*to = *from;
	to->step = ls_strdup(from->step);
	to->call = ls_strdup(from->call);
	to->path = ls_strdup(from->path);
	to->errno_name = ls_strdup(from->errno_name);
	to->text = ls_strdup(from->text);
}

static void
copy_mismatch(const struct mismatch *from, struct mismatch *to)
{
	*to = *from;
	to->path = ls_strdup(from->path);
	to->file = ls_strdup(from->file);
	to->least_phase = ls_strdup(from->least_phase);
	to->text = ls_strdup(from->text);
	if (from->found == NULL)
		return;
	to->found = ls_malloc(sizeof(*to->found));
	*to->found = *from->found;
	to->found->run = ls_strdup(from->found->run);
	to->found->file = ls_strdup(from->found->file);
	to->found->phase = ls_strdup(from->found->phase);
	to->found->written_at = ls_strdup(from->found->written_at);
}

static void
fill_errors(const struct result_input *in, struct node_result *node)
{
	size_t n = in->done ? in->done->error_list_count : 0;

	node->errors = in->done ? in->done->errors : 0;
	if (n + (in->failure != NULL) == 0)
		return;
	node->error_list = ls_calloc(n + 1, sizeof(*node->error_list));
	if (in->failure) {
		struct io_error *e = &node->error_list[node->error_list_count++];
		field_struct_init(&io_error_desc, e);
		e->step = ls_strdup("run");
		free(e->text);
		e->text = ls_strdup(in->failure);
	}
	for (size_t i = 0; i < n && node->error_list_count < 64; i++)
		copy_error(&in->done->error_list[i], &node->error_list[node->error_list_count++]);
}

static void
fill_verify(const struct result_input *in, struct node_result *node)
{
	struct verification v;
	uint64_t blocks = 0;

	field_struct_init(&verification_desc, &v);
	for (uint32_t i = 0; i < in->workers; i++) {
		const struct shm_worker *w = shm_map_worker(in->map, i);
		blocks += atomic_load_explicit(&w->checked_blocks, memory_order_relaxed);
		v.mismatches += atomic_load_explicit(&w->mismatches, memory_order_relaxed);
	}
	v.blocks = blocks;
	if (blocks == 0)
		return;
	if (in->done && in->done->mismatches_count > 0) {
		size_t n = in->done->mismatches_count;
		v.list = ls_calloc(n, sizeof(*v.list));
		v.list_count = n;
		for (size_t i = 0; i < n; i++)
			copy_mismatch(&in->done->mismatches[i], &v.list[i]);
	}
	node->verify = ls_malloc(sizeof(*node->verify));
	*node->verify = v;
}

/* What the runner tells of the program, and what that has said. */
static void
fill_tool(const struct result_input *in, struct node_result *node)
{
	const struct tool_result *from = in->done != NULL ? in->done->tool : NULL;

	if (from == NULL)
		return;
	node->tool = ls_malloc(sizeof(*node->tool));
	*node->tool = *from;
	node->tool->name = ls_strdup(from->name);
	node->tool->version = ls_strdup(from->version);
	node->tool->command = ls_strdup(from->command);
	node->tool->out = ls_strdup(in->tool_out);
	node->tool->err = ls_strdup(in->tool_err);
}

static enum node_state
state_of(const struct result_input *in)
{
	if (in->failure || (in->done && in->done->errors > 0))
		return NODE_FAILED;
	return in->workers > 0 ? NODE_DONE : NODE_IDLE;
}

void
result_build(const struct result_input *in, struct node_result *out)
{
	field_struct_init(&node_result_desc, out);
	free(out->node);
	out->node = ls_strdup(in->node);
	out->state = (int)state_of(in);
	if (in->workers > 0 && in->started) {
		fill_workers(in, out);
		for (int op = 0; op < OP_COUNT; op++)
			fill_op(in, (enum op_kind)op, out);
		keep_apart(in, out);
		fill_verify(in, out);
	}
	out->series.interval_ns = LS_MAX(out->series.interval_ns, SHM_STEP_NS);
	fill_errors(in, out);
	fill_tool(in, out);
	if (in->done != NULL && in->done->cluster != NULL) {
		out->cluster = ls_malloc(sizeof(*out->cluster));
		cluster_node_copy(in->done->cluster, out->cluster);
	}
	if (in->done)
		out->flush_ns = in->done->flush_ns;
	if (in->device) {
		out->device = ls_malloc(sizeof(*out->device));
		*out->device = *in->device;
	}
	out->agent.cpu_ns = in->agent_cpu_ns;
	out->agent.net_bytes = in->agent_net_bytes;
	node_result_derive(out);
}
