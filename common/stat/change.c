#include "common/stat/change.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/defs.h"
#include "common/stat/summary.h"

#define NORMAL_MAD 1.4826 /* standard deviation of normal values over the median of their distances from the median */

/* A place between two values, judged by the windows on its sides. */
struct place {
	double before, after;
	double distance; /* mean distance of the values from their side's median */
	bool is_change;
};

static void
add_distances(const double *values, size_t n, double middle, double *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = fabs(values[i] - middle);
}

static struct place
judge(const double *values, size_t from, size_t at, size_t n)
{
	double distances[2 * CHANGE_WINDOW];
	size_t left = LS_MIN(at - from, (size_t)CHANGE_WINDOW), right = LS_MIN(n - at, (size_t)CHANGE_WINDOW);
	struct place p = {
		.before = summary_of(values + at - left, left).median,
		.after = summary_of(values + at, right).median,
	};
	struct summary s;
	double step = fabs(p.after - p.before);

	add_distances(values + at - left, left, p.before, distances);
	add_distances(values + at, right, p.after, distances + left);
	s = summary_of(distances, left + right);
	p.distance = s.mean;
	p.is_change = step > CHANGE_LEAST * fabs(p.before) && step > CHANGE_SCATTER * NORMAL_MAD * s.median;
	return p;
}

size_t
change_find(const double *values, size_t n, struct change *out, size_t max)
{
	size_t count = 0, from = 0, at = CHANGE_SIDE;

	while (count < max && at + CHANGE_SIDE <= n) {
		struct place best = judge(values, from, at, n);
		size_t best_at = at;

		if (!best.is_change) {
			at++;
			continue;
		}
		for (size_t next = at + 1; next + CHANGE_SIDE <= n && next < at + CHANGE_WINDOW; next++) {
			struct place p = judge(values, from, next, n);

			if (!p.is_change)
				break;
			if (p.distance < best.distance) {
				best = p;
				best_at = next;
			}
		}
		out[count++] = (struct change){ best_at, best.before, best.after };
		from = best_at;
		at = best_at + CHANGE_SIDE;
	}
	return count;
}
