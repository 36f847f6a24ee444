#include "coordinator/report/bonnie_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "proto/model/aggregate.h"
#include "proto/model/tool.h"

#define PER_N 1024 /* files that bonnie++ counts as one */

/* Phases that do as bonnie++ does come first, then the nearest of lockstep's own; names of imports stand between. */
const char *const bonnie_io_kinds[BONNIE_IO] = {
	"char-write putc",
	"block-out put_block write",
	"bonnie-rewrite rewrite",
	"char-read getc",
	"block-in get_block read",
	"seeks random-read",
};

const char *const bonnie_file_kinds[BONNIE_FILES] = {
	"bonnie-create create seq_create",
	"bonnie-stat stat seq_stat",
	"bonnie-delete delete seq_del",
	"random-create ran_create",
	"random-stat ran_stat",
	"random-delete ran_del",
};

const struct phase_result *
bonnie_phase(const struct report_row *row, const char *kinds)
{
	while (*kinds != '\0') {
		size_t len = strcspn(kinds, " ");
		char kind[64];

		snprintf(kind, sizeof(kind), "%.*s", (int)len, kinds);
		const struct phase_result *phase = report_row_find(row, kind);
		if (phase != NULL)
			return phase;
		kinds += len;
		kinds += strspn(kinds, " ");
	}
	return NULL;
}

const struct phase_result *
bonnie_first(const struct report_row *row, const char *const *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct phase_result *phase = bonnie_phase(row, kinds[i]);

		if (phase != NULL)
			return phase;
	}
	return NULL;
}

static bool
one_meaning(const struct phase_result *phase)
{
	const char *first = NULL;
	struct tool_step step;

	if (phase->spec.kind != PHASE_RUN_BONNIE || !tool_step_of(&phase->spec, &step))
		return true;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct tool_result *tool = phase->nodes[n].tool;

		if (tool == NULL)
			continue;
		if (first != NULL && tool_versions_differ(TOOL_BONNIE, &step, first, tool->version) != NULL)
			return false;
		if (first == NULL)
			first = tool->version;
	}
	return true;
}

static double
own_cpu(const struct node_result *node, double otherwise)
{
	for (size_t m = 0; node != NULL && m < node->metrics_count; m++)
		if (strcmp(node->metrics[m].name, "cpu") == 0 && strcmp(node->metrics[m].unit, "%") == 0)
			return node->metrics[m].value;
	return otherwise;
}

/* What bonnie++ itself measured: whether that took long enough was its own decision. */
static void
own_cell(const struct phase_result *phase, const struct node_result *node, struct report_cell *cell)
{
	struct tool_step step;
	bool told = isfinite(cell->bytes_per_s) || isfinite(cell->ops_per_s);

	if (node == NULL)
		return;
	cell->cpu_percent = own_cpu(node, cell->cpu_percent);
	if (node->tool == NULL || !tool_step_of(&phase->spec, &step))
		return;
	cell->elapsed_ns = told || step.timed_wait ? LS_UNKNOWN_I64 : 0;
}

struct report_cell
bonnie_cell(const struct results *results, const struct report_row *row, const char *kinds, size_t node)
{
	const struct phase_result *phase = bonnie_phase(row, kinds);
	struct report_cell cell = report_cell_of(results, phase, node);

	if (phase == NULL)
		return cell;
	if (node == REPORT_ALL)
		cell.measured = cell.measured && one_meaning(phase);
	else
		own_cell(phase, report_node_find(results, phase, node), &cell);
	return cell;
}

const char *
bonnie_version(const struct results *results, const struct report_row *row, size_t node)
{
	for (size_t p = 0; p < row->count && node != REPORT_ALL; p++) {
		const struct node_result *result = report_node_find(results, row->phases[p], node);

		if (row->phases[p]->spec.kind == PHASE_RUN_BONNIE && result != NULL && result->tool != NULL &&
		    result->tool->version != NULL)
			return result->tool->version;
	}
	return report_version(results);
}

bool
bonnie_too_short(const struct report_cell *cell)
{
	return cell->elapsed_ns != LS_UNKNOWN_I64 && cell->elapsed_ns < AGGREGATE_BONNIE_MIN_NS;
}

const char *
bonnie_name(const struct results *results, size_t node, char *buf, size_t len)
{
	if (node == REPORT_ALL)
		snprintf(buf, len, results->run.origin != NULL ? "(sum %zu)" : "(all %zu)", results->nodes_count);
	else
		snprintf(buf, len, "%s", results->nodes[node].name);
	for (char *p = buf; *p != '\0'; p++)
		if (*p == ',' || (unsigned char)*p < 0x20)
			*p = '_';
	return buf;
}

const char *
bonnie_size(uint64_t bytes, char *buf, size_t len)
{
	static const struct {
		uint64_t unit;
		const char *suffix;
	} units[] = { { 1ULL << 30, "G" }, { 1ULL << 20, "M" }, { 1ULL << 10, "k" } };

	if (bytes == LS_UNKNOWN_U64) {
		snprintf(buf, len, "-");
		return buf;
	}
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (bytes == 0 || bytes % units[i].unit != 0)
			continue;
		snprintf(buf, len, "%" PRIu64 "%s", bytes / units[i].unit, units[i].suffix);
		return buf;
	}
	snprintf(buf, len, "%" PRIu64, bytes);
	return buf;
}

const char *
bonnie_files(const struct results *results, const struct phase_result *phase, size_t node, char *buf, size_t len)
{
	uint64_t files = phase->spec.kind == PHASE_RUN_BONNIE
	    ? phase->spec.file_count * PER_N
	    : phase->spec.files * job_phase_workers(&results->run.job, &phase->spec);

	buf[0] = '\0';
	if (phase->imported != NULL)
		return buf; /* not told */
	if (node == REPORT_ALL)
		files *= phase->nodes_count;
	if (files % PER_N == 0)
		snprintf(buf, len, "%" PRIu64, files / PER_N);
	else
		snprintf(buf, len, "%.3f", (double)files / PER_N);
	return buf;
}

const char *
bonnie_largest(const struct phase *spec, char *buf, size_t len)
{
	buf[0] = '\0';
	if (spec->links != LINKS_NONE)
		snprintf(buf, len, "%d", spec->links == LINKS_HARD ? -1 : -2);
	else if (spec->size > 0)
		snprintf(buf, len, "%" PRIu64, spec->size);
	return buf;
}

const char *
bonnie_latency(int64_t ns, char *buf, size_t len)
{
	int64_t us = ns / NS_PER_US;

	buf[0] = '\0';
	if (ns == LS_UNKNOWN_I64)
		return buf;
	if (us > 99999999)
		snprintf(buf, len, "%" PRId64 "s", us / 1000000);
	else if (us > 99999)
		snprintf(buf, len, "%" PRId64 "ms", us / 1000);
	else
		snprintf(buf, len, "%" PRId64 "us", us);
	return buf;
}
