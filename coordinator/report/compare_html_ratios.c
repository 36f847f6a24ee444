/* Ratios as points with whiskers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/compare_html_int.h"
#include "coordinator/report/html_int.h"

enum { WIDTH = 900, LEFT = 250, RIGHT = 70, ROW = 22, TOP = 8, BOTTOM = 26, MAX_ROWS = 40, TEXT_MAX = 34 };

struct axis {
	double low, high; /* natural logarithms */
	double y;         /* of the next line */
};

static void
widen(struct axis *axis, double ratio)
{
	if (!(ratio > 0) || !isfinite(ratio))
		return;
	axis->low = fmin(axis->low, log(ratio));
	axis->high = fmax(axis->high, log(ratio));
}

static double
place(const struct axis *axis, double ratio)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (log(ratio) - axis->low) / (axis->high - axis->low);
}

static void
grid_lines(struct sink *out, const struct axis *axis, int height)
{
	static const double ticks[] = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3,
		5, 10, 20, 50, 100 };
	double last = -100;

	for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
		double x = place(axis, ticks[i]);
		bool one = ticks[i] >= 1 && ticks[i] <= 1;

		if (log(ticks[i]) < axis->low || log(ticks[i]) > axis->high || (!one && x - last < 46))
			continue;
		if (!one && fabs(x - place(axis, 1)) < 46 && axis->low <= 0 && axis->high >= 0)
			continue; /* 100 % has its place */
		last = x;
		sink_printf(out,
		    "<line class='grid%s' x1=%.1f x2=%.1f y1=%d y2=%d></line><text text-anchor=middle x=%.1f "
		    "y=%d>%g%%</text>\n",
		    one ? " one" : "", x, x, TOP, height - BOTTOM, x, height - 8, 100 * ticks[i]);
	}
}

/* One ratio; low and high are NAN where there is no interval. */
static void
point(struct sink *out, struct axis *axis, const char *label, const struct compare_ratio *r, const char *class)
{
	double y = axis->y + ROW / 2.0;
	char cut[TEXT_MAX + 4];
	char percent[32];

	snprintf(cut, sizeof(cut), strlen(label) > TEXT_MAX ? "%.*s..." : "%.*s", TEXT_MAX, label);
	sink_printf(out, "<text text-anchor=end x=%d y=%.1f>", LEFT - 12, y + 4);
	html_text(out, cut);
	sink_printf(out, "</text>");
	if (isfinite(r->low) && r->low > 0)
		sink_printf(out, "<line class='whisker %s' x1=%.1f x2=%.1f y1=%.1f y2=%.1f></line>", class,
		    place(axis, r->low), place(axis, r->high), y, y);
	sink_printf(out, "<circle class='ratio %s' cx=%.1f cy=%.1f r=4.5></circle><text x=%d y=%.1f>%s</text>\n", class,
	    place(axis, r->ratio), y, WIDTH - RIGHT + 14, y + 4, compare_percent(r->ratio, percent, sizeof(percent)));
	axis->y += ROW;
}

const char *
compare_html_class(const struct comparison *c, const struct compare_ratio *r)
{
	if (r->verdict == COMPARE_FASTER)
		return "good";
	if (r->verdict == COMPARE_SLOWER)
		return "bad";
	if (r->verdict == COMPARE_NO_DIFFERENCE || !isfinite(r->ratio))
		return "none";
	return (r->ratio >= 1) == c->higher_is_better ? "up" : "down";
}

static struct axis
axis_of(const struct comparison *c, bool by_test)
{
	struct axis axis = { log(0.8), log(1.25), TOP };

	for (size_t m = 0; m < c->means_count && by_test; m++)
		widen(&axis, c->means[m].ratio);
	for (size_t r = 0; r < c->rows_count && !by_test; r++) {
		for (size_t i = 0; i < c->rows[r].ratios_count; i++) {
			widen(&axis, c->rows[r].ratios[i].ratio);
			widen(&axis, c->rows[r].ratios[i].low);
			widen(&axis, c->rows[r].ratios[i].high);
		}
	}
	axis.low = fmax(axis.low - 0.05, log(0.01));
	axis.high = fmin(axis.high + 0.05, log(100));
	return axis;
}

static void
points(struct sink *out, struct axis *axis, const struct comparison *c, size_t column, bool by_test)
{
	char title[400];

	for (size_t r = 0; r < c->rows_count; r++) {
		struct compare_ratio ratio = c->rows[r].ratios[column];

		snprintf(title, sizeof(title), "%s", c->rows[r].test);
		if (by_test) {
			const struct compare_mean *mean = compare_mean_of(c, c->rows[r].test, column);

			if (!compare_is_first_of_test(c, r) || mean == NULL)
				continue;
			ratio = (struct compare_ratio){ .ratio = mean->ratio,
				.low = (double)NAN,
				.high = (double)NAN,
				.verdict = COMPARE_NOT_REPEATED };
		} else {
			compare_row_title(&c->rows[r], title, sizeof(title));
		}
		if (isfinite(ratio.ratio) && ratio.ratio > 0)
			point(out, axis, title, &ratio, compare_html_class(c, &ratio));
	}
}

void
compare_html_ratios(struct sink *out, const struct comparison *c)
{
	bool by_test = c->rows_count > MAX_ROWS;
	size_t lines = 0;
	char title[300];

	for (size_t r = 0; r < c->rows_count; r++)
		lines += !by_test || compare_is_first_of_test(c, r);
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_ratio *first = &c->rows[0].ratios[i];
		struct axis axis = axis_of(c, by_test);
		int height = TOP + ROW * (int)lines + BOTTOM;

		sink_printf(out, "<h3>");
		html_text(out, compare_ratio_title(c, first->of, first->to, title, sizeof(title)));
		sink_printf(out, "%s</h3>\n<div class=scroll><svg viewBox='0 0 %d %d' role=img aria-label='ratios'>\n",
		    by_test ? ", geometric mean of each test" : "", WIDTH, height);
		grid_lines(out, &axis, height);
		points(out, &axis, c, i, by_test);
		sink_printf(out, "</svg></div>\n");
	}
	sink_printf(out,
	    "<p class=legend>%s is better. Green: shown to be faster, red: slower, grey: no difference shown%s</p>\n",
	    c->higher_is_better ? "Right" : "Left",
	    compare_has_intervals(c)
		? "; the lines are 95 % intervals."
		: ". Without repeats nothing is shown: blue and orange only tell the side of 100 %.");
}
