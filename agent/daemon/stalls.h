/*
 * Workers whose counters stand still. Only the mapping and /proc/<runner>/task/<tid>/{stat,wchan} are read: cmdline and maps
 * of a hung process can block.
 */
#ifndef LS_AGENT_DAEMON_STALLS_H
#define LS_AGENT_DAEMON_STALLS_H

#include <sys/types.h>

#include "agent/shm/counters.h"
#include "common/base/clock.h"
#include "proto/codec/msg.h"

#define STALL_AFTER_NS (2 * NS_PER_S)
#define STALLS_MAX     16 /* named in a sample */

struct stalls;

/* Watches so many workers, none of which has been seen yet; stalls_free is NULL-safe. */
struct stalls *stalls_new(uint32_t workers);
void stalls_free(struct stalls *stalls);

/* Before a phase: all count as having moved now. */
void stalls_reset(struct stalls *stalls, struct ls_mono now);

/*
 * Looks at the first `workers` of the mapping. Those that have not moved for STALL_AFTER_NS go into *out (heap, freed by the
 * caller as a list of struct stall), the first STALLS_MAX of them; returns how many. runner: its process, 0 when it is gone.
 */
size_t stalls_look(
    struct stalls *stalls, struct shm_map *map, uint32_t workers, pid_t runner, struct ls_mono now, struct stall **out);

#endif
