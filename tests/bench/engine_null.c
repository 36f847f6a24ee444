/*
 * What the engine itself costs per operation: the null back end does everything but the I/O. Prints nanoseconds per operation
 * for some kinds, the median of several runs, and what a reading of the clock costs.
 * usage: engine_null [millions of operations]
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine.h"

#define RUNS 9

struct bench_case {
	const char *name;
	enum phase_kind kind;
	uint64_t record;
};

static const struct bench_case cases[] = {
	{ "read", PHASE_READ, 4096 },
	{ "random-read", PHASE_RANDOM_READ, 4096 },
	{ "write", PHASE_WRITE, 4096 },
	{ "random-write", PHASE_RANDOM_WRITE, 4096 },
};

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
clock_ns(void)
{
	int64_t begin = ls_mono_now().ns;

	for (int i = 0; i < 1000000; i++)
		(void)ls_mono_now();
	return (double)(ls_mono_now().ns - begin) / 1e6;
}

/* One run; ns per operation, below 0 when it failed. */
static double
run_once(struct engine *e, struct shm_map *map, const struct phase *spec, struct ls_err *err)
{
	struct engine_arm arm = { .spec = spec, .node_workers = (const uint64_t[]){ 1 } };
	struct pollfd p = { .fd = engine_event_fd(e), .events = POLLIN };
	enum shm_decision decision = SHM_UNDECIDED;
	struct io_error error;
	uint64_t epoch;

	field_struct_init(&io_error_desc, &error);
	if (engine_arm(e, &arm, &epoch, &error, err) != LS_OK)
		return -1;
	atomic_store(&shm_map_control(map)->commit_epoch, epoch);
	engine_go(e, (struct ls_mono){ ls_mono_now().ns + NS_PER_MS }, NS_PER_S);
	while (poll(&p, 1, -1) != 1 || !engine_left(e, &decision))
		continue;
	engine_flush(e);

	struct shm_worker *w = shm_map_worker(map, 0);
	return (double)(atomic_load(&w->end_ns) - atomic_load(&w->start_ns)) / (double)atomic_load(&w->ops);
}

static bool
run_case(struct engine *e, struct shm_map *map, const struct bench_case *c, uint64_t ops, struct ls_err *err)
{
	double ns[RUNS];
	struct phase spec;

	field_struct_init(&phase_desc, &spec);
	spec.kind = (int)c->kind;
	spec.engine = ENGINE_NULL;
	spec.record_size = c->record;
	spec.file_size = 1ULL << 30;
	spec.amount = ops * c->record;
	for (int i = 0; i < RUNS; i++) {
		ns[i] = run_once(e, map, &spec, err);
		if (ns[i] < 0)
			return false;
	}
	qsort(ns, RUNS, sizeof(ns[0]), compare);
	printf("%-14s %6.1f ns per operation (median of %d; %.1f to %.1f)\n", c->name, ns[RUNS / 2], RUNS, ns[0],
	    ns[RUNS - 1]);
	return true;
}

int
main(int argc, char **argv)
{
	uint64_t ops = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2) * 1000000;
	char dir[] = "/tmp/lockstep-bench-XXXXXX";
	struct shm_map *map = NULL;
	struct engine *e = NULL;
	struct ls_err err;
	int status = 1, fd = -1;

	if (mkdtemp(dir) == NULL || (fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;

	struct engine_config config = { .run_dir_fd = fd, .run_dir = dir, .node_count = 1, .spin_ns = 100000 };
	if (shm_map_new(1, &map, &err) != LS_OK)
		goto out;
	config.map = map;
	if (engine_new(&config, &e, &err) != LS_OK)
		goto out;
	printf("%-14s %6.1f ns\n", "clock reading", clock_ns());
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (!run_case(e, map, &cases[i], ops, &err))
			goto out;
	status = 0;
out:
	if (status != 0)
		fprintf(stderr, "engine_null: %s\n", err.text);
	engine_free(e);
	shm_map_free(map);
	close(fd);
	rmdir(dir);
	return status;
}
