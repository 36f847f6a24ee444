/*
 * A process and all that descend from it, by /proc.
 */
#ifndef LS_AGENT_RUNNER_EXT_TREE_H
#define LS_AGENT_RUNNER_EXT_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXT_TREE_MAX 1024

/* Sums over the tree; counters of processes that have ended are in those of their parents (wait adds them up). */
struct ext_counts {
	uint64_t read_bytes, write_bytes;   /* rchar, wchar: of read and write calls */
	uint64_t reads, writes;             /* syscr, syscw: the calls */
	uint64_t device_read, device_write; /* read_bytes, write_bytes */
	int64_t user_ns, system_ns;         /* CPU time */
};

/* The descendants of root, without it; at most max. Returns how many. */
size_t ext_tree_list(pid_t root, pid_t *out, size_t max);

/* Adds up root and its descendants. Processes that cannot be read count nothing. */
void ext_tree_counts(pid_t root, struct ext_counts *out);

#endif
