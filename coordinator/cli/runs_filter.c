#include "coordinator/cli/runs_filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"

/* Is text a beginning of a time as "2026-11-30T15:04:05"? */
static bool
is_date(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	size_t len = strlen(text);

	if (len < 4 || len > sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !digit : text[i] != form[i])
			return false;
	}
	return true;
}

static enum ls_rc
parse_time(const char *option, const char *text, struct ls_wall now, char *out, size_t len, struct ls_err *err)
{
	int64_t ago;

	out[0] = '\0';
	if (text == NULL)
		return LS_OK;
	if (is_date(text)) {
		snprintf(out, len, "%s", text);
		return LS_OK;
	}
	if (units_parse_duration(text, &ago, NULL) != LS_OK || ago > now.ns)
		return ls_err_set(err, LS_E_INVALID,
		    "--%s: \"%s\" is neither a date such as 2026-11-30 nor a time ago such as 7d", option, text);
	ls_wall_format((struct ls_wall){ now.ns - ago }, out, len);
	return LS_OK;
}

enum ls_rc
runs_filter_parse(const struct runs_wanted *wanted, struct ls_wall now, struct runs_filter *out, struct ls_err *err)
{
	struct runs_filter f = { .name = wanted->name, .state = -1, .tag = wanted->tag, .volume = wanted->volume };

	if (wanted->state != NULL) {
		f.state = field_enum_value(run_state_names, wanted->state);
		if (f.state < 0)
			return ls_err_set(err, LS_E_INVALID, "--state: \"%s\" is no state of a run", wanted->state);
	}
	enum ls_rc rc = parse_time("since", wanted->since, now, f.since, sizeof(f.since), err);
	if (rc == LS_OK)
		rc = parse_time("until", wanted->until, now, f.until, sizeof(f.until), err);
	if (rc == LS_OK)
		*out = f;
	return rc;
}

static bool
has_tag(const struct run_row *run, const char *pattern)
{
	for (size_t i = 0; i < run->tags_count; i++)
		if (fnmatch(pattern, run->tags[i], 0) == 0)
			return true;
	return false;
}

/* The path itself or a directory above it. */
static bool
lies_on(const char *path, const char *volume)
{
	return path != NULL && path[0] != '\0' && fnmatch(volume, path, FNM_LEADING_DIR) == 0;
}

bool
runs_filter_keeps(const struct runs_filter *f, const struct run_row *run)
{
	const char *at = run->started_at == NULL ? "" : run->started_at;

	if (f->name != NULL && fnmatch(f->name, run->name, 0) != 0)
		return false;
	if (f->tag != NULL && !has_tag(run, f->tag))
		return false;
	if (f->volume != NULL && !lies_on(run->path, f->volume))
		return false;
	if (f->state >= 0 && run->state != f->state)
		return false;
	if (f->since[0] != '\0' && strncmp(at, f->since, strlen(f->since)) < 0)
		return false;
	return f->until[0] == '\0' || (at[0] != '\0' && strncmp(at, f->until, strlen(f->until)) <= 0);
}
