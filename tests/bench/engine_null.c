/*
 * What the engine itself costs per operation: the null back end does everything but the I/O. Prints nanoseconds per operation
 * for some kinds, the median of several runs, and what a reading of the clock costs.
 * usage: engine_null [MILLIONS-OF-OPERATIONS [KIND [null|sync]]]
 * With a kind it does one run of that alone: what instructions.py counts.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine.h"

#define RUNS 9

struct bench {
	struct engine *engine;
	struct shm_map *map;
	uint64_t ops;
	enum phase_engine io;
	int runs;
};

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
run_case(const struct bench *b, const struct bench_case *c, struct ls_err *err)
{
	double ns[RUNS];
	struct phase spec;

	field_struct_init(&phase_desc, &spec);
	spec.kind = (int)c->kind;
	spec.engine = (int)b->io;
	spec.record_size = c->record;
	spec.file_size = b->io == ENGINE_NULL ? 1ULL << 30 : 64ULL << 20;
	spec.amount = b->ops * c->record;
	for (int i = 0; i < b->runs; i++) {
		ns[i] = run_once(b->engine, b->map, &spec, err);
		if (ns[i] < 0)
			return false;
	}
	qsort(ns, (size_t)b->runs, sizeof(ns[0]), compare);
	printf("%-14s %6.1f ns per operation (median of %d; %.1f to %.1f)\n", c->name, ns[b->runs / 2], b->runs, ns[0],
	    ns[b->runs - 1]);
	return true;
}

static bool
run_cases(const struct bench *b, const char *only, struct ls_err *err)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (only != NULL && strcmp(only, cases[i].name) != 0)
			continue;
		found = true;
		if (!run_case(b, &cases[i], err))
			return false;
	}
	if (!found)
		(void)ls_err_set(err, LS_E_INVALID, "no such kind: %s", only);
	return found;
}

int
main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	struct bench bench = {
		.ops = (uint64_t)((argc > 1 ? strtod(argv[1], NULL) : 2) * 1000000),
		.io = argc > 3 && strcmp(argv[3], "sync") == 0 ? ENGINE_SYNC : ENGINE_NULL,
		.runs = only != NULL ? 1 : RUNS,
	};
	char dir[] = "/tmp/lockstep-bench-XXXXXX";
	struct ls_err err;
	int status = 1, fd = -1;

	if (mkdtemp(dir) == NULL || (fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;

	struct engine_config config = { .run_dir_fd = fd, .run_dir = dir, .node_count = 1, .spin_ns = 100000 };
	if (shm_map_new(1, &bench.map, &err) != LS_OK)
		goto out;
	config.map = bench.map;
	if (engine_new(&config, &bench.engine, &err) != LS_OK)
		goto out;
	if (only == NULL)
		printf("%-14s %6.1f ns\n", "clock reading", clock_ns());
	status = run_cases(&bench, only, &err) ? 0 : 1;
out:
	if (status != 0)
		fprintf(stderr, "engine_null: %s\n", err.text);
	engine_free(bench.engine);
	shm_map_free(bench.map);
	close(fd);
	rmdir(dir);
	return status;
}
