#include "common/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static int64_t
read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts); /* cannot fail for these clocks with a valid pointer */
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

struct ls_mono
ls_mono_now(void)
{
	return (struct ls_mono){ read_clock(CLOCK_MONOTONIC) };
}

struct ls_wall
ls_wall_now(void)
{
	return (struct ls_wall){ read_clock(CLOCK_REALTIME) };
}

void
ls_mono_sleep_until(struct ls_mono t)
{
	struct timespec ts = { .tv_sec = t.ns / NS_PER_S, .tv_nsec = t.ns % NS_PER_S };

	if (t.ns <= 0)
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		continue;
}

const char *
ls_wall_format(struct ls_wall t, char *buf, size_t len)
{
	int64_t below = t.ns % NS_PER_S;
	time_t s = (time_t)(t.ns / NS_PER_S);
	struct tm tm;
	char date[24];

	if (below < 0) { /* before 1970: the second that began before t */
		below += NS_PER_S;
		s--;
	}
	if (gmtime_r(&s, &tm) == NULL || strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		snprintf(buf, len, "?");
		return buf;
	}
	snprintf(buf, len, "%s.%03dZ", date, (int)(below / NS_PER_MS));
	return buf;
}
