/*
 * The bare loop that lockstep is measured against: the same system calls with no accounting at all. Random offsets by one
 * multiplication, data that never change, one clock reading before all and one after.
 * usage: bare pread|pwrite|uring-read|uring-write random|sequential direct|buffered RECORD FILE-SIZE OPERATIONS DEPTH FILE...
 * One thread a file; prints the nanoseconds from the first start to the last end, and the operations of all.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/defs.h"

#define THREADS_MAX 64

struct plan {
	bool write, uring, random, direct;
	uint64_t record, records, operations;
	unsigned depth;
};

struct loop {
	const struct plan *plan;
	const char *path;
	pthread_barrier_t *barrier;
	int fd;
	unsigned char *memory; /* a record for each operation in flight */
	int64_t begin_ns, end_ns;
	int error;
};

static off_t
place(const struct plan *p, uint64_t i)
{
	uint64_t x = i * 0x9e3779b97f4a7c15ULL;

	/* The fold matters: without it the places are a constant stride apart, which caches and disks do better with. */
	x = p->random ? (x ^ x >> 32) % p->records : i % p->records;
	return (off_t)(x * p->record);
}

static int
run_calls(struct loop *l)
{
	const struct plan *p = l->plan;
	ssize_t want = (ssize_t)p->record;

	for (uint64_t i = 0; i < p->operations; i++) {
		ssize_t n = p->write ? pwrite(l->fd, l->memory, p->record, place(p, i))
				     : pread(l->fd, l->memory, p->record, place(p, i));
		if (n != want)
			return n < 0 ? errno : EIO;
	}
	return 0;
}

/* The set-up that the kernel does best with: registered file and buffers, completions when the thread asks for them. */
static int
open_ring(struct loop *l, struct io_uring *ring)
{
	const struct plan *p = l->plan;
	struct iovec all = { .iov_base = l->memory, .iov_len = p->depth * p->record };
	int rc = io_uring_queue_init(p->depth, ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);

	if (rc < 0)
		rc = io_uring_queue_init(p->depth, ring, 0);
	if (rc == 0)
		rc = io_uring_register_buffers(ring, &all, 1);
	if (rc == 0)
		rc = io_uring_register_files(ring, &l->fd, 1);
	return -rc;
}

static void
issue(struct loop *l, struct io_uring *ring, uint64_t number, uint64_t slot)
{
	const struct plan *p = l->plan;
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	unsigned char *at = l->memory + slot * p->record;

	if (sqe == NULL) /* never: no more are in flight than there is room for */
		abort();
	if (p->write)
		io_uring_prep_write_fixed(sqe, 0, at, (unsigned)p->record, (uint64_t)place(p, number), 0);
	else
		io_uring_prep_read_fixed(sqe, 0, at, (unsigned)p->record, (uint64_t)place(p, number), 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	sqe->user_data = slot;
}

static int
run_ring(struct loop *l, struct io_uring *ring)
{
	const struct plan *p = l->plan;
	uint64_t issued = 0, done = 0;
	struct io_uring_cqe *cqe;
	unsigned head;

	for (; issued < p->depth && issued < p->operations; issued++)
		issue(l, ring, issued, issued);
	while (done < p->operations) {
		unsigned n = 0;
		int rc = io_uring_submit_and_wait(ring, 1);
		if (rc < 0)
			return -rc;
		io_uring_for_each_cqe(ring, head, cqe)
		{
			if (cqe->res != (int)p->record)
				return cqe->res < 0 ? -cqe->res : EIO;
			if (issued < p->operations)
				issue(l, ring, issued++, cqe->user_data);
			n++;
		}
		io_uring_cq_advance(ring, n);
		done += n;
	}
	return 0;
}

static void *
run(void *arg)
{
	struct loop *l = arg;
	struct io_uring ring;

	if (l->plan->uring)
		l->error = open_ring(l, &ring);
	pthread_barrier_wait(l->barrier);
	if (l->error != 0)
		return NULL;
	l->begin_ns = ls_mono_now().ns;
	l->error = l->plan->uring ? run_ring(l, &ring) : run_calls(l);
	l->end_ns = ls_mono_now().ns;
	if (l->plan->uring)
		io_uring_queue_exit(&ring);
	return NULL;
}

static bool
open_loop(struct loop *l)
{
	const struct plan *p = l->plan;
	size_t bytes = (size_t)(p->depth * p->record);
	void *memory = NULL;

	l->fd = open(l->path, (p->write ? O_RDWR : O_RDONLY) | (p->direct ? O_DIRECT : 0) | O_CLOEXEC);
	if (l->fd < 0 || posix_memalign(&memory, 4096, bytes) != 0) {
		fprintf(stderr, "bare: %s: %s\n", l->path, strerrorname_np(errno));
		return false;
	}
	l->memory = memory;
	memset(memory, 'x', bytes);
	return true;
}

int
main(int argc, char **argv)
{
	struct loop loops[THREADS_MAX] = { 0 };
	pthread_t threads[THREADS_MAX];
	pthread_barrier_t barrier;
	int64_t begin = INT64_MAX, end = 0;

	if (argc < 9 || argc - 8 > THREADS_MAX) {
		fprintf(stderr,
		    "usage: bare pread|pwrite|uring-read|uring-write random|sequential direct|buffered RECORD "
		    "FILE-SIZE OPERATIONS DEPTH FILE...\n");
		return 2;
	}
	struct plan plan = {
		.write = strstr(argv[1], "write") != NULL,
		.uring = strncmp(argv[1], "uring", 5) == 0,
		.random = argv[2][0] == 'r',
		.direct = argv[3][0] == 'd',
		.record = strtoull(argv[4], NULL, 10),
		.operations = strtoull(argv[6], NULL, 10),
		.depth = (unsigned)strtoul(argv[7], NULL, 10),
	};
	plan.records = plan.record > 0 ? strtoull(argv[5], NULL, 10) / plan.record : 0;
	if (plan.records == 0 || plan.depth == 0)
		return 2;

	int count = argc - 8;
	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (int i = 0; i < count; i++) {
		loops[i].plan = &plan;
		loops[i].path = argv[8 + i];
		loops[i].barrier = &barrier;
		if (!open_loop(&loops[i]))
			return 1;
	}
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, &loops[i]) != 0)
			return 1;
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		if (loops[i].error != 0) {
			fprintf(stderr, "bare: %s: %s\n", loops[i].path, strerrorname_np(loops[i].error));
			return 1;
		}
		begin = LS_MIN(begin, loops[i].begin_ns);
		end = LS_MAX(end, loops[i].end_ns);
	}
	printf("%lld %llu\n", (long long)(end - begin), (unsigned long long)plan.operations * (unsigned)count);
	return 0;
}
