/*
 * The other things that lockstep-runner's program can be, started by a runner or an agent and of no use by themselves.
 *
 *   lockstep-runner --guard [--held] [--semaphores ID] PROGRAM [ARGUMENT ...]
 *	Starts the program and ends all that it has started, whatever session or group that is in, when the runner says so or is gone.
 *	Descriptor EXT_CONTROL_FD is a socket to the runner: a struct ext_status comes from the guard when the program has ended; any
 *	byte from the runner, and end of file, end everything. The set of semaphores is removed last.
 *   lockstep-runner --gate [NAME]
 *	Waits at the barrier in a program's name: says NAME on EXT_ARRIVED_FD, then reads a byte from EXT_RELEASE_FD.
 *   lockstep-runner --gate-end NAME
 *	Says that the program's phase NAME is over, without waiting.
 *   lockstep-runner --probe PROGRAM OPTION
 *	Becomes the program, in "/", unable to write files: for asking its version.
 */
#ifndef LS_AGENT_RUNNER_EXT_HELPER_H
#define LS_AGENT_RUNNER_EXT_HELPER_H

#define EXT_CONTROL_FD 3
#define EXT_ARRIVED_FD 5
#define EXT_RELEASE_FD 6

/* Status of a program that could not be started: its errno. */
#define EXT_NOT_STARTED 0x10000

struct ext_status {
	int status; /* as of waitpid, or EXT_NOT_STARTED + errno */
};

/* argv without the option. Both return an exit status. */
int ext_guard_main(int argc, char **argv);
int ext_gate_main(const char *name, int waits);
int ext_probe_main(char *program, char *option);

#endif
