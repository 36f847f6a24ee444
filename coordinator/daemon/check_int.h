/*
 * Rows of the check's table and what they share: check.c has the table, check_compare.c what must be equal on all nodes,
 * check_volume.c the volume, check_locks.c mount options and locks, check_host.c the machines.
 */
#ifndef LS_COORDINATOR_DAEMON_CHECK_INT_H
#define LS_COORDINATOR_DAEMON_CHECK_INT_H

#include "coordinator/daemon/check.h"

#define CHECK_TEXT 1024

struct check_report {
	const struct check_input *in;
	const char *check; /* name of the present row */
	check_fn fn;
	void *arg;
	enum check_level worst;
};

/* A finding of the present row. node NULL: about all. */
void check_say(struct check_report *r, enum check_level level, const char *node, const char *fmt, ...) LS_PRINTF(4, 5);

/* What a node has of something, as text for people into buf; false: nothing is known. */
typedef bool (*check_describe_fn)(const struct check_node *n, char *buf, size_t len);

/*
 * Must be equal on all nodes that know it: one finding when it is, else one for each node that differs from the most, of that level.
 * Nothing is said when no node knows it.
 */
void check_compare(struct check_report *r, check_describe_fn describe, enum check_level level);

static inline const char *
check_name(const struct check_node *n)
{
	return n->info->name;
}

static inline const struct volume_facts *
check_volume(const struct check_node *n)
{
	return n->info->facts.volume;
}

static inline const struct host_facts *
check_host(const struct check_node *n)
{
	return n->info->facts.host;
}

/* The rows (check_fn_row of check.c). */
void check_row_build(struct check_report *r);

/* What should be equal on all nodes, as check_describe_fn: check.c has them in its rows. */
bool check_describe_kernel(const struct check_node *n, char *buf, size_t len);
bool check_describe_type(const struct check_node *n, char *buf, size_t len);
bool check_describe_id(const struct check_node *n, char *buf, size_t len);
bool check_describe_options(const struct check_node *n, char *buf, size_t len);
bool check_describe_size(const struct check_node *n, char *buf, size_t len);
bool check_describe_governor(const struct check_node *n, char *buf, size_t len);
bool check_describe_device(const struct check_node *n, char *buf, size_t len);
bool check_describe_cluster(const struct check_node *n, char *buf, size_t len);

void check_row_path(struct check_report *r);
void check_row_one_volume(struct check_report *r);
void check_row_expected(struct check_report *r);
void check_row_space(struct check_report *r);
void check_row_inodes(struct check_report *r);
void check_row_fill(struct check_report *r);
void check_row_store(struct check_report *r);
void check_row_io_uring(struct check_report *r);
void check_row_libaio(struct check_report *r);
void check_row_direct(struct check_report *r);

void check_row_option_notes(struct check_report *r);
void check_row_fcntl(struct check_report *r);
void check_row_flock(struct check_report *r);

void check_row_coordinator(struct check_report *r);
void check_row_clock(struct check_report *r);
void check_row_memory(struct check_report *r);
void check_row_load(struct check_report *r);
void check_row_swap(struct check_report *r);
void check_row_cluster_state(struct check_report *r);
void check_row_session(struct check_report *r);
void check_row_tools(struct check_report *r);

#endif
