#include "coordinator/report/trend.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/stat/change.h"
#include "coordinator/report/compare_int.h"
#include "coordinator/report/rows_int.h"

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "coordinator/report/trend.def"
#include "common/base/field_undef.h"
/* clang-format on */

#define MOST_CHANGES 1024

static void
set_str(char **slot, const char *text)
{
	free(*slot);
	*slot = ls_strdup(text);
}

/* What a phase is called over all runs. */
static void
title_of(const struct compare_part *part, char *buf, size_t len)
{
	const struct phase_result *phase = part->phase;
	char name[256];
	struct compare_row row = {
		.name = (char *)(uintptr_t)compare_name_of(part, name, sizeof(name)),
		.file_size = report_file_size(phase),
		.record_size = report_record_size(phase),
		.processes = report_processes(phase),
	};

	compare_row_title(&row, buf, len);
}

static const char *
unit_of(const struct compare_metric *metric, const struct phase_result *phase)
{
	if (metric->is_latency)
		return "ns";
	return report_in_bytes(phase) ? "B/s" : "op/s";
}

/* The series for a phase: the occurrence-th of its test, title and unit; made if need be. */
static struct trend_series *
series_for(struct trend *t, const char *test, const char *title, const char *unit, size_t occurrence)
{
	struct trend_series *s;

	for (size_t i = 0; i < t->series_count; i++) {
		s = &t->series[i];
		if (strcmp(s->test, test) == 0 && strcmp(s->name, title) == 0 && strcmp(s->unit, unit) == 0 &&
		    occurrence-- == 0)
			return s;
	}
	t->series = ls_grow(t->series, t->series_count, sizeof(*t->series));
	s = &t->series[t->series_count++];
	field_struct_init(&trend_series_desc, s);
	set_str(&s->test, test);
	set_str(&s->name, title);
	set_str(&s->unit, unit);
	return s;
}

/* The point of the run in a series; made if need be. Its value is a sum of logarithms until the run is over. */
static struct trend_point *
point_for(struct trend_series *s, const struct results *run)
{
	struct trend_point *p = s->points_count > 0 ? &s->points[s->points_count - 1] : NULL;

	if (p != NULL && strcmp(p->run, run->run.id) == 0)
		return p;
	s->points = ls_grow(s->points, s->points_count, sizeof(*s->points));
	p = &s->points[s->points_count++];
	field_struct_init(&trend_point_desc, p);
	set_str(&p->run, run->run.id);
	set_str(&p->started_at, run->run.started_at);
	p->value = 0;
	return p;
}

/* How many phases before this one in its repetition have the same test and title? */
static size_t
occurrence_of(const struct results *run, size_t at)
{
	const struct phase_result *phase = &run->phases[at];
	size_t n = 0;

	for (size_t i = 0; i < at; i++) {
		const struct phase_result *p = &run->phases[i];

		n += p->repetition == phase->repetition && strcmp(p->name, phase->name) == 0 &&
		    strcmp(report_test(p), report_test(phase)) == 0 && report_file_size(p) == report_file_size(phase) &&
		    report_record_size(p) == report_record_size(phase) &&
		    report_processes(p) == report_processes(phase);
	}
	return n;
}

static void
add_part(struct trend *t, const struct results *run, size_t at, const struct compare_part *part,
    const struct compare_metric *metric)
{
	double value = compare_value_of(part, metric);
	char title[400], test[64];
	struct trend_point *p;

	title_of(part, title, sizeof(title));
	p = point_for(series_for(t, compare_test_of(part, test, sizeof(test)), title, unit_of(metric, part->phase),
			  occurrence_of(run, at)),
	    run);
	if (!isfinite(value) || value <= 0)
		return;
	p->value += log(value);
	p->samples++;
}

/* Phases that mix reads and writes have a series for each. */
static void
add_phase(struct trend *t, const struct results *run, size_t at, const struct compare_metric *metric)
{
	struct compare_part parts[OP_COUNT];
	size_t n = compare_parts_of(&run->phases[at], metric, parts);

	for (size_t i = 0; i < n; i++)
		add_part(t, run, at, &parts[i], metric);
}

static void
end_run(struct trend *t, const char *run)
{
	for (size_t i = 0; i < t->series_count; i++) {
		struct trend_series *s = &t->series[i];
		struct trend_point *p = &s->points[s->points_count - 1]; /* a series is made with its first point */

		if (strcmp(p->run, run) == 0)
			p->value = p->samples > 0 ? exp(p->value / (double)p->samples) : (double)NAN;
	}
}

static void
note_run(struct trend *t, const struct run_info *run)
{
	struct trend_run *r;

	t->runs = ls_grow(t->runs, t->runs_count, sizeof(*t->runs));
	r = &t->runs[t->runs_count++];
	field_struct_init(&trend_run_desc, r);
	set_str(&r->run, run->id);
	set_str(&r->name, run->name);
	set_str(&r->started_at, run->started_at);
	set_str(&r->note, run->note);
	if (run->tags_count > 0)
		r->tags = ls_calloc(run->tags_count, sizeof(*r->tags));
	for (size_t i = 0; i < run->tags_count; i++)
		r->tags[r->tags_count++] = ls_strdup(run->tags[i]);
}

void
trend_add(struct trend *t, const struct results *run, const struct compare_metric *metric, const char *phases)
{
	note_run(t, &run->run);
	for (size_t p = 0; p < run->phases_count; p++)
		if (phases == NULL || fnmatch(phases, run->phases[p].name, 0) == 0)
			add_phase(t, run, p, metric);
	end_run(t, run->run.id);
}

static void
mark_changes(struct trend_series *s)
{
	double *values = ls_calloc(s->points_count + 1, sizeof(*values));
	size_t *at = ls_calloc(s->points_count + 1, sizeof(*at));
	struct change *changes = ls_calloc(MOST_CHANGES, sizeof(*changes));
	size_t n = 0;

	for (size_t i = 0; i < s->points_count; i++) {
		if (!isfinite(s->points[i].value))
			continue;
		at[n] = i;
		values[n++] = s->points[i].value;
	}
	size_t count = change_find(values, n, changes, MOST_CHANGES);
	for (size_t i = 0; i < count; i++) {
		struct trend_point *p = &s->points[at[changes[i].at]];

		p->changed = true;
		p->before = changes[i].before;
		p->after = changes[i].after;
	}
	free(changes);
	free(values);
	free(at);
}

void
trend_end(struct trend *t, const struct compare_metric *metric, const char *title)
{
	set_str(&t->title, title);
	set_str(&t->metric, metric->name);
	t->higher_is_better = metric->higher_is_better;
	free(t->rule);
	t->rule = ls_asprintf("A change is marked where the median of up to %d runs from it on differs from that of up "
			      "to %d runs before it by "
			      "more than %.0f %% and by more than %.0f times the scatter of these runs (1.4826 times "
			      "the median distance from "
			      "their medians); %d runs at least on either side.",
	    CHANGE_WINDOW, CHANGE_WINDOW, 100 * CHANGE_LEAST, CHANGE_SCATTER, CHANGE_SIDE);
	for (size_t i = 0; i < t->series_count; i++)
		mark_changes(&t->series[i]);
}
