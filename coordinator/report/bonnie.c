#include "coordinator/report/bonnie_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "proto/model/aggregate.h"

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
