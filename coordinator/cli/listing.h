/*
 * Commands that ask lockstepd for rows and show them, as a table or as a JSON array.
 */
#ifndef LS_COORDINATOR_CLI_LISTING_H
#define LS_COORDINATOR_CLI_LISTING_H

#include "coordinator/cli/cmd.h"
#include "coordinator/cli/output.h"
#include "proto/codec/msg.h"

struct listing {
	enum msg_type ask;                                 /* the question */
	enum msg_type answer;                              /* a row of the answer ... */
	size_t row_offset;                                 /* ... where the row stands in that message's body */
	const struct struct_desc *desc;                    /* of the row */
	const char *const *heads;                          /* of the table */
	size_t columns;                                    /* how many heads */
	void (*add)(struct table *table, const void *row); /* adds that many cells */
	const char *none;                                  /* what to say instead of a table without rows */
};

/* Which rows to show. */
struct listing_filter {
	bool (*keeps)(const void *with, const void *row); /* NULL: all */
	const void *with;
	size_t most; /* show so many; 0: no limit */
};

/* The same with a filter on what comes; NULL: none. */
enum cli_exit listing_run_filtered(const struct cli *cli, const struct listing *listing, const void *ask, bool json,
    const struct listing_filter *filter);

/* Asks with that body (borrowed), prints what comes and returns the command's status. */
enum cli_exit listing_run(const struct cli *cli, const struct listing *listing, const void *ask, bool json);

#endif
