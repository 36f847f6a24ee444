/*
 * Runs in which an external program was held at our barriers: what it printed becomes the figures of its phases, by the same readers that
 * take in old files. Pure functions of the results model.
 *
 * Two things are told apart. Rows of nodes and sums of rates are the program's own, digit for digit. Last done, all active, first done and
 * the series are measured from outside: from the release to the next gate or the end, by the counters of its processes.
 */
#ifndef LS_COORDINATOR_IMPORT_TOOL_FIGURES_H
#define LS_COORDINATOR_IMPORT_TOOL_FIGURES_H

#include "common/base/err.h"
#include "proto/model/results.h"

/*
 * Before the aggregate of a phase: its kind becomes the nearest of ours, and where the output is about this phase alone (fio) its
 * histograms go into the nodes, to be merged. A node whose output cannot be read is failed. Harmless for other phases.
 */
void tool_figures_before(struct phase_result *phase);

/* After the aggregate of all phases of a run: the program's own figures, and what the aggregate is worth. */
void tool_figures_after(struct phase_result *phases, size_t count);

#endif
