/*
 * What can be said about a run's nodes before anything is measured: do they fit together, is the volume one and large enough, are
 * clocks and memory known? Pure: facts in, findings out. The rows of the table are in check.c; each looks at one thing and costs no
 * more than linear in the nodes.
 */
#ifndef LS_COORDINATOR_DAEMON_CHECK_H
#define LS_COORDINATOR_DAEMON_CHECK_H

#include <stdbool.h>

#include "proto/codec/msg.h"

struct check_node {
	const struct run_node *info; /* facts.volume and facts.host may be NULL: it did not answer */
	const char *version, *build; /* as in its hello */
	const char *refused;         /* why it refused, or NULL */
	const char *blind_to;        /* names of the nodes whose tokens it does not see, or NULL */
	bool verified;               /* it has said which tokens it sees, and what came of its locks */
	enum lock_outcome fcntl_lock, flock;
};

/* What the coordinator is itself; texts may be NULL where they are not known. */
struct check_own {
	const char *boot_id;
	const char *store;       /* directory of the store */
	const char *store_fs_id; /* of the volume that it lies on, as in volume_facts */
	const char *store_device;
	uint64_t store_bytes; /* size of that volume */
};

struct check_input {
	const struct job *job;
	const struct check_node *nodes; /* in the run's order: the first holds the locks */
	size_t count;
	uint64_t need_bytes, need_files;
	uint64_t direct_align; /* largest power of two that divides all sizes of direct phases; 0: none is direct */
	const struct check_own *own; /* NULL: nothing is known */
	bool before_run;             /* only rows that mean something for the run; the others are for who asks */
};

/* Called for each finding; row is borrowed. */
typedef void (*check_fn)(const struct check_row *row, void *arg);

/* All findings in a fixed order. Returns the worst level. */
enum check_level check_nodes(const struct check_input *in, check_fn fn, void *arg);

/* Is a file system of that type what was expected? nfs also stands for nfs4, whose mounts call themselves so. */
bool check_fs_is(const char *expected, const char *actual);

#endif
