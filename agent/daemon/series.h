/*
 * What a node did, on a grid of equal intervals that starts at the phase's planned start. Work known only between two
 * instants is spread evenly between them, and the sum of all cells is exactly what was added. Pure.
 */
#ifndef LS_AGENT_DAEMON_SERIES_H
#define LS_AGENT_DAEMON_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/model/results.h"

struct series_grid {
	int64_t interval_ns; /* doubles when the cells do not reach far enough */
	size_t capacity;     /* cells; even */
	size_t used;         /* cells up to the last with work */
	uint64_t *bytes, *ops;
};

/* An empty grid. interval_ns > 0; capacity a positive even number. */
void series_init(struct series_grid *grid, int64_t interval_ns, size_t capacity);
void series_fini(struct series_grid *grid);

/* Empties it and goes back to the interval. */
void series_reset(struct series_grid *grid, int64_t interval_ns);

/*
 * Adds work done after from_ns until to_ns (from the planned start; what lies before 0 goes into the first cell). Without
 * length it goes into the cell in which to_ns lies.
 */
void series_add(struct series_grid *grid, int64_t from_ns, int64_t to_ns, uint64_t bytes, uint64_t ops);

/* Doubles the interval until it is at least interval_ns. */
void series_coarsen(struct series_grid *grid, int64_t interval_ns);

/* Into an initialised struct series, replacing its lists. */
void series_export(const struct series_grid *grid, struct series *out);

#endif
