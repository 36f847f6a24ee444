/*
 * The floor of the machine for a common start: bare processes that sleep to one instant, spin the rest with sched_yield, do
 * one pread, yield once and go on reading. No coordination, no accounting: what is left is the scheduler.
 *
 * usage: barrier_floor FILE PROCESSES ROUNDS SPIN_US
 * Prints for each round the spread of the first operations in ns (last minus first), one number a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#define PROCESSES_MAX 64
#define ROUND_NS      (30 * NS_PER_MS) /* one instant to the next */
#define WORK_NS       (5 * NS_PER_MS)  /* how long each goes on reading */

struct board {
	_Atomic int64_t first[PROCESSES_MAX];
	_Atomic int ready, done;
	_Atomic int64_t instant;
};

static void
work(struct board *board, int me, int fd, int64_t instant, int64_t spin_ns)
{
	char buf[4096];

	ls_mono_sleep_until((struct ls_mono){ instant - spin_ns });
	while (ls_mono_now().ns < instant)
		sched_yield();

	int64_t first = ls_mono_now().ns;
	for (int64_t n = 0; ls_mono_now().ns < instant + WORK_NS; n++) {
		if (pread(fd, buf, sizeof(buf), (n % 64) * 4096) < 0)
			_exit(1);
		if (n == 0)
			sched_yield();
	}
	atomic_store(&board->first[me], first);
}

static void
child(struct board *board, int me, int fd, long rounds, int64_t spin_ns)
{
	prctl(PR_SET_TIMERSLACK, 1);
	for (long r = 0; r < rounds; r++) {
		atomic_fetch_add(&board->ready, 1);
		while (atomic_load(&board->instant) == 0 || atomic_load(&board->done) != 0)
			usleep(500);
		work(board, me, fd, atomic_load(&board->instant), spin_ns);
		atomic_fetch_add(&board->done, 1);
		while (atomic_load(&board->instant) != 0)
			usleep(500);
	}
	_exit(0);
}

static int64_t
spread(struct board *board, int n)
{
	int64_t lo = INT64_MAX, hi = 0;

	for (int i = 0; i < n; i++) {
		int64_t t = atomic_load(&board->first[i]);

		lo = LS_MIN(lo, t);
		hi = LS_MAX(hi, t);
	}
	return hi - lo;
}

int
main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: barrier_floor FILE PROCESSES ROUNDS SPIN_US\n");
		return 2;
	}

	int n = atoi(argv[2]);
	long rounds = atol(argv[3]);
	int64_t spin_ns = atol(argv[4]) * NS_PER_US;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || board == MAP_FAILED || n < 1 || n > PROCESSES_MAX) {
		perror("barrier_floor");
		return 1;
	}
	for (int i = 0; i < n; i++)
		if (fork() == 0)
			child(board, i, fd, rounds, spin_ns);
	for (long r = 0; r < rounds; r++) {
		while (atomic_load(&board->ready) != n)
			usleep(500);
		atomic_store(&board->ready, 0);
		atomic_store(&board->instant, ls_mono_now().ns + ROUND_NS / 2);
		while (atomic_load(&board->done) != n)
			usleep(500);
		printf("%" PRId64 "\n", spread(board, n));
		atomic_store(&board->instant, 0);
		usleep(2000);
		atomic_store(&board->done, 0);
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}
