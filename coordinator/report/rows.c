#include "coordinator/report/rows_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/tool.h"

#define UNKNOWN ((double)NAN)

const char *
report_test(const struct phase_result *phase)
{
	static const char *const shuffled[PHASE_KIND_COUNT] = {
		[PHASE_BONNIE_CREATE] = "random-create",
		[PHASE_BONNIE_STAT] = "random-stat",
		[PHASE_BONNIE_DELETE] = "random-delete",
	};

	struct tool_step step;

	if (phase->imported != NULL)
		return phase->imported->test;
	if (tool_step_of(&phase->spec, &step) && step.test != NULL)
		return step.test;
	if (phase->kind >= 0 && phase->kind < PHASE_KIND_COUNT && shuffled[phase->kind] != NULL &&
	    phase->spec.order == ORDER_RANDOM)
		return shuffled[phase->kind];
	return field_enum_name(phase_kind_names, phase->kind);
}

uint64_t
report_file_size(const struct phase_result *phase)
{
	return phase->imported != NULL ? phase->imported->file_size : phase->spec.file_size;
}

uint64_t
report_record_size(const struct phase_result *phase)
{
	if (phase->imported != NULL)
		return phase->imported->record_size;
	return phase->spec.kind == PHASE_RUN_BONNIE ? phase->spec.chunk_size : phase->spec.record_size;
}

static bool
is_known(const struct rate *rate)
{
	return isfinite(rate->bytes_per_s) || isfinite(rate->ops_per_s);
}

struct rate
report_rate(const struct phase_result *phase)
{
	const struct aggregate *a = &phase->aggregate;

	if (phase->imported == NULL || is_known(&a->last_done))
		return a->last_done;
	if (is_known(&a->sum_of_rates) || phase->nodes_count != 1)
		return a->sum_of_rates;
	return (struct rate){ phase->nodes[0].bytes_per_s, phase->nodes[0].ops_per_s };
}

bool
report_in_bytes(const struct phase_result *phase)
{
	struct rate rate = report_rate(phase);

	if (phase->imported != NULL && is_known(&rate))
		return isfinite(rate.bytes_per_s);
	return phase_kind_info((enum phase_kind)phase->kind)->unit == PHASE_BYTES;
}

uint64_t
report_processes(const struct phase_result *phase)
{
	for (size_t m = 0; phase->imported != NULL && m < phase->imported->metrics_count; m++) {
		const struct metric *metric = &phase->imported->metrics[m];

		if (strcmp(metric->name, "processes") == 0 && metric->value >= 0 && metric->value < 1e9)
			return (uint64_t)metric->value;
	}
	return LS_UNKNOWN_U64;
}

static bool
same_shape(const struct phase_result *a, const struct phase_result *b)
{
	const struct phase *x = &a->spec;
	const struct phase *y = &b->spec;

	return report_file_size(a) == report_file_size(b) && report_record_size(a) == report_record_size(b) &&
	    report_processes(a) == report_processes(b) && x->layout == y->layout && x->direct == y->direct &&
	    x->engine == y->engine && x->depth == y->depth && x->workers == y->workers;
}

static bool
fits_row(const struct report_row *row, const struct phase_result *phase, bool by_size)
{
	if (row->repetition != phase->repetition || report_row_find(row, report_test(phase)) != NULL)
		return false;
	return !by_size || same_shape(row->phases[0], phase);
}

struct report_rows
report_rows_of(const struct results *results, unsigned groups, bool by_size)
{
	struct report_rows rows = { 0 };

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];

		if ((phase_kind_info((enum phase_kind)phase->kind)->groups & groups) == 0)
			continue;
		if (rows.count == 0 || !fits_row(&rows.items[rows.count - 1], phase, by_size)) {
			rows.items = ls_grow(rows.items, rows.count, sizeof(*rows.items));
			rows.items[rows.count++] = (struct report_row){ .repetition = phase->repetition };
		}
		struct report_row *row = &rows.items[rows.count - 1];
		row->phases = ls_grow(row->phases, row->count, sizeof(const struct phase_result *));
		row->phases[row->count++] = phase;
	}
	return rows;
}

void
report_rows_free(struct report_rows *rows)
{
	for (size_t r = 0; r < rows->count; r++)
		free(rows->items[r].phases);
	free(rows->items);
	*rows = (struct report_rows){ 0 };
}

const struct phase_result *
report_row_first(const struct report_row *row)
{
	return row->phases[0];
}

const struct phase_result *
report_row_find(const struct report_row *row, const char *test)
{
	for (size_t i = 0; i < row->count; i++)
		if (strcmp(report_test(row->phases[i]), test) == 0)
			return row->phases[i];
	return NULL;
}

const struct node_result *
report_node_find(const struct results *results, const struct phase_result *phase, size_t node)
{
	const char *name = results->nodes[node].name;

	/* Both lists are nearly always in the same order. */
	if (node < phase->nodes_count && strcmp(phase->nodes[node].node, name) == 0)
		return &phase->nodes[node];
	for (size_t n = 0; n < phase->nodes_count; n++)
		if (strcmp(phase->nodes[n].node, name) == 0)
			return &phase->nodes[n];
	return NULL;
}

static bool
took_part(const struct node_result *node)
{
	return node->state != NODE_IDLE && node->state != NODE_LOST;
}

static double
cpu_percent(const struct cpu_time *cpu, int64_t elapsed_ns)
{
	if (cpu->user_ns == LS_UNKNOWN_I64 || cpu->system_ns == LS_UNKNOWN_I64 || elapsed_ns <= 0)
		return UNKNOWN;
	return 100 * ((double)cpu->user_ns + (double)cpu->system_ns) / (double)elapsed_ns;
}

static int64_t
longest(const struct latency *latency, const struct by_op *by_op)
{
	int64_t max = latency == NULL ? LS_UNKNOWN_I64 : latency->max;

	for (int op = 0; latency == NULL && op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);

		if (r != NULL && r->latency_ns.count > 0)
			max = LS_MAX(max, r->latency_ns.max);
	}
	return max;
}

struct report_cell
report_cell_of_node(const struct node_result *node)
{
	struct report_cell cell = { .elapsed_ns = LS_UNKNOWN_I64 };

	cell.measured = true;
	cell.bytes_per_s = node->bytes_per_s;
	cell.ops_per_s = node->ops_per_s;
	if (node->start_ns != LS_UNKNOWN_I64 && node->end_ns != LS_UNKNOWN_I64)
		cell.elapsed_ns = node->end_ns - node->start_ns;
	cell.cpu_percent = cpu_percent(&node->cpu, cell.elapsed_ns);
	cell.latency_max_ns = longest(node->latency_ns, &node->by_op);
	return cell;
}

static struct report_cell
cell_of_all(const struct phase_result *phase)
{
	const struct aggregate *a = &phase->aggregate;
	struct report_cell cell = { .measured = true, .elapsed_ns = phase->duration_ns };
	struct cpu_time cpu = { 0 };

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct cpu_time *own = &phase->nodes[n].cpu;

		if (!took_part(&phase->nodes[n]))
			continue;
		if (own->user_ns == LS_UNKNOWN_I64 || own->system_ns == LS_UNKNOWN_I64) {
			cpu.user_ns = LS_UNKNOWN_I64;
			break;
		}
		cpu.user_ns += own->user_ns;
		cpu.system_ns += own->system_ns;
	}
	struct rate rate = report_rate(phase);
	cell.bytes_per_s = rate.bytes_per_s;
	cell.ops_per_s = rate.ops_per_s;
	cell.active = &a->all_active;
	cell.cpu_percent = cpu_percent(&cpu, phase->duration_ns);
	cell.latency_max_ns = longest(a->latency_ns, &a->by_op);
	return cell;
}

struct report_cell
report_cell_of(const struct results *results, const struct phase_result *phase, size_t node)
{
	const struct report_cell none = { .bytes_per_s = UNKNOWN,
		.ops_per_s = UNKNOWN,
		.cpu_percent = UNKNOWN,
		.elapsed_ns = LS_UNKNOWN_I64,
		.latency_max_ns = LS_UNKNOWN_I64 };

	if (phase == NULL)
		return none;
	if (node == REPORT_ALL)
		return cell_of_all(phase);
	const struct node_result *result = report_node_find(results, phase, node);
	return result == NULL || !took_part(result) ? none : report_cell_of_node(result);
}

uint64_t
report_streams(const struct results *results, const struct phase_result *phase, size_t *out_nodes)
{
	uint64_t workers = job_phase_workers(&results->run.job, &phase->spec);
	uint64_t streams = 0;
	size_t nodes = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		if (!took_part(&phase->nodes[n]))
			continue;
		nodes++;
		streams += phase->nodes[n].workers_count > 0 ? phase->nodes[n].workers_count : workers;
	}
	if (out_nodes != NULL)
		*out_nodes = nodes;
	return streams;
}

uint64_t
report_bytes_of_files(const struct results *results, const struct phase_result *phase, size_t node)
{
	uint64_t workers = job_phase_workers(&results->run.job, &phase->spec);
	uint64_t files = node == REPORT_ALL ? phase->nodes_count : 1;

	if (phase->spec.layout >= LAYOUT_SHARED || report_file_size(phase) == LS_UNKNOWN_U64)
		return report_file_size(phase);
	if (phase->spec.layout == LAYOUT_WORKER)
		files *= workers * LS_MAX(phase->spec.files_per_worker, (uint64_t)1);
	return report_file_size(phase) * files;
}

const char *
report_version(const struct results *results)
{
	if (results->run.origin == NULL)
		return results->run.lockstep.version;
	return results->run.origin->version == NULL ? "" : results->run.origin->version;
}
