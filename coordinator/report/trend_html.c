/* The trend as a page: SVG and tables, no script. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/compare_int.h"
#include "coordinator/report/html_int.h"
#include "coordinator/report/trend_int.h"

enum { WIDTH = 1100, HEIGHT = 240, LEFT = 90, RIGHT = 20, TOP = 16, BOTTOM = 28 };

static const char trend_css[] =
    "svg.trend { width: 100%; height: auto; display: block; }\n"
    ".trend text { fill: var(--soft); font-size: 12px; }\n"
    ".trend .grid { stroke: var(--grid); stroke-width: 1; }\n"
    ".trend .line { fill: none; stroke: var(--accent); stroke-width: 2; }\n"
    ".trend circle { fill: var(--accent); }\n"
    ".trend .mark { stroke-width: 2; stroke-dasharray: 4 3; }\n"
    ".trend .better { stroke: var(--good); } .trend text.better { fill: var(--good); stroke: none; }\n"
    ".trend .worse { stroke: var(--bad); } .trend text.worse { fill: var(--bad); stroke: none; }\n"
    "td.better { color: var(--good); font-weight: 600; } td.worse { color: var(--bad); font-weight: 600; }\n";

struct chart {
	const struct trend *trend;
	const struct trend_series *series;
	struct trend_span span;
	struct sink *out;
};

static double
x_of(const struct chart *c, size_t i)
{
	double width = WIDTH - LEFT - RIGHT;

	return c->series->points_count < 2 ? LEFT + width / 2
					   : LEFT + width * (double)i / (double)(c->series->points_count - 1);
}

static double
y_of(const struct chart *c, double value)
{
	return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / (c->span.most > 0 ? 1.05 * c->span.most : 1));
}

static void
grid(const struct chart *c)
{
	for (int i = 0; i <= 4; i++) {
		double value = c->span.most * i / 4;
		double y = y_of(c, value);
		char text[64];

		sink_printf(c->out,
		    "<line class=grid x1='%d' x2='%d' y1='%.1f' y2='%.1f'/><text x='%d' y='%.1f' text-anchor=end>",
		    LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4);
		html_text(c->out, i == 0 ? "0" : compare_format(value, c->series->unit, text, sizeof(text)));
		sink_printf(c->out, "</text>\n");
	}
}

static void
line(const struct chart *c)
{
	bool pen = false; /* a run without a figure interrupts the line */

	sink_printf(c->out, "<path class=line d='");
	for (size_t i = 0; i < c->series->points_count; i++) {
		double v = c->series->points[i].value;

		if (isfinite(v))
			sink_printf(c->out, "%s%.1f %.1f", pen ? "L" : "M", x_of(c, i), y_of(c, v));
		pen = isfinite(v);
	}
	sink_printf(c->out, "'/>\n");
}

static void
dots(const struct chart *c)
{
	for (size_t i = 0; i < c->series->points_count; i++) {
		const struct trend_point *p = &c->series->points[i];
		char text[64];

		if (!isfinite(p->value))
			continue;
		sink_printf(c->out, "<circle cx='%.1f' cy='%.1f' r='4'><title>", x_of(c, i), y_of(c, p->value));
		html_text(c->out, p->run);
		sink_printf(c->out, ": ");
		html_text(c->out, compare_format(p->value, c->series->unit, text, sizeof(text)));
		sink_printf(c->out, "</title></circle>\n");
	}
}

static void
marks(const struct chart *c)
{
	for (size_t i = 0; i < c->series->points_count; i++) {
		const struct trend_point *p = &c->series->points[i];
		double x = (x_of(c, i) + x_of(c, i > 0 ? i - 1 : 0)) / 2;
		bool late = x > WIDTH - 120;
		char percent[32];

		if (!p->changed)
			continue;
		sink_printf(c->out,
		    "<line class='mark %s' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>"
		    "<text class=%s x='%.1f' y='%d' text-anchor=%s>%s</text>\n",
		    trend_direction(c->trend, p), x, x, TOP, HEIGHT - BOTTOM, trend_direction(c->trend, p),
		    late ? x - 6 : x + 6, TOP + 10, late ? "end" : "start", trend_percent(p, percent, sizeof(percent)));
	}
}

static void
axis(const struct chart *c)
{
	const struct trend_series *s = c->series;
	const char *first = s->points[0].started_at, *last = s->points[s->points_count - 1].started_at;

	sink_printf(c->out, "<text x='%d' y='%d'>%.10s</text><text x='%d' y='%d' text-anchor=end>%.10s</text>\n", LEFT,
	    HEIGHT - 8, first != NULL ? first : "?", WIDTH - RIGHT, HEIGHT - 8, last != NULL ? last : "?");
}

static void
chart(const struct chart *c)
{
	sink_printf(
	    c->out, "<div class=scroll><svg class=trend viewBox='0 0 %d %d' role=img aria-label='", WIDTH, HEIGHT);
	html_text(c->out, c->series->name);
	sink_printf(c->out, "'>\n");
	grid(c);
	marks(c);
	line(c);
	dots(c);
	axis(c);
	sink_printf(c->out, "</svg></div>\n");
}

static void
label_cell(const struct chart *c, const struct trend_point *p)
{
	const struct trend_run *run = trend_run_of(c->trend, p);

	sink_printf(c->out, "<td class=text>");
	for (size_t i = 0; run != NULL && i < run->tags_count; i++) {
		sink_printf(c->out, i > 0 ? ", " : "");
		html_text(c->out, run->tags[i]);
	}
	sink_printf(c->out, "</td><td class=text>");
	if (run != NULL && run->note != NULL && run->note[0] != '\0')
		html_text(c->out, run->note);
	sink_printf(c->out, "</td>");
}

static void
row(const struct chart *c, const struct trend_point *p)
{
	char text[64] = "n/a";
	char percent[32] = "";

	if (isfinite(p->value))
		compare_format(p->value, c->series->unit, text, sizeof(text));
	sink_printf(c->out, "<tr><td>");
	html_text(c->out, p->run);
	sink_printf(c->out, "</td><td>");
	html_text(c->out, p->started_at);
	sink_printf(c->out, "</td><td>");
	html_text(c->out, text);
	if (p->changed)
		trend_percent(p, percent, sizeof(percent));
	sink_printf(c->out, "</td><td class='%s'>%s</td>", p->changed ? trend_direction(c->trend, p) : "", percent);
	label_cell(c, p);
	sink_printf(c->out, "</tr>\n");
}

static void
card(const struct trend *t, const struct trend_series *s, struct sink *out)
{
	struct chart c = { t, s, trend_span_of(s), out };

	sink_printf(out, "<section class=card><h2>");
	html_text(out, s->name);
	sink_printf(out, "</h2>\n");
	if (c.span.known == 0) {
		sink_printf(out, "<p class=soft>n/a: no run has this figure</p></section>\n");
		return;
	}
	chart(&c);
	sink_printf(out,
	    "<details><summary>the runs</summary><div class=scroll><table><thead><tr><th>run<th>started, "
	    "UTC<th>%s<th>change"
	    "<th class=text>tags<th class=text>note</tr></thead><tbody>\n",
	    t->metric);
	for (size_t i = 0; i < s->points_count; i++)
		row(&c, &s->points[i]);
	sink_printf(out, "</tbody></table></div></details></section>\n");
}

void
trend_html(const struct trend *t, struct sink *out)
{
	struct sink about = { 0 };

	sink_printf(out,
	    "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
	    "<meta name=viewport content='width=device-width,initial-scale=1'>\n"
	    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
	    "'unsafe-inline'\">\n<title>");
	html_text(out, t->title);
	sink_printf(out, " over time - lockstep</title>\n<style>\n");
	sink_add(out, html_page_css, strlen(html_page_css));
	sink_add(out, trend_css, strlen(trend_css));
	sink_printf(out, "</style></head><body>\n<header><h1>");
	html_text(out, t->title);
	sink_printf(out, " over time</h1>\n<p class=soft>");
	trend_about(t, &about);
	html_text(out, about.text);
	sink_free(&about);
	sink_printf(out, ".</p></header>\n<main>\n");
	for (size_t i = 0; i < t->series_count; i++)
		card(t, &t->series[i], out);
	if (t->series_count == 0)
		sink_printf(out, "<p>No phase has a result.</p>\n");
	sink_printf(out, "</main>\n<footer><p class=soft>");
	html_text(out, t->rule);
	sink_printf(out, "</p></footer>\n</body></html>\n");
}
