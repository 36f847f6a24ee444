#include "coordinator/report/steady.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/base/units.h"

static const char *
rate_text(const struct steady *s, char *buf, size_t len)
{
	char number[32];

	if (!s->operations)
		return units_format_rate(s->mean, buf, len);
	snprintf(buf, len, "%s op/s", units_format_count(s->mean, number, sizeof(number)));
	return buf;
}

static void
window(struct sink *out, const struct steady *s, const struct phase *spec)
{
	char interval[32], mean[48];

	sink_printf(out, "%d intervals of %s, mean %s", STEADY_INTERVALS,
	    units_format_duration(s->window_ns / STEADY_INTERVALS, interval, sizeof(interval)),
	    rate_text(s, mean, sizeof(mean)));
	if (!isfinite(s->range_percent) || !isfinite(s->slope_percent))
		return;
	sink_printf(out, ", range %.1f %% (at most %" PRIu64 "), slope %+.1f %% (at most %" PRIu64 " either way)",
	    s->range_percent, spec->steady_range, s->slope_percent, spec->steady_slope);
}

void
steady_sentence(struct sink *out, const struct phase_result *phase)
{
	const struct steady *s = phase->steady;
	char at[32], end[32];

	if (s == NULL)
		return;
	if (s->reached)
		sink_printf(out, "steady after %s, so that all nodes ended at %s: ",
		    units_format_duration(s->window_end_ns, at, sizeof(at)),
		    units_format_duration(s->end_ns, end, sizeof(end)));
	else
		sink_printf(out, "not steady: %s; ", s->why_not != NULL ? s->why_not : "no reason given");
	if (s->window_end_ns == LS_UNKNOWN_I64) {
		sink_printf(out, "no window was judged");
		return;
	}
	if (!s->reached)
		sink_printf(out, "the last of %" PRIu64 " windows, up to %s: ", s->windows,
		    units_format_duration(s->window_end_ns, at, sizeof(at)));
	window(out, s, &phase->spec);
}
