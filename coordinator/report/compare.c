#include "coordinator/report/by_op.h"
#include "coordinator/report/compare_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/stat/ratio.h"
#include "common/stat/summary.h"
#include "coordinator/report/rows_int.h"

const char *const compare_verdict_names[COMPARE_VERDICT_COUNT + 1] = {
	[COMPARE_UNKNOWN] = "unknown",
	[COMPARE_NOT_REPEATED] = "not-repeated",
	[COMPARE_FASTER] = "faster",
	[COMPARE_SLOWER] = "slower",
	[COMPARE_NO_DIFFERENCE] = "no-difference-shown",
};

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "coordinator/report/compare.def"
#include "common/base/field_undef.h"
/* clang-format on */

/* --- metrics ------------------------------------------------------------------------------------------------------ */

static double
rate_of(const struct phase_result *phase, const struct rate *rate)
{
	return report_in_bytes(phase) ? rate->bytes_per_s : rate->ops_per_s;
}

static double
value_last_done(const struct phase_result *phase)
{
	struct rate rate = report_rate(phase);

	return rate_of(phase, &rate);
}

static double
value_all_active(const struct phase_result *phase)
{
	return rate_of(phase, &phase->aggregate.all_active);
}

static double
value_sum_of_rates(const struct phase_result *phase)
{
	return rate_of(phase, &phase->aggregate.sum_of_rates);
}

/* Over the time of the whole phase, so that reads and writes of one that mixes them can be told apart. */
static double
value_of_op(const struct phase_result *phase, enum op_kind op)
{
	const struct op_result *r = by_op_get(&phase->aggregate.by_op, op);

	return r == NULL ? (double)NAN : report_in_bytes(phase) ? r->bytes_per_s : r->ops_per_s;
}

static double
value_reads(const struct phase_result *phase)
{
	return value_of_op(phase, OP_READ);
}

static double
value_writes(const struct phase_result *phase)
{
	return value_of_op(phase, OP_WRITE);
}

static double
ns_or_nan(const struct latency *l, size_t offset)
{
	int64_t ns;

	if (l == NULL)
		return (double)NAN;
	memcpy(&ns, (const char *)l + offset, sizeof(ns));
	return ns == LS_UNKNOWN_I64 ? (double)NAN : (double)ns;
}

static const struct latency *
latency_of_op(const struct phase_result *phase, enum op_kind op)
{
	const struct op_result *r = by_op_get(&phase->aggregate.by_op, op);

	return r != NULL ? &r->latency_ns : NULL;
}

static double
value_p50(const struct phase_result *phase)
{
	return ns_or_nan(phase->aggregate.latency_ns, offsetof(struct latency, p50));
}

static double
p50_of_op(const struct phase_result *phase, enum op_kind op)
{
	return ns_or_nan(latency_of_op(phase, op), offsetof(struct latency, p50));
}

static double
value_p99(const struct phase_result *phase)
{
	return ns_or_nan(phase->aggregate.latency_ns, offsetof(struct latency, p99));
}

static double
p99_of_op(const struct phase_result *phase, enum op_kind op)
{
	return ns_or_nan(latency_of_op(phase, op), offsetof(struct latency, p99));
}

static double
value_p99_9(const struct phase_result *phase)
{
	return ns_or_nan(phase->aggregate.latency_ns, offsetof(struct latency, p99_9));
}

static double
p99_9_of_op(const struct phase_result *phase, enum op_kind op)
{
	return ns_or_nan(latency_of_op(phase, op), offsetof(struct latency, p99_9));
}

const struct compare_metric compare_metrics[] = {
	{ "last-done", "all work over last end minus first start", true, value_last_done, false, value_of_op },
	{ "all-active", "the rate while every worker was active", true, value_all_active, false, NULL },
	{ "sum-of-rates", "each worker's own average, added", true, value_sum_of_rates, false, NULL },
	{ "reads", "reads alone over last end minus first start: of phases that mix them with writes", true,
	    value_reads, false, NULL },
	{ "writes", "writes alone, likewise", true, value_writes, false, NULL },
	{ "p50", "median latency", false, value_p50, true, p50_of_op },
	{ "p99", "99th percentile of latency", false, value_p99, true, p99_of_op },
	{ "p99.9", "99.9th percentile of latency", false, value_p99_9, true, p99_9_of_op },
	{ 0 },
};

const struct compare_metric *
compare_metric_find(const char *name)
{
	for (size_t i = 0; compare_metrics[i].name != NULL; i++)
		if (strcmp(compare_metrics[i].name, name) == 0)
			return &compare_metrics[i];
	return NULL;
}

size_t
compare_parts_of(
    const struct phase_result *phase, const struct compare_metric *metric, struct compare_part out[OP_COUNT])
{
	size_t n = 0;

	for (int op = 0; op < OP_COUNT && metric->apart != NULL && by_op_mixes(phase); op++)
		if (by_op_get(&phase->aggregate.by_op, (enum op_kind)op) != NULL)
			out[n++] = (struct compare_part){ phase, op };
	if (n == 0)
		out[n++] = (struct compare_part){ phase, -1 };
	return n;
}

double
compare_value_of(const struct compare_part *part, const struct compare_metric *metric)
{
	if (part->phase->state != PHASE_STATE_DONE)
		return (double)NAN;
	return part->op < 0 ? metric->value(part->phase) : metric->apart(part->phase, (enum op_kind)part->op);
}

const char *
compare_test_of(const struct compare_part *part, char *buf, size_t len)
{
	if (part->op < 0)
		return report_test(part->phase);
	snprintf(buf, len, "%s-%s", report_test(part->phase), op_names[part->op]);
	return buf;
}

const char *
compare_name_of(const struct compare_part *part, char *buf, size_t len)
{
	if (part->op < 0)
		return part->phase->name;
	snprintf(buf, len, "%s, %s", part->phase->name, op_names[part->op]);
	return buf;
}

/* --- which phases belong together --------------------------------------------------------------------------------- */

struct matrix {
	size_t groups;
	struct compare_cells *rows;
	size_t count;
};

static bool
same_test(const struct phase_result *a, const struct phase_result *b)
{
	return strcmp(report_test(a), report_test(b)) == 0;
}

static bool
same_sizes(const struct phase_result *a, const struct phase_result *b)
{
	return report_file_size(a) == report_file_size(b) && report_record_size(a) == report_record_size(b) &&
	    report_processes(a) == report_processes(b);
}

static void
add_sample(struct compare_samples *samples, struct compare_sample sample)
{
	samples->items = ls_grow(samples->items, samples->count, sizeof(*samples->items));
	samples->items[samples->count++] = sample;
}

/* Phases before number p of the same test in its repetition, and those of them of the same sizes. */
static void
count_before(const struct results *run, size_t p, struct compare_sample *sample)
{
	for (size_t q = 0; q < p; q++) {
		if (run->phases[q].repetition != run->phases[p].repetition ||
		    !same_test(&run->phases[q], &run->phases[p]))
			continue;
		sample->of_test++;
		sample->occurrence += same_sizes(&run->phases[q], &run->phases[p]);
	}
}

static struct compare_samples
samples_of(const struct compare_side *side, const struct compare_metric *metric)
{
	struct compare_samples samples = { 0 };

	for (size_t r = 0; r < side->count; r++) {
		const struct results *run = side->runs[r];

		for (size_t p = 0; p < run->phases_count; p++) {
			struct compare_sample sample = { .run = run };
			struct compare_part parts[OP_COUNT];
			size_t n = compare_parts_of(&run->phases[p], metric, parts);

			count_before(run, p, &sample);
			for (size_t i = 0; i < n; i++) {
				sample.part = parts[i];
				add_sample(&samples, sample);
			}
		}
	}
	return samples;
}

/* The first sample of a row, which has at least one: what it is about. */
static const struct compare_sample *
head_of(const struct compare_cells *row)
{
	size_t g = 0;

	while (row->groups[g].count == 0)
		g++;
	return &row->groups[g].items[0];
}

static bool
is_same(const struct compare_sample *a, const struct compare_sample *b)
{
	return a->occurrence == b->occurrence && a->part.op == b->part.op && same_test(a->part.phase, b->part.phase) &&
	    same_sizes(a->part.phase, b->part.phase);
}

static struct compare_cells *
find_same(const struct matrix *m, const struct compare_sample *sample)
{
	for (size_t r = 0; r < m->count; r++)
		if (is_same(head_of(&m->rows[r]), sample))
			return &m->rows[r];
	return NULL;
}

/* A row of the same test at another size that has nothing of this group yet, or only repeats of the sample. */
static struct compare_cells *
find_near(const struct matrix *m, const struct compare_sample *sample, size_t group)
{
	for (size_t r = 0; r < m->count; r++) {
		const struct compare_samples *own = &m->rows[r].groups[group];
		const struct compare_sample *head = head_of(&m->rows[r]);

		if (own->count > 0 ? is_same(&own->items[0], sample)
				   : head->part.op == sample->part.op &&
			    same_test(head->part.phase, sample->part.phase) && head->of_test == sample->of_test)
			return &m->rows[r];
	}
	return NULL;
}

static struct compare_cells *
new_row(struct matrix *m)
{
	m->rows = ls_grow(m->rows, m->count, sizeof(*m->rows));
	m->rows[m->count].groups = ls_calloc(m->groups, sizeof(*m->rows[m->count].groups));
	return &m->rows[m->count++];
}

/* Equal sizes first; what is left is compared by its place among phases of its test, and the difference gets named. */
static void
place(struct matrix *m, const struct compare_samples *samples, size_t group)
{
	bool *placed = ls_calloc(samples->count + 1, sizeof(*placed));

	for (size_t s = 0; s < samples->count; s++) {
		struct compare_cells *row = find_same(m, &samples->items[s]);

		if (row == NULL && group > 0)
			continue;
		add_sample(&(row != NULL ? row : new_row(m))->groups[group], samples->items[s]);
		placed[s] = true;
	}
	for (size_t s = 0; s < samples->count; s++) {
		if (placed[s])
			continue;
		struct compare_cells *row = find_near(m, &samples->items[s], group);
		add_sample(&(row != NULL ? row : new_row(m))->groups[group], samples->items[s]);
	}
	free(placed);
}

static void
matrix_free(struct matrix *m)
{
	for (size_t r = 0; r < m->count; r++) {
		for (size_t g = 0; g < m->groups; g++)
			free(m->rows[r].groups[g].items);
		free(m->rows[r].groups);
	}
	free(m->rows);
}

/* --- values and ratios -------------------------------------------------------------------------------------------- */

/* Values by group, while the ratios are made. */
struct figures {
	double *items; /* by sample, NAN where there is none */
	size_t count;
};

static struct figures
figures_of(const struct compare_samples *samples, const struct compare_metric *metric)
{
	struct figures f = { .items = ls_calloc(samples->count + 1, sizeof(*f.items)), .count = samples->count };

	for (size_t i = 0; i < f.count; i++)
		f.items[i] = compare_value_of(&samples->items[i].part, metric);
	return f;
}

static void
set_value(struct compare_value *out, const struct figures *f)
{
	struct summary s = summary_of(f->items, f->count);

	out->samples = s.n;
	out->value = ratio_geometric_mean(f->items, f->count);
	out->min = s.min;
	out->max = s.max;
	out->spread = s.n >= 2 && s.mean > 0 ? s.sd / s.mean : (double)NAN;
}

static int
verdict_of(const struct ratio *r, bool higher_is_better)
{
	if (!isfinite(r->ratio))
		return COMPARE_UNKNOWN;
	if (!isfinite(r->low))
		return COMPARE_NOT_REPEATED;
	if (r->low > 1)
		return higher_is_better ? COMPARE_FASTER : COMPARE_SLOWER;
	if (r->high < 1)
		return higher_is_better ? COMPARE_SLOWER : COMPARE_FASTER;
	return COMPARE_NO_DIFFERENCE;
}

/* Groups of ratio column number i. */
static void
column_of(size_t i, size_t subject, size_t *of, size_t *to)
{
	if (subject == SIZE_MAX) {
		*of = i + 1;
		*to = 0;
		return;
	}
	*of = subject;
	*to = i < subject ? i : i + 1;
}

static void
set_ratios(struct compare_row *row, const struct figures *figures, size_t groups, size_t subject, bool higher_is_better)
{
	row->ratios_count = groups - 1;
	row->ratios = ls_calloc(row->ratios_count, sizeof(*row->ratios));
	for (size_t i = 0; i < row->ratios_count; i++) {
		size_t of;
		size_t to;

		column_of(i, subject, &of, &to);
		struct ratio r = ratio_of(figures[of].items, figures[of].count, figures[to].items, figures[to].count);
		row->ratios[i] =
		    (struct compare_ratio){ of, to, r.ratio, r.low, r.high, verdict_of(&r, higher_is_better) };
	}
}

static void
set_row(struct compare_row *row, const struct compare_sample *head, bool is_latency)
{
	const struct phase_result *phase = head->part.phase;
	char text[256];
	bool data =
	    phase->imported != NULL || (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DATA) != 0;

	field_struct_init(&compare_row_desc, row);
	free(row->test);
	free(row->name);
	free(row->unit);
	row->test = ls_strdup(compare_test_of(&head->part, text, sizeof(text)));
	row->name = ls_strdup(compare_name_of(&head->part, text, sizeof(text)));
	row->unit = ls_strdup(is_latency ? "ns" : report_in_bytes(phase) ? "B/s" : "op/s");
	row->file_size = data ? report_file_size(phase) : LS_UNKNOWN_U64;
	row->processes = report_processes(phase);
	row->record_size = data ? report_record_size(phase) : LS_UNKNOWN_U64;
}

static void
make_row(struct comparison *c, const struct matrix *m, size_t r, const struct compare_metric *metric, size_t subject)
{
	struct compare_row *row = &c->rows[r];
	struct figures *figures = ls_calloc(m->groups, sizeof(*figures));

	set_row(row, head_of(&m->rows[r]), metric->is_latency);
	row->values_count = m->groups;
	row->values = ls_calloc(m->groups, sizeof(*row->values));
	for (size_t g = 0; g < m->groups; g++) {
		figures[g] = figures_of(&m->rows[r].groups[g], metric);
		set_value(&row->values[g], &figures[g]);
		compare_note_repeats(c, g, row, &m->rows[r].groups[g], figures[g].items);
	}
	if (head_of(&m->rows[r])->part.op < 0 && by_op_mixes(head_of(&m->rows[r])->part.phase) &&
	    strcmp(metric->name, "reads") != 0 && strcmp(metric->name, "writes") != 0)
		warnings_add(&c->notes, &c->notes_count,
		    "%s: reads and writes are not added up, and this metric has no figure for each; last-done has",
		    row->name);
	set_ratios(row, figures, m->groups, subject, metric->higher_is_better);
	for (size_t g = 0; g < m->groups; g++)
		free(figures[g].items);
	free(figures);
}

/* --- means over rows ---------------------------------------------------------------------------------------------- */

/* test NULL: over all rows. */
static void
add_mean(struct comparison *c, const char *test, size_t column)
{
	double *ratios = ls_calloc(c->rows_count + 1, sizeof(*ratios));
	size_t count = 0;

	for (size_t r = 0; r < c->rows_count; r++)
		if ((test == NULL || strcmp(c->rows[r].test, test) == 0) && isfinite(c->rows[r].ratios[column].ratio))
			ratios[count++] = c->rows[r].ratios[column].ratio;
	c->means = ls_grow(c->means, c->means_count, sizeof(*c->means));
	struct compare_mean *mean = &c->means[c->means_count++];
	*mean = (struct compare_mean){ .test = ls_strdup(test), .rows = count };
	mean->of = c->rows[0].ratios[column].of;
	mean->to = c->rows[0].ratios[column].to;
	mean->ratio = ratio_geometric_mean(ratios, count);
	free(ratios);
}

static bool
is_first_of_test(const struct comparison *c, size_t r)
{
	for (size_t q = 0; q < r; q++)
		if (strcmp(c->rows[q].test, c->rows[r].test) == 0)
			return false;
	return true;
}

static void
make_means(struct comparison *c)
{
	size_t columns = c->groups_count - 1;

	if (c->rows_count == 0)
		return;
	for (size_t r = 0; r < c->rows_count; r++)
		for (size_t i = 0; i < columns && is_first_of_test(c, r); i++)
			add_mean(c, c->rows[r].test, i);
	for (size_t i = 0; i < columns; i++)
		add_mean(c, NULL, i);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void
copy_labels(struct compare_group *group, const struct run_info *run)
{
	if (run->tags_count > 0)
		group->tags = ls_calloc(run->tags_count, sizeof(*group->tags));
	for (size_t i = 0; i < run->tags_count; i++)
		group->tags[group->tags_count++] = ls_strdup(run->tags[i]);
	group->note = ls_strdup(run->note);
}

static void
make_groups(struct comparison *c, const struct compare_side *sides, size_t count)
{
	c->groups = ls_calloc(count, sizeof(*c->groups));
	c->groups_count = count;
	for (size_t g = 0; g < count; g++) {
		struct compare_group *group = &c->groups[g];
		const struct run_info *run = &sides[g].runs[0]->run;

		group->label = ls_strdup(sides[g].label);
		group->nodes = sides[g].runs[0]->nodes_count;
		group->about = ls_asprintf("%s, %s, %s", run->name, field_enum_name(run_state_names, run->state),
		    run->started_at != NULL ? run->started_at : "start not known");
		copy_labels(group, run);
		for (size_t r = 0; r < sides[g].count; r++) {
			group->runs = ls_grow(group->runs, group->runs_count, sizeof(*group->runs));
			group->runs[group->runs_count++] = ls_strdup(sides[g].runs[r]->run.id);
		}
	}
}

/* Runs of different tests on one side are no repeats of each other. */
static void
count_repeats(struct comparison *c)
{
	for (size_t g = 0; g < c->groups_count; g++)
		for (size_t r = 0; r < c->rows_count; r++)
			c->groups[g].repeats = LS_MAX(c->groups[g].repeats, c->rows[r].values[g].samples);
}

void
compare_runs(const struct compare_side *sides, size_t count, const struct compare_metric *metric, size_t subject,
    struct comparison *out)
{
	struct matrix m = { .groups = count };
	struct compare_differences differences = { 0 };

	field_struct_init(&comparison_desc, out);
	free(out->metric);
	out->metric = ls_strdup(metric->name);
	out->higher_is_better = metric->higher_is_better;
	make_groups(out, sides, count);
	for (size_t g = 0; g < count; g++) {
		struct compare_samples samples = samples_of(&sides[g], metric);

		place(&m, &samples, g);
		free(samples.items);
	}
	compare_run_differences(out, sides, count);
	out->rows = ls_calloc(m.count + 1, sizeof(*out->rows));
	for (size_t r = 0; r < m.count; r++) {
		make_row(out, &m, r, metric, subject);
		out->rows_count++;
		compare_row_differences(&differences, out, &m.rows[r], out->rows[r].name);
	}
	compare_differences_end(&differences, out, m.count);
	count_repeats(out);
	compare_note_spread(out);
	make_means(out);
	matrix_free(&m);
}

bool
compare_is_slower(const struct comparison *c, double tolerance, struct sink *why)
{
	bool slower = false;

	for (size_t r = 0; r < c->rows_count; r++) {
		const struct compare_row *row = &c->rows[r];

		for (size_t i = 0; i < row->ratios_count; i++) {
			const struct compare_ratio *ratio = &row->ratios[i];
			double speed = c->higher_is_better ? ratio->ratio : 1 / ratio->ratio;
			bool missing = ratio->verdict == COMPARE_UNKNOWN;

			if (!missing && (ratio->verdict == COMPARE_NO_DIFFERENCE || speed >= 1 - tolerance))
				continue;
			slower = true;
			if (why == NULL)
				continue;
			if (missing)
				sink_printf(why, "%s: no figure to compare for %s against %s\n", row->name,
				    c->groups[ratio->of].label, c->groups[ratio->to].label);
			else
				sink_printf(why, "%s: %s has %.1f %% of the speed of %s\n", row->name,
				    c->groups[ratio->of].label, 100 * speed, c->groups[ratio->to].label);
		}
	}
	return slower;
}
