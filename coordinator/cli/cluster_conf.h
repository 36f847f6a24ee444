/*
 * Node names out of the configuration of cluster software: OCFS2's /etc/ocfs2/cluster.conf (ocfs2.cluster.conf(5)) and corosync's
 * corosync.conf(5). Which of the two it is shows in the text: corosync's sections have braces.
 */
#ifndef LS_COORDINATOR_CLI_CLUSTER_CONF_H
#define LS_COORDINATOR_CLI_CLUSTER_CONF_H

#include <stddef.h>

#include "common/base/err.h"

#define CLUSTER_CONF_NODES_MAX 4096

/*
 * The names in the file's order, each once: "name" of each node; corosync's nodes without one go by their ring0_addr. what: the
 * file's name for errors. List and names are the caller's (cluster_conf_free). Errors: LS_E_INVALID with the line, or when there is
 * no node; out untouched then. Pure.
 */
enum ls_rc cluster_conf_parse(
    const char *text, const char *what, char ***names, size_t *count, struct ls_err *err) LS_MUST_CHECK;

/* Reads the file and parses it. Errors: as above, and LS_E_SYS, LS_E_LIMIT. */
enum ls_rc cluster_conf_read(const char *path, char ***names, size_t *count, struct ls_err *err) LS_MUST_CHECK;

/* Frees such a list; NULL-safe. */
void cluster_conf_free(char **names, size_t count);

#endif
