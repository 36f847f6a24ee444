#include "coordinator/daemon/progress.h"

#include <math.h>

double
progress_share(const struct phase *p, uint64_t planned, uint64_t done, int64_t elapsed_ns)
{
	double share = (double)NAN;

	if (p->time > 0 && elapsed_ns != LS_UNKNOWN_I64)
		share = (double)elapsed_ns / (double)(p->time + p->warmup);
	else if (planned > 0)
		share = (double)done / (double)planned;
	if (isnan(share))
		return share;
	return share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
}

int64_t
progress_left_ns(const struct phase *p, double share, int64_t elapsed_ns)
{
	if (elapsed_ns == LS_UNKNOWN_I64 || elapsed_ns < 0)
		return LS_UNKNOWN_I64;
	if (p->time > 0)
		return LS_MAX(p->time + p->warmup - elapsed_ns, 0);
	if (isnan(share) || share < 0.01)
		return LS_UNKNOWN_I64;
	return (int64_t)((double)elapsed_ns * (1.0 - share) / share);
}

uint64_t
progress_direct_align(const struct job *job)
{
	uint64_t all = 0;

	for (size_t i = 0; i < job->phases_count; i++) {
		const struct phase *p = &job->phases[i];

		if (!p->direct || phase_reads_device(p) ||
		    (phase_kind_info((enum phase_kind)p->kind)->groups & PHASE_DATA) == 0)
			continue;
		all |= p->record_size | p->file_size | p->amount;
	}
	return all & (~all + 1);
}

void
progress_footprint(const struct job *job, uint64_t node_count, uint64_t *out_bytes, uint64_t *out_files)
{
	job_footprint(job, node_count, out_bytes, out_files);
	*out_bytes = LS_MIN(*out_bytes, (uint64_t)INT64_MAX);
	*out_files = LS_MIN(*out_files, (uint64_t)INT64_MAX);
}
