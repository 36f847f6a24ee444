/*
 * Numbers 1..n drawn so that k comes with a probability in proportion to k^-theta, for any theta > 0, without a table: by rejection
 * inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996). The
 * distribution is exact but for the rounding of doubles; a draw needs 1.1 tries at the mean.
 */
#ifndef LS_AGENT_ENGINE_ZIPF_H
#define LS_AGENT_ENGINE_ZIPF_H

#include <stdint.h>

struct zipf {
	uint64_t count;
	double theta;
	double integral_first, integral_last; /* of x^-theta, up to where the first and the last number end */
	double always;                        /* so near above its number a point is always accepted */
};

/* count >= 1, theta > 0. */
void zipf_init(struct zipf *z, uint64_t count, double theta);

/* One number, 1..count; random: state of the draw, changed by it. */
uint64_t zipf_draw(const struct zipf *z, uint64_t *random);

#endif
