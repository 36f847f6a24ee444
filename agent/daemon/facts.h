/*
 * What this node is, from /proc, /sys and uname. Looks at no volume: no stat, statfs or realpath.
 */
#ifndef LS_AGENT_DAEMON_FACTS_H
#define LS_AGENT_DAEMON_FACTS_H

#include <stdint.h>

#include "proto/model/results.h"

/* Fills an initialised struct; what cannot be read stays null. */
void facts_collect(int64_t wakeup_lateness_ns, struct node_facts *out);

/* How late this machine wakes a sleeper, worst of 16 sleeps of 300 us with a timer slack of 1 ns; ns. Takes 5 to 10 ms. */
int64_t facts_wakeup_lateness_ns(void);

/* How long before an instant workers stop sleeping and spin: twice that lateness, 200 us to 2 ms. Pure. */
int64_t facts_spin_ns(int64_t wakeup_lateness_ns);

/* A small file of /proc or /sys into buf, without the trailing newline; NULL when it cannot be read, else buf. */
char *facts_read_file(const char *path, char *buf, size_t len);

#endif
