#include "agent/helper/heartbeat.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/sysfs.h"

#define DEBUG_DIR "/kernel/debug"
#define O2HB_DIR  DEBUG_DIR "/o2hb"
#define O2CB_DIR  "/kernel/config/cluster"
#define BEAT_MS   2000 /* O2HB_REGION_TIMEOUT_MS */

/* From which age on the machine fences itself. A kernel is in one o2cb cluster at a time. */
static bool
read_dead_ns(const char *sys, int64_t *out)
{
	size_t count;
	uint64_t threshold = 0;
	bool known = false;
	char **names = sysfs_names(&count, sys, O2CB_DIR);

	for (size_t i = 0; i < count && !known; i++)
		known = sysfs_number(&threshold, sys, O2CB_DIR "/%s/heartbeat/dead_threshold", names[i]) &&
		    threshold > 1 && threshold < 1000000;
	sysfs_names_free(names, count);
	if (known)
		*out = (int64_t)(threshold - 1) * BEAT_MS * NS_PER_MS;
	return known;
}

/* A name that fits on the wire: o2cb's are UUIDs. */
static bool
is_region(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= HELPER_REGION_MAX && strspn(name, "0123456789ABCDEFabcdef-_.") == n;
}

static void
add_region(const char *sys, const char *name, int64_t dead_ns, struct helper_beats *out)
{
	uint64_t age_ms;

	/* The folder has files beside the regions. */
	if (!is_region(name) || out->count == HELPER_BEATS_MAX ||
	    !sysfs_number(&age_ms, sys, O2HB_DIR "/%s/elapsed_time_in_ms", name))
		return;

	struct helper_beat *b = &out->list[out->count++];

	(void)snprintf(b->region, sizeof(b->region), "%s", name);
	b->age_ns = (int64_t)LS_MIN(age_ms, 100000000000ULL) * NS_PER_MS;
	b->dead_ns = dead_ns;
}

static enum ls_rc
why_none(const char *sys, struct ls_err *err)
{
	size_t count;
	char **names = sysfs_names(&count, sys, DEBUG_DIR);

	sysfs_names_free(names, count);
	return ls_err_set(err, LS_E_NOTFOUND,
	    "no region of o2cb's heartbeat is active on this machine: %s" O2HB_DIR " has none%s", sys,
	    count == 0 ? " (debugfs is not mounted)" : "");
}

enum ls_rc
heartbeat_read(const char *sys, struct helper_beats *out, struct ls_err *err)
{
	size_t count;
	int64_t dead_ns = 0;
	char **names = sysfs_names(&count, sys, O2HB_DIR);

	*out = (struct helper_beats){ 0 };
	if (names != NULL && read_dead_ns(sys, &dead_ns))
		for (size_t i = 0; i < count; i++)
			add_region(sys, names[i], dead_ns, out);
	sysfs_names_free(names, count);
	if (out->count == 0)
		return why_none(sys, err);
	return LS_OK;
}
