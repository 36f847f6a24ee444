/*
 * lockstep-agent enroll: a node gets its certificate with a one-time token, and its configuration is written.
 */
#ifndef LS_AGENT_DAEMON_ENROLL_H
#define LS_AGENT_DAEMON_ENROLL_H

/* The command, argv[0] being "enroll": what it does is said on standard output, failures on standard error. Returns the exit status. */
int enroll_main(int argc, char **argv);

#endif
