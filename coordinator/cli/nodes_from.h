/*
 * "lockstep nodes --from FILE": the nodes that cluster software knows against those that lockstepd knows.
 */
#ifndef LS_COORDINATOR_CLI_NODES_FROM_H
#define LS_COORDINATOR_CLI_NODES_FROM_H

#include "coordinator/cli/cmd.h"

/* Prints a line for each node of either; CLI_FAILED when one of the file is not connected. */
enum cli_exit nodes_from(const struct cli *cli, const char *file, bool json);

#endif
