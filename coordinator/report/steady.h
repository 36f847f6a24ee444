/*
 * What reports say of a phase that was to end once it is steady.
 */
#ifndef LS_COORDINATOR_REPORT_STEADY_H
#define LS_COORDINATOR_REPORT_STEADY_H

#include "common/base/sink.h"
#include "proto/model/results.h"

/*
 * A sentence without its full stop: steady or why not, the window, and what was allowed; appended as plain text, the caller escapes it.
 * Nothing where the phase has no such result.
 */
void steady_sentence(struct sink *out, const struct phase_result *phase);

#endif
