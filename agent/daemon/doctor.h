/*
 * lockstep-agent doctor: is this node fit to take part in runs? Each check is one line, with what to do when it is not.
 */
#ifndef LS_AGENT_DAEMON_DOCTOR_H
#define LS_AGENT_DAEMON_DOCTOR_H

/*
 * The command, argv[0] being "doctor". Touches no volume unless --volume names one, and then in a process of its own that is given up after 10 s.
 * Returns the exit status: 0 when nothing failed (warnings may be there), 1 when something did, 2 for a wrong command line.
 */
int doctor_main(int argc, char **argv);

#endif
