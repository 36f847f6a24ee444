/*
 * What can be said about a run's nodes before anything is measured: do they fit together, is the volume one and large enough, are
 * clocks and memory known? Pure: facts in, findings out.
 */
#ifndef LS_COORDINATOR_DAEMON_CHECK_H
#define LS_COORDINATOR_DAEMON_CHECK_H

#include <stdbool.h>

#include "proto/codec/msg.h"

struct check_node {
	const struct run_node *info; /* facts.volume may be NULL: it did not answer */
	const char *version, *build; /* as in its hello */
	const char *refused;         /* why it refused, or NULL */
	const char *blind_to;        /* names of the nodes whose tokens it does not see, or NULL */
};

struct check_input {
	const struct job *job;
	const struct check_node *nodes;
	size_t count;
	uint64_t need_bytes, need_files;
};

/* Called for each finding; row is borrowed. */
typedef void (*check_fn)(const struct check_row *row, void *arg);

/* All findings in a fixed order. Returns the worst level. */
enum check_level check_nodes(const struct check_input *in, check_fn fn, void *arg);

#endif
