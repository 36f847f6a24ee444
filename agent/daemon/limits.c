#include "agent/daemon/limits.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "proto/model/phase_work.h"

#define DAY_MINUTES 1440U

struct hours {
	unsigned from, until; /* minutes of the day; until is not part of it and may lie before from: over midnight */
};

/* Two digits; 100 for anything else. */
static unsigned
two_digits(const char *at)
{
	if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
		return 100;
	return (unsigned)(at[0] - '0') * 10 + (unsigned)(at[1] - '0');
}

/* "HH:MM-HH:MM", "24:00" as an end. */
static bool
parse_hours(const char *text, struct hours *out)
{
	if (strlen(text) != 11 || text[2] != ':' || text[5] != '-' || text[8] != ':')
		return false;

	unsigned h1 = two_digits(text), m1 = two_digits(text + 3), h2 = two_digits(text + 6), m2 = two_digits(text + 9);

	if (h1 > 23 || m1 > 59 || m2 > 59 || h2 > 24 || (h2 == 24 && m2 > 0))
		return false;
	*out = (struct hours){ h1 * 60 + m1, h2 * 60 + m2 };
	return out->from != out->until;
}

enum ls_rc
limits_config_check(const struct agent_config *config, struct ls_err *err)
{
	struct hours hours;

	for (size_t i = 0; i < config->quiet_hours_count; i++)
		if (!parse_hours(config->quiet_hours[i], &hours))
			return ls_err_set(err, LS_E_INVALID,
			    "quiet_hours: %s: must be HH:MM-HH:MM, such as 08:00-18:00 or 22:00-02:00",
			    config->quiet_hours[i]);
	return LS_OK;
}

unsigned
limits_minute_now(void)
{
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm) == NULL)
		return 0;
	return (unsigned)(tm.tm_hour * 60 + tm.tm_min);
}

static const char *
quiet_at(const struct agent_config *config, unsigned minute)
{
	for (size_t i = 0; i < config->quiet_hours_count; i++) {
		struct hours h;

		if (!parse_hours(config->quiet_hours[i], &h))
			continue;
		if (h.from < h.until ? minute >= h.from && minute < h.until : minute >= h.from || minute < h.until)
			return config->quiet_hours[i];
	}
	return NULL;
}

enum ls_rc
limits_caches(const struct agent_config *config, enum phase_caches how, struct ls_err *err)
{
	bool allowed = true;
	const char *key = "";

	switch (how) {
	case CACHES_NONE:
	case CACHES_AS_JOB:
		break;
	case CACHES_FADVISE:
		allowed = config->allow_fadvise;
		key = "allow_fadvise";
		break;
	case CACHES_DROP:
		allowed = config->allow_drop_caches;
		key = "allow_drop_caches";
		break;
	case CACHES_REMOUNT:
		allowed = config->allow_remount;
		key = "allow_remount";
		break;
	}
	if (allowed)
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED, "caches %s: this node does not allow it (key \"%s\" in its agent.conf)",
	    phase_caches_names[how], key);
}

static enum ls_rc
check_caches(const struct agent_config *config, const struct msg_assign *assign, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (assign->need_fadvise)
		rc = limits_caches(config, CACHES_FADVISE, err);
	if (rc == LS_OK && assign->need_drop)
		rc = limits_caches(config, CACHES_DROP, err);
	if (rc == LS_OK && assign->need_remount)
		rc = limits_caches(config, CACHES_REMOUNT, err);
	if (rc == LS_OK && assign->job.abort_if != NULL && assign->job.abort_if->heartbeat_age > 0 &&
	    !config->watch_heartbeat)
		rc = ls_err_set(err, LS_E_REFUSED,
		    "abort_if heartbeat_age: nobody watches the heartbeat on this node (key \"watch_heartbeat\" in its "
		    "agent.conf)");
	return rc;
}

enum ls_rc
limits_check(const struct agent_config *config, const struct msg_assign *assign, unsigned minute, struct ls_err *err)
{
	const char *quiet = quiet_at(config, minute % DAY_MINUTES);
	char wants[32], limit[32];

	if (quiet != NULL)
		return ls_err_set(
		    err, LS_E_REFUSED, "no runs between %s on this node (quiet_hours of agent.conf)", quiet);
	if (config->max_bytes > 0 && assign->need_bytes > config->max_bytes)
		return ls_err_set(err, LS_E_REFUSED,
		    "the run needs %s on the volume, this node allows %s (max_bytes of agent.conf)",
		    units_format_size(assign->need_bytes, wants, sizeof(wants)),
		    units_format_size(config->max_bytes, limit, sizeof(limit)));
	if (config->max_files > 0 && assign->need_files > config->max_files)
		return ls_err_set(err, LS_E_REFUSED,
		    "the run makes %llu files, this node allows %llu (max_files of agent.conf)",
		    (unsigned long long)assign->need_files, (unsigned long long)config->max_files);
	if (config->max_workers > 0 && assign->max_workers > config->max_workers)
		return ls_err_set(err, LS_E_REFUSED,
		    "the run has %llu workers on this node, which allows %llu (max_workers of agent.conf)",
		    (unsigned long long)assign->max_workers, (unsigned long long)config->max_workers);
	return check_caches(config, assign, err);
}

enum ls_rc
limits_go_on(const struct agent_config *config, int64_t ran_ns, unsigned minute, struct ls_err *err)
{
	const char *quiet = quiet_at(config, minute % DAY_MINUTES);
	char limit[32];

	if (quiet != NULL)
		return ls_err_set(
		    err, LS_E_LIMIT, "no runs between %s on this node (quiet_hours of agent.conf)", quiet);
	if (config->max_run_time > 0 && ran_ns > config->max_run_time)
		return ls_err_set(err, LS_E_LIMIT, "the run takes longer than %s (max_run_time of agent.conf)",
		    units_format_duration(config->max_run_time, limit, sizeof(limit)));
	return LS_OK;
}

enum ls_rc
limits_hold(const struct agent_config *config, struct phase *spec, uint64_t workers, struct ls_err *err)
{
	if (config->max_bandwidth == 0 || workers == 0)
		return LS_OK;
	enum ls_rc rc = phase_hold(spec, config->max_bandwidth, 0, workers, err);
	return rc == LS_OK ? LS_OK : ls_err_wrap(err, "max_bandwidth of this node's agent.conf");
}

static char **
copy_list(char *const *list, size_t count)
{
	char **copy = ls_calloc(count + 1, sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = ls_strdup(list[i]);
	return copy;
}

void
limits_tell(const struct agent_config *config, struct node_limits *out)
{
	out->allow = copy_list(config->allow, config->allow_count);
	out->allow_count = config->allow_count;
	out->quiet_hours = copy_list(config->quiet_hours, config->quiet_hours_count);
	out->quiet_hours_count = config->quiet_hours_count;
	out->max_bytes = config->max_bytes;
	out->max_files = config->max_files;
	out->max_workers = config->max_workers;
	out->max_bandwidth = config->max_bandwidth;
	out->max_run_time = config->max_run_time;
	out->allow_fadvise = config->allow_fadvise;
	out->allow_drop_caches = config->allow_drop_caches;
	out->allow_remount = config->allow_remount;
	out->watch_heartbeat = config->watch_heartbeat;
}
