/*
 * What a node is like at the moment that matters for a measurement and can be read by everybody in /sys and /proc: load, swap, CPU
 * governor, the device behind the volume, cluster software. Nothing here touches the volume.
 */
#ifndef LS_AGENT_RUNNER_HOST_H
#define LS_AGENT_RUNNER_HOST_H

#include "proto/model/results.h"

/*
 * Fills what can be known; out is initialised, the caller's, and must be released with field_struct_fini.
 * root: "" or, in a test, a directory with sys and proc below it. device: "major:minor" of the volume's block device, or NULL.
 */
void host_read(const char *root, const char *device, struct host_facts *out);

/* The block device (block.c) and the cluster software (cluster.c) alone; out as above. false: there is none. */
bool block_read(const char *root, const char *device, struct block_facts *out);
void cluster_state_read(const char *root, struct host_facts *out);

/* What is wrong with the GFS2 volume on that device, for people; heap, or NULL: nothing, or none such. */
char *cluster_gfs2_trouble(const char *root, const char *device);

#endif
