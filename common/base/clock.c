#include "common/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

bool
ls_wall_parse(const char *text, struct ls_wall *out)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	struct tm tm = { 0 };
	int ms;

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	/* NOLINTNEXTLINE(cert-err34-c): digits, as was seen */
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		&tm.tm_sec, &ms) != 7)
		return false;
	if (tm.tm_year < 1970 || tm.tm_year > 2261 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	out->ns = (int64_t)timegm(&tm) * NS_PER_S + ms * NS_PER_MS;
	return true;
}
