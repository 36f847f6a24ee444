/* The trend for people: bars in a line, then the numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/compare_int.h"
#include "coordinator/report/text_int.h"
#include "coordinator/report/trend_int.h"

#define BARS_WIDTH 60 /* runs in a line of bars */

static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" };
static const char *const digits[] = { "1", "2", "3", "4", "5", "6", "7", "8" };

#define LEVELS ARRAY_LEN(blocks)

struct trend_span
trend_span_of(const struct trend_series *s)
{
	struct trend_span span = { (double)NAN, (double)NAN, (double)NAN, (double)NAN, 0 };

	for (size_t i = 0; i < s->points_count; i++) {
		double v = s->points[i].value;

		if (!isfinite(v))
			continue;
		span.least = span.known == 0 ? v : fmin(span.least, v);
		span.most = span.known == 0 ? v : fmax(span.most, v);
		span.first = span.known == 0 ? v : span.first;
		span.last = v;
		span.known++;
	}
	return span;
}

const char *
trend_direction(const struct trend *t, const struct trend_point *p)
{
	return (p->after > p->before) == t->higher_is_better ? "better" : "worse";
}

const char *
trend_percent(const struct trend_point *p, char *buf, size_t len)
{
	snprintf(buf, len, "%+.1f %%", 100 * (p->after / p->before - 1));
	return buf;
}

const struct trend_run *
trend_run_of(const struct trend *t, const struct trend_point *p)
{
	for (size_t i = 0; i < t->runs_count; i++)
		if (strcmp(t->runs[i].run, p->run) == 0)
			return &t->runs[i];
	return NULL;
}

void
trend_about(const struct trend *t, struct sink *out)
{
	const struct compare_metric *metric = compare_metric_find(t->metric);
	const char *from = t->runs_count > 0 ? t->runs[0].started_at : NULL;
	const char *to = t->runs_count > 0 ? t->runs[t->runs_count - 1].started_at : NULL;

	sink_printf(out, "%zu run%s from %.10s to %.10s; %s: %s, %s is better", t->runs_count,
	    t->runs_count == 1 ? "" : "s", from != NULL ? from : "?", to != NULL ? to : "?", t->metric,
	    metric != NULL ? metric->help : "", t->higher_is_better ? "more" : "less");
}

/* The newest runs, from nothing to the largest value: a bar of half the height is half the value. */
static void
bars(const struct trend_series *s, const struct trend_span *span, bool ascii, struct sink *out)
{
	size_t from = s->points_count > BARS_WIDTH ? s->points_count - BARS_WIDTH : 0;

	sink_printf(out, "  ");
	for (size_t i = from; i < s->points_count; i++) {
		double v = s->points[i].value;
		size_t level = 0;

		if (!isfinite(v)) {
			sink_printf(out, "?");
			continue;
		}
		if (span->most > 0)
			level = LS_MIN((size_t)(v / span->most * (double)LEVELS + 0.5), LEVELS);
		level = level > 0 ? level - 1 : 0;
		sink_printf(out, "%s", ascii ? digits[level] : blocks[level]);
	}
	sink_printf(out, "\n");
	bool any = false;
	for (size_t i = from; i < s->points_count; i++)
		any |= s->points[i].changed;
	if (!any)
		return;
	sink_printf(out, "  ");
	size_t last = s->points_count;
	while (!s->points[last - 1].changed)
		last--;
	for (size_t i = from; i < last; i++)
		sink_printf(out, "%s", s->points[i].changed ? "^" : " ");
	sink_printf(out, "\n");
}

/* What people said of a run, after its number. */
static void
label_cell(const struct trend_run *run, struct sink *out)
{
	if (run == NULL)
		return;
	for (size_t i = 0; i < run->tags_count; i++)
		sink_printf(out, "%s%s", i == 0 ? "  [" : ",", run->tags[i]);
	if (run->tags_count > 0)
		sink_printf(out, "]");
	if (run->note == NULL || run->note[0] == '\0')
		return;
	sink_printf(out, "  ");
	for (const char *p = run->note; *p != '\0'; p++)
		sink_add(out, (unsigned char)*p < 0x20 || *p == 0x7f ? " " : p, 1);
}

static void
point_line(const struct trend *t, const struct trend_series *s, const struct trend_point *p, struct sink *out)
{
	char value[64] = "n/a";
	char percent[32];

	if (isfinite(p->value))
		compare_format(p->value, s->unit, value, sizeof(value));
	sink_printf(out, "  %-24s %-16.16s %14s", p->run, p->started_at != NULL ? p->started_at : "?", value);
	if (p->changed)
		sink_printf(out, "  ^ %s, %s", trend_percent(p, percent, sizeof(percent)), trend_direction(t, p));
	label_cell(trend_run_of(t, p), out);
	sink_printf(out, "\n");
}

static void
series_text(const struct trend *t, const struct trend_series *s, bool ascii, struct sink *out)
{
	struct trend_span span = trend_span_of(s);
	char first[64], last[64], least[64], most[64];

	sink_printf(out, "\n");
	text_wrap(out, "", "%s", s->name);
	if (span.known == 0) {
		sink_printf(out, "  n/a: no run has this figure\n");
		return;
	}
	bars(s, &span, ascii, out);
	text_wrap(out, "  ", "first %s, last %s, least %s, most %s",
	    compare_format(span.first, s->unit, first, sizeof(first)),
	    compare_format(span.last, s->unit, last, sizeof(last)),
	    compare_format(span.least, s->unit, least, sizeof(least)),
	    compare_format(span.most, s->unit, most, sizeof(most)));
	for (size_t i = 0; i < s->points_count; i++)
		point_line(t, s, &s->points[i], out);
}

void
trend_text(const struct trend *t, bool ascii, struct sink *out)
{
	struct sink about = { 0 };

	trend_about(t, &about);
	text_wrap(out, "", "%s: %s.", t->title, about.text);
	sink_free(&about);
	for (size_t i = 0; i < t->series_count; i++)
		series_text(t, &t->series[i], ascii, out);
	if (t->series_count == 0)
		sink_printf(out, "\nNo phase has a result.\n");
	sink_printf(out, "\n");
	text_wrap(out, "", "Bars begin at 0. %s", t->rule);
}
