/*
 * What the engine asks of a phase. Each row of proto/model/phases.def has a file phase_<id>.c that defines phase_ops_<id>; one
 * that is forgotten fails to link. All functions run in the worker's own thread.
 */
#ifndef LS_AGENT_ENGINE_PHASE_OPS_H
#define LS_AGENT_ENGINE_PHASE_OPS_H

#include <stdbool.h>
#include <sys/resource.h>

#include "proto/model/phase.h"

struct meta_phase;
struct worker;

struct phase_ops {
	const struct meta_phase *meta; /* for kinds over many objects, else NULL */
	/*
	 * For kinds of the group PHASE_SHIFTED: makes the files of engine.owner as worker w of engine.user will want them, and
	 * closes them. The arm of a phase that is shifted finds them made. False after worker_fail.
	 */
	bool (*lay_out)(struct worker *w);
	/*
	 * Everything slow: files in the state that the phase needs, open; buffers; the first operation ready to be issued. Sets
	 * worker.idle where there is nothing to do. False after worker_fail.
	 */
	bool (*arm)(struct worker *w);
	/*
	 * After the instant: all operations, and a flush that counts into the time. cpu: the thread's CPU time at the instant. Calls
	 * worker_fail when it ends early.
	 */
	void (*run)(struct worker *w, const struct rusage *cpu);
	/* The untimed flush of what run wrote. NULL: nothing is written. */
	void (*flush)(struct worker *w);
	/* Closes and releases what arm opened; also after an arm that failed half-way. */
	void (*disarm)(struct worker *w);
};

#define PHASE(ID, id, name, op, unit, groups, needs, help) extern const struct phase_ops phase_ops_##id;
#include "proto/model/phases.def"
#undef PHASE

/* The operations of a kind, in range. Static. */
const struct phase_ops *phase_ops_get(enum phase_kind kind);

#endif
