/* Prints as JSON where what stands in the shared counters (agent/shm/counters.h), for tests in other languages. */
#include <stddef.h>
#include <stdio.h>

#include "agent/shm/counters.h"

#define MEMBER(type, name) printf(",\n\"" #name "\": %zu", offsetof(struct type, name))

int
main(void)
{
	printf("{\"magic\": %llu, \"version\": %d", SHM_MAGIC, SHM_VERSION);
	printf(",\n\"control_size\": %zu, \"worker_size\": %zu", sizeof(struct shm_control), sizeof(struct shm_worker));
	MEMBER(shm_control, armed_epoch);
	MEMBER(shm_control, commit_epoch);
	MEMBER(shm_control, stop_epoch);
	MEMBER(shm_control, decision);
	MEMBER(shm_worker, bytes);
	MEMBER(shm_worker, ops);
	MEMBER(shm_worker, state);
	MEMBER(shm_worker, first_op_ns);
	printf("}\n");
	return 0;
}
