/* What a phase's work was beside rates: what checking found. */
#include "coordinator/report/text_int.h"

#include <inttypes.h>

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
		text_wrap(out, " ! ", "verified %" PRIu64 " blocks of 4 KiB: %" PRIu64 " are not what was written", blocks,
		    mismatches);
}
