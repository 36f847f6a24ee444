/* Throughput mode: a block for each test, "Children see throughput for 8 readers = ...". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/iozone_int.h"

/* One block as printed; NAN is what does not stand there. */
struct block {
	size_t line, last;
	uint64_t processes;
	char what[64];
	bool ops;
	double children, parent, min, max, avg, min_xfer;
	size_t seen;         /* lines of children */
	double *xfer, *rate; /* of each child, owned */
};

/* "label = 12.5 kB/sec": the label without blanks behind, and the number. */
static bool
split(const char *line, char *label, size_t len, double *value, const char **unit)
{
	const char *equal = strchr(line, '=');

	if (equal == NULL || !import_number_prefix(equal + 1, value, unit))
		return false;
	line += strspn(line, " \t");
	import_copy(label, len, line, (size_t)(equal - line));
	for (size_t n = strlen(label); n > 0 && (label[n - 1] == ' ' || label[n - 1] == '\t'); n--)
		label[n - 1] = '\0';
	*unit += strspn(*unit, " \t");
	return true;
}

/* "Children see throughput for 10 initial writers" */
static bool
take_title(const char *line, struct block *b)
{
	char label[128];
	const char *unit;
	double value;

	if (!split(line, label, sizeof(label), &value, &unit))
		return false;
	const char *rest = import_after(label, "Children see throughput for");
	if (rest == NULL)
		return false;
	size_t digits = strspn(rest, "0123456789");
	if (!import_integer(rest, digits, &b->processes))
		return false;
	rest += digits;
	rest += strspn(rest, " \t");
	import_copy(b->what, sizeof(b->what), rest, strlen(rest));
	b->children = value;
	b->ops = strncmp(unit, "ops", 3) == 0;
	return true;
}

/* "Child[3] xfer count = 992256.00 kB, Throughput = 17234.54 kB/sec" */
static bool
take_child(const char *line, struct block *b)
{
	const char *end;
	double xfer, rate;
	const char *child = import_after(line, "Child[");
	const char *count = child != NULL ? strstr(child, "xfer count") : NULL;
	const char *told = count != NULL ? strstr(count, "Throughput") : NULL;

	if (told == NULL || strchr(count, '=') == NULL || strchr(told, '=') == NULL)
		return false;
	if (!import_number_prefix(strchr(count, '=') + 1, &xfer, &end) ||
	    !import_number_prefix(strchr(told, '=') + 1, &rate, &end))
		return false;
	b->xfer = ls_grow(b->xfer, b->seen, sizeof(*b->xfer));
	b->rate = ls_grow(b->rate, b->seen, sizeof(*b->rate));
	b->xfer[b->seen] = xfer;
	b->rate[b->seen++] = rate;
	return true;
}

/* A line of the block, or false: the block has ended. */
static bool
take_line(const char *line, struct block *b)
{
	const struct {
		const char *label;
		double *to;
	} rows[] = {
		{ "Parent sees throughput", &b->parent },
		{ "Min throughput", &b->min },
		{ "Max throughput", &b->max },
		{ "Avg throughput", &b->avg },
		{ "Min xfer", &b->min_xfer },
	};
	char label[128];
	const char *unit;
	double value;

	if (take_child(line, b))
		return true;
	if (import_after(line, "CPU utilization") != NULL || import_after(line, "CPU Utilization") != NULL)
		return true;
	if (!split(line, label, sizeof(label), &value, &unit))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (import_after(label, rows[i].label) == NULL)
			continue;
		*rows[i].to = value;
		return true;
	}
	return false;
}

static enum iozone_test
test_of(const struct block *b)
{
	for (int t = 0; t < IOZONE_TESTS; t++)
		if (import_iozone_tests[t].who != NULL && strcmp(import_iozone_tests[t].who, b->what) == 0)
			return (enum iozone_test)t;
	return IOZONE_TESTS;
}

static void
set_rate(struct rate *rate, const struct block *b, double value)
{
	if (b->ops)
		rate->ops_per_s = value;
	else
		rate->bytes_per_s = value * 1024;
}

/* A size in the head of the run, "File size set to 1048576 kB", in bytes. */
static uint64_t
head_size(const struct iozone *z, const char *name)
{
	double value;
	const char *end;
	const char *text = import_setting_get(z->doc, name);

	if (text == NULL || !import_number_prefix(text, &value, &end) || import_after(end, "k") == NULL || value > 9e15)
		if (text == NULL || !import_number_prefix(text, &value, &end) || import_after(end, "K") == NULL ||
		    value > 9e15)
			return LS_UNKNOWN_U64;
	return import_to_u64(value * 1024);
}

static void
add_children(struct iozone *z, struct phase_result *phase, const struct block *b)
{
	double sum = 0;

	for (size_t i = 0; i < b->seen; i++) {
		char name[64];

		snprintf(name, sizeof(name), "child-%zu", i);
		struct node_result *node = import_node(z->doc, phase, name);
		sum += b->rate[i];
		if (b->ops) {
			node->ops = import_to_u64(b->xfer[i]);
			node->ops_per_s = b->rate[i];
		} else {
			node->bytes = import_to_u64(b->xfer[i] * 1024);
			node->bytes_per_s = b->rate[i] * 1024;
		}
	}
	if (b->seen > 0 && fabs(sum - b->children) > 0.001 * b->children + 1)
		import_phase_warn(phase, "the rates of the children add to %.2f, not to the %.2f that iozone printed",
		    sum, b->children);
}

static void
add_block(struct iozone *z, const struct block *b)
{
	static const char *const unit[] = { "KiB/s", "op/s" };
	enum iozone_test test = test_of(b);

	import_iozone_doc(z, "iozone throughput", b->line);
	struct phase_result *phase =
	    import_iozone_phase(z, test, head_size(z, "file size"), head_size(z, "record size"), b->line);
	import_phase_metric(phase, "processes", (double)b->processes, "");
	import_phase_metric(phase, "children see", b->children, unit[b->ops]);
	if (!isnan(b->parent))
		import_phase_metric(phase, "parent sees", b->parent, unit[b->ops]);
	import_phase_metric(phase, "min", b->min, unit[b->ops]);
	import_phase_metric(phase, "max", b->max, unit[b->ops]);
	import_phase_metric(phase, "avg", b->avg, unit[b->ops]);
	import_phase_metric(phase, "min xfer", b->min_xfer, b->ops ? "op" : "KiB");
	set_rate(&phase->aggregate.sum_of_rates, b, b->children);
	set_rate(&phase->aggregate.last_done, b, b->parent);
	if (test == IOZONE_WRITE || test == IOZONE_PWRITE || test == IOZONE_RANDOM_WRITE)
		import_phase_warn(phase,
		    "last done is what iozone's parent saw: for this test it holds the time in which the files are "
		    "finished "
		    "after the first child had ended");
	add_children(z, phase, b);
}

/* A test that comes again with as many processes belongs to another run. */
static bool
seen_before(const struct iozone *z, const struct block *b)
{
	enum iozone_test test = test_of(b);

	for (size_t i = 0; z->doc != NULL && test != IOZONE_TESTS && i < z->doc->phases_count; i++) {
		const struct imported_phase *p = z->doc->phases[i].imported;

		if (strcmp(p->test, import_iozone_tests[test].test) == 0 && p->metrics_count > 0 &&
		    p->metrics[0].value == (double)b->processes)
			return true;
	}
	return false;
}

static enum ls_rc
check_block(const struct block *b, struct ls_err *err)
{
	if (isnan(b->min) || isnan(b->max) || isnan(b->avg) || isnan(b->min_xfer))
		return import_error(err, b->line, "the block of %llu %s ends early: %s is missing",
		    (unsigned long long)b->processes, b->what,
		    isnan(b->min)       ? "the smallest rate"
			: isnan(b->max) ? "the largest rate"
			: isnan(b->avg) ? "the average"
					: "\"Min xfer\"");
	if (b->seen > 0 && b->seen != b->processes)
		return import_error(err, b->line, "the block of %llu %s has lines of %zu children only",
		    (unsigned long long)b->processes, b->what, b->seen);
	if (test_of(b) == IOZONE_TESTS)
		return import_error(err, b->line, "iozone's test \"%s\" is not known", b->what);
	return LS_OK;
}

enum ls_rc
import_iozone_throughput(struct iozone *z, size_t *line, bool *took, struct ls_err *err)
{
	double nothing = (double)NAN;
	struct block b = { .line = *line,
		.last = *line,
		.parent = nothing,
		.min = nothing,
		.max = nothing,
		.avg = nothing,
		.min_xfer = nothing };

	*took = take_title(z->text->bare[*line], &b);
	if (!*took)
		return LS_OK;
	for (size_t i = *line + 1; i < z->text->count; i++) {
		if (z->text->bare[i][0] == '\0')
			continue;
		if (!take_line(z->text->bare[i], &b))
			break;
		b.last = i;
	}
	enum ls_rc rc = check_block(&b, err);
	if (rc == LS_OK && seen_before(z, &b))
		import_iozone_begin(z, *line);
	if (rc == LS_OK)
		add_block(z, &b);
	free(b.xfer);
	free(b.rate);
	z->throughput = true;
	z->end = *line = b.last;
	return rc;
}
