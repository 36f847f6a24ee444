/* What a phase's work was beside files and records, and what checking found. */
#include "coordinator/report/text_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"

void
text_verified(struct sink *out, const struct phase_result *phase)
{
	uint64_t blocks = 0, mismatches = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct verification *v = phase->nodes[n].verify;

		blocks += v != NULL ? v->blocks : 0;
		mismatches += v != NULL ? v->mismatches : 0;
	}
	if (blocks == 0)
		return;
	if (mismatches == 0)
		text_wrap(out, "   ", "verified %" PRIu64 " blocks of 4 KiB: all are what was written", blocks);
	else
		text_wrap(out, " ! ", "verified %" PRIu64 " blocks of 4 KiB: %" PRIu64 " are not what was written",
		    blocks, mismatches);
}

/* Appends behind what is there, as far as there is room. */
static void LS_PRINTF(3, 4) add(char *buf, size_t len, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf + used, len - used, fmt, args);
	va_end(args);
}

void
text_work_about(const struct phase *spec, char *buf, size_t len)
{
	char n[32];

	if ((phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_DATA) == 0)
		return;
	if (spec->zipf > 0)
		add(buf, len, ", zipf %g", spec->zipf);
	if (spec->record_sizes != NULL && spec->record_sizes[0] != '\0')
		add(buf, len, ", sizes %s", spec->record_sizes);
	if (spec->rate_ops > 0)
		add(buf, len, ", %" PRIu64 " op/s per worker", spec->rate_ops);
	if (spec->rate_bytes > 0)
		add(buf, len, ", %s/s per worker", units_format_size(spec->rate_bytes, n, sizeof(n)));
	if (spec->think > 0)
		add(buf, len, ", think time %s", units_format_duration(spec->think, n, sizeof(n)));
	if (spec->compress > 0)
		add(buf, len, ", %" PRIu64 " %% compressible", spec->compress);
	if (spec->duplicate > 0)
		add(buf, len, ", %" PRIu64 " %% duplicates", spec->duplicate);
	if (spec->verify)
		add(buf, len, ", verified");
}
