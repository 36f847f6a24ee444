#include "coordinator/report/recovery.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"

#define AT(member) offsetof(struct recovery_node, member)

const struct recovery_column recovery_columns[RECOVERY_COLUMNS] = {
	{ "written", "recovery_written", "1", AT(written) },
	{ "fsynced", "recovery_fsynced", "1", AT(fsynced) },
	{ "stall", "recovery_stall", "ns", AT(stall_ns) },
	{ "began at", "recovery_stall_start", "ns", AT(stall_start_ns) },
	{ "lost at", "recovery_lost_at", "ns", AT(lost_at_ns) },
	{ "noticed", "recovery_noticed_after", "ns", AT(noticed_after_ns) },
	{ "returned", "recovery_returned", "bool", AT(returned) },
	{ "back after", "recovery_back_after", "ns", AT(back_after_ns) },
};

bool
recovery_value(const struct recovery_node *node, size_t column, int64_t *out)
{
	const struct recovery_column *c = &recovery_columns[column];
	const char *at = (const char *)node + c->offset;
	uint64_t count;
	bool yes;

	if (strcmp(c->unit, "bool") == 0) {
		memcpy(&yes, at, sizeof(yes));
		*out = yes;
		return node->lost;
	}
	if (strcmp(c->unit, "ns") == 0) {
		memcpy(out, at, sizeof(*out));
		return *out != LS_UNKNOWN_I64;
	}
	memcpy(&count, at, sizeof(count));
	*out = (int64_t)count;
	return count != LS_UNKNOWN_U64;
}

const char *
recovery_cell(const struct recovery_node *node, size_t column, char *buf, size_t len)
{
	const char *unit = recovery_columns[column].unit;
	int64_t value;

	if (!recovery_value(node, column, &value))
		snprintf(buf, len, "-");
	else if (strcmp(unit, "bool") == 0)
		snprintf(buf, len, "%s", value != 0 ? "yes" : "no");
	else if (strcmp(unit, "ns") == 0)
		units_format_duration(value, buf, len);
	else
		snprintf(buf, len, "%" PRId64, value);
	return buf;
}

void
recovery_sentence(struct sink *out, const struct phase_result *phase)
{
	const struct recovery *r = phase->recovery;
	char text[48];

	if (r == NULL)
		return;
	sink_printf(out, "%" PRIu64 " node%s lost, %" PRIu64 " might be", r->lost, r->lost == 1 ? " was" : "s were",
	    r->expected);
	if (r->loss_ns != LS_UNKNOWN_I64)
		sink_printf(
		    out, "; last heard of %s after the start", units_format_duration(r->loss_ns, text, sizeof(text)));
	if (isfinite(r->rate_before))
		sink_printf(
		    out, "; the others wrote %s until then", units_format_rate(r->rate_before, text, sizeof(text)));
	if (r->full_rate_after_ns != LS_UNKNOWN_I64)
		sink_printf(out,
		    ", and had 90 %% of that again %s after the loss, behind all stalls of a second and more",
		    units_format_duration(r->full_rate_after_ns, text, sizeof(text)));
	else if (r->lost > 0)
		sink_printf(
		    out, "; time until full rate: n/a, %s", r->why_not != NULL ? r->why_not : "no reason given");
}
