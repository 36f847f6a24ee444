/*
 * Stands in for bonnie++ 1.03 at the barrier: the same options, the same set of semaphores (key 4711, twelve of them: decrement by one
 * without waiting, then wait for zero), the same CSV of 27 fields, the same pause before the seeks. Its work is a file of -s MiB that it
 * writes and reads, and nothing else. When it stands before each phase and when that begins is noted in "<its own path>.log", for tests to
 * compare with what lockstep says.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#define KEY         4711
#define PHASES      12
#define CHUNK       8192
#define SEEKS_PAUSE 1 /* s; the real one: 5 */

static struct {
	unsigned long mib, files;
	const char *name;
	bool characters, waits;
	int set;
	FILE *log;
} me = { .characters = true, .set = -1 };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
usage(void)
{
	(void)fprintf(stderr, "usage: this stands in for bonnie++\n\nVersion: 1.03e\n");
	return 1;
}

static void
stand_and_wait(unsigned short phase)
{
	struct sembuf op = { .sem_num = phase, .sem_op = -1, .sem_flg = IPC_NOWAIT };

	(void)fprintf(me.log, "%d stands %.6f\n", phase, now());
	(void)fflush(me.log);
	if (me.waits && semop(me.set, &op, 1) != 0) {
		perror("semop");
		exit(1);
	}
	op.sem_op = 0;
	op.sem_flg = SEM_UNDO;
	if (me.waits && semop(me.set, &op, 1) != 0) {
		perror("semop");
		exit(1);
	}
	(void)fprintf(me.log, "%d begins %.6f\n", phase, now());
	(void)fflush(me.log);
}

static void
move_file(bool writes)
{
	static char chunk[CHUNK];
	int fd = open("Bonnie.stand-in", writes ? O_RDWR | O_CREAT : O_RDONLY, 0600);

	for (unsigned long i = 0; fd >= 0 && i < me.mib * 1024 * 1024 / CHUNK; i++) {
		ssize_t n = writes ? write(fd, chunk, CHUNK) : read(fd, chunk, CHUNK);

		if (n != CHUNK) {
			perror("Bonnie.stand-in");
			exit(1);
		}
	}
	if (fd >= 0)
		close(fd);
}

static void
data_phases(void)
{
	static const char *const says[] = { "Writing with putc()", "Writing intelligently", "Rewriting",
		"Reading with getc()", "Reading intelligently" };

	for (unsigned short phase = 0; phase < 5; phase++) {
		if (!me.characters && (phase == 0 || phase == 3))
			continue;
		stand_and_wait(phase);
		(void)fprintf(stderr, "%s...", says[phase]);
		move_file(phase < 3);
		(void)fprintf(stderr, "done\n");
	}
	sleep(SEEKS_PAUSE);
	stand_and_wait(5);
	(void)fprintf(stderr, "start 'em...done...done...done...\n");
}

static int
take_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "bd:fg:m:n:p:qr:s:u:x:yD")) != -1) {
		if (c == 's')
			me.mib = strtoul(optarg, NULL, 10);
		else if (c == 'n')
			me.files = strtoul(optarg, NULL, 10);
		else if (c == 'm')
			me.name = optarg;
		else if (c == 'f')
			me.characters = false;
		else if (c == 'y')
			me.waits = true;
		else if (c == '?' || (c == 'd' && chdir(optarg) != 0))
			return usage();
	}
	return optind < argc ? usage() : 0;
}

int
main(int argc, char **argv)
{
	char log[PATH_MAX + 8];

	if (take_options(argc, argv) != 0)
		return 1;
	(void)snprintf(log, sizeof(log), "%s.log", argv[0]);
	me.log = fopen(log, "a");
	if (me.log == NULL || me.name == NULL)
		return usage();
	if (me.waits && (me.set = semget(KEY, PHASES, 0666)) < 0) {
		perror("Can't get semaphore ID");
		return 1;
	}
	if (me.mib > 0)
		data_phases();
	for (unsigned short phase = 6; me.files > 0 && phase < PHASES; phase++)
		stand_and_wait(phase);
	if (me.mib > 0)
		(void)unlink("Bonnie.stand-in");
	/* figures that no measurement would give: whoever shows them has read them here */
	printf("%s,%luM,%s,30001,31,20001,21,%s,50001,51,601.5,6,%s\n", me.name, me.mib,
	    me.characters ? "10001,11" : ",", me.characters ? "40001,41" : ",",
	    me.files > 0 ? "1,7001,71,8001,81,9001,91,7002,72,8002,82,9002,92" : ",,,,,,,,,,,,");
	(void)fclose(me.log);
	return 0;
}
