/* Each phase over data, in each layout, by each back end: judged by what is in the files and by what the kernel counted. */
#include "tests/unit/agent/engine/rig.h"

#include "common/base/clock.h"

#define WORKERS 2
#define RECORD  (16 << 10)
#define SIZE    (1 << 20)

static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO };
static const enum phase_layout layouts[] = { LAYOUT_WORKER, LAYOUT_NODE, LAYOUT_SHARED };
static const enum phase_kind kinds[] = { PHASE_WRITE, PHASE_REWRITE, PHASE_READ, PHASE_REREAD, PHASE_RANDOM_READ,
	PHASE_RANDOM_WRITE };

static struct phase
data_phase(enum phase_kind kind, enum phase_layout layout, enum phase_engine engine)
{
	struct phase spec = rig_phase(kind);

	spec.file_size = SIZE;
	spec.record_size = RECORD;
	spec.layout = (int)layout;
	spec.engine = (int)engine;
	spec.depth = engine == ENGINE_SYNC ? 1 : 8;
	return spec;
}

static const char *
file_of(const struct rig *r, enum phase_layout layout, uint32_t worker, char *buf, size_t len)
{
	if (layout == LAYOUT_WORKER)
		snprintf(buf, len, "n%llu/data.%u", (unsigned long long)r->node, worker);
	else if (layout == LAYOUT_NODE)
		snprintf(buf, len, "n%llu/data", (unsigned long long)r->node);
	else
		snprintf(buf, len, "shared/data");
	return buf;
}

static struct phase_place
place_of(const struct rig *r, const struct phase *spec, uint32_t worker)
{
	struct phase_place place;

	assert_int_equal(phase_place(spec, r->workers, r->nodes, r->node, worker, &place, NULL), LS_OK);
	return place;
}

/* rchar and wchar of the whole process. */
static void
read_io(uint64_t *rchar, uint64_t *wchar)
{
	unsigned long long r, w;
	FILE *f = fopen("/proc/self/io", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "rchar: %llu wchar: %llu", &r, &w), 2);
	fclose(f);
	*rchar = r;
	*wchar = w;
}

static void
check_counters(struct rig *r, const struct phase *spec, int64_t start)
{
	enum op_kind op = phase_kind_info((enum phase_kind)spec->kind)->op;

	for (uint32_t i = 0; i < r->workers[r->node]; i++) {
		struct shm_worker *w = rig_worker(r, i);
		uint64_t bytes = place_of(r, spec, i).length, ops = (bytes + RECORD - 1) / RECORD;
		assert_int_equal(rig_get(&w->bytes), bytes);
		assert_int_equal(rig_get(&w->ops), ops);
		assert_int_equal(rig_get(&w->done), ops);
		assert_int_equal(rig_get(&w->op_bytes[op]), bytes);
		assert_int_equal(rig_get(&w->op_ops[op]), ops);
		assert_int_equal(rig_get(&w->latency[op].count), ops);
		assert_int_equal(atomic_load(&w->state), SHM_ENDED);
		assert_true(rig_get_i(&w->first_op_ns) >= start);
		assert_int_equal(rig_get_i(&w->start_ns), rig_get_i(&w->first_op_ns));
		assert_true(rig_get_i(&w->end_ns) > rig_get_i(&w->start_ns));
		uint64_t n = rig_get(&w->ring_count);
		assert_true(n > 0);
		assert_int_equal(rig_get(&w->ring[(n - 1) % SHM_RING].bytes), bytes);
		assert_int_equal(rig_get(&w->ring[(n - 1) % SHM_RING].ops), ops);
		if (!spec->fsync && !spec->close)
			assert_int_equal(rig_get_i(&w->ring[(n - 1) % SHM_RING].at_ns), rig_get_i(&w->end_ns));
	}
}

static void
check_files(struct rig *r, const struct phase *spec, uint64_t epoch)
{
	bool write = phase_kind_info((enum phase_kind)spec->kind)->op == OP_WRITE;

	for (uint32_t i = 0; i < r->workers[r->node]; i++) {
		struct phase_place place = place_of(r, spec, i);
		char path[64];
		file_of(r, (enum phase_layout)spec->layout, i, path, sizeof(path));
		assert_true((uint64_t)rig_size(r, path) >= place.offset + place.length);
		/* Every block carries the phase's own generation: each record was written, none was left from before. */
		rig_check_stamps(r, path, place.offset, place.length, data_writer(r->node, i),
		    write ? data_generation(epoch, 0) : 0);
	}
}

static void
run_kind(struct rig *r, const struct phase *spec)
{
	enum op_kind op = phase_kind_info((enum phase_kind)spec->kind)->op;
	uint64_t epoch = rig_arm(r, spec, false);
	uint64_t r0, w0, r1, w1, want = 0;

	read_io(&r0, &w0);
	int64_t start = rig_start(r, epoch);
	assert_int_equal(rig_wait(r), SHM_STARTED);
	read_io(&r1, &w1);
	engine_flush(r->engine);
	if (spec->kind == PHASE_FWRITE || spec->kind == PHASE_FREWRITE) /* the last record may wait in the stream */
		read_io(&r1, &w1);
	rig_no_errors(r);
	check_counters(r, spec, start);
	check_files(r, spec, epoch);
	for (uint32_t i = 0; i < r->workers[r->node]; i++)
		want += place_of(r, spec, i).length;
	/* Reading /proc/self/io itself is some hundred bytes; the event a few. Asynchronous calls do not appear there. */
	if (spec->engine == ENGINE_SYNC && op == OP_READ)
		assert_in_range(r1 - r0, want, want + 4096);
	if (spec->engine == ENGINE_SYNC && op == OP_WRITE)
		assert_in_range(w1 - w0, want, want + 64);
}

static void
test_all_phases_in_a_row(void **state)
{
	(void)state;
	for (size_t e = 0; e < ARRAY_LEN(engines); e++) {
		struct ls_err err;
		if (engine_supports(engines[e], &err) != LS_OK) {
			print_message("skipped: %s\n", err.text);
			continue;
		}
		for (size_t l = 0; l < ARRAY_LEN(layouts); l++) {
			struct rig r;
			rig_init(&r, NULL, 1, 3, WORKERS, WORKERS);
			for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
				struct phase spec = data_phase(kinds[k], layouts[l], engines[e]);
				run_kind(&r, &spec);
			}
			rig_fini(&r);
		}
	}
}

/* Each phase as the first: what it needs is laid out. */
static void
test_each_phase_alone_lays_out(void **state)
{
	(void)state;
	for (size_t l = 0; l < ARRAY_LEN(layouts); l++)
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			struct rig r;
			struct phase spec = data_phase(kinds[k], layouts[l], ENGINE_SYNC);
			spec.file_size = SIZE + 100; /* the last record is short */
			rig_init(&r, NULL, 0, 2, WORKERS, WORKERS);
			run_kind(&r, &spec);
			rig_fini(&r);
		}
}

/* Nodes that share a file leave each other's segments alone. */
static void
test_shared_file_keeps_others_segments(void **state)
{
	struct rig a, b;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_SHARED, ENGINE_SYNC);
	struct engine_config config;
	struct ls_err err;

	(void)state;
	rig_init(&a, NULL, 0, 2, WORKERS, WORKERS);
	b = a;
	b.node = 1;
	assert_int_equal(shm_map_new(WORKERS, &b.map, &err), LS_OK);
	config = (struct engine_config){ .run_dir_fd = a.dir_fd,
		.run_dir = a.dir,
		.node_index = 1,
		.node_count = 2,
		.seed = RIG_SEED,
		.spin_ns = 200000,
		.map = b.map };
	assert_int_equal(engine_new(&config, &b.engine, &err), LS_OK);

	run_kind(&a, &spec);
	run_kind(&b, &spec);
	assert_int_equal(rig_size(&a, "shared/data"), SIZE);
	uint64_t again = rig_arm(&a, &spec, true); /* frees node 0's segments, nothing else */
	check_files(&b, &spec, 1);
	rig_start(&a, again);
	assert_int_equal(rig_wait(&a), SHM_STARTED);
	engine_flush(a.engine);
	check_files(&a, &spec, again);
	check_files(&b, &spec, 1);

	engine_free(b.engine);
	shm_map_free(b.map);
	rig_fini(&a);
}

/* A write's arm frees the old blocks, also in a second attempt. */
static void
test_write_begins_with_empty_files(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_WORKER, ENGINE_SYNC);
	struct stat st;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, &spec);
	rig_arm(&r, &spec, true);
	assert_int_equal(fstatat(r.dir_fd, "n0/data.0", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_blocks, 0);
	/* The attempt never starts; what follows lays its files out again. */
	spec.kind = PHASE_READ;
	run_kind(&r, &spec);
	rig_fini(&r);
}

static void
test_random_goes_to_each_record_once_per_round(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_RANDOM_WRITE, LAYOUT_WORKER, ENGINE_SYNC);

	(void)state;
	spec.amount = 2 * SIZE + SIZE / 2;
	rig_init(&r, NULL, 0, 1, 1, 1);
	uint64_t epoch = rig_arm(&r, &spec, false);
	rig_start(&r, epoch);
	rig_wait(&r);
	engine_flush(r.engine);
	rig_no_errors(&r);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), spec.amount);

	/* Two and a half rounds: half of the records are of round 1, half of round 2. */
	int fd = openat(r.dir_fd, "n0/data.0", O_RDONLY);
	unsigned by_round[3] = { 0 };
	for (off_t at = 0; at < SIZE; at += RECORD) {
		struct data_stamp stamp;
		assert_int_equal(pread(fd, &stamp, sizeof(stamp), at), sizeof(stamp));
		uint64_t round = stamp.generation - data_generation(epoch, 0);
		assert_true(round < 3);
		by_round[round]++;
	}
	close(fd);
	assert_int_equal(by_round[0], 0);
	assert_int_equal(by_round[1], SIZE / RECORD / 2);
	assert_int_equal(by_round[2], SIZE / RECORD / 2);
	rig_fini(&r);
}

/* About a third (1/e) of the records is not written in a round of draws with repeats. */
static void
test_random_with_repeats_misses_records(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_RANDOM_WRITE, LAYOUT_WORKER, ENGINE_SYNC);
	unsigned written = 0;

	(void)state;
	spec.record_size = DATA_BLOCK;
	rig_init(&r, NULL, 0, 1, 1, 1);
	spec.kind = PHASE_REWRITE;
	spec.random_repeats = false;
	rig_run(&r, &spec);
	spec.kind = PHASE_RANDOM_WRITE;
	spec.random_repeats = true;
	uint64_t epoch = rig_arm(&r, &spec, false);
	rig_start(&r, epoch);
	rig_wait(&r);
	engine_flush(r.engine);
	int fd = openat(r.dir_fd, "n0/data.0", O_RDONLY);
	for (off_t at = 0; at < SIZE; at += DATA_BLOCK) {
		struct data_stamp stamp;
		assert_int_equal(pread(fd, &stamp, sizeof(stamp), at), sizeof(stamp));
		written += stamp.generation == data_generation(epoch, 0);
	}
	close(fd);
	assert_in_range(written, SIZE / DATA_BLOCK / 2, SIZE / DATA_BLOCK * 3 / 4);
	rig_fini(&r);
}

static void
test_amount_is_exact(void **state)
{
	static const uint64_t amounts[] = { 1, RECORD, RECORD + 5, SIZE - 1, SIZE, 3 * SIZE + 12345 };
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (size_t e = 0; e < ARRAY_LEN(engines); e++)
		for (size_t i = 0; i < ARRAY_LEN(amounts) && engine_supports(engines[e], NULL) == LS_OK; i++) {
			struct phase spec = data_phase(PHASE_READ, LAYOUT_WORKER, engines[e]);
			spec.amount = amounts[i];
			rig_run(&r, &spec);
			assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), amounts[i]);
			assert_int_equal(rig_get(&rig_worker(&r, 0)->ops), (amounts[i] + RECORD - 1) / RECORD);
		}
	rig_fini(&r);
}

/* A partial write is not taken for a whole file by the phase after it. */
static void
test_partial_write_is_completed(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_WORKER, ENGINE_SYNC);

	(void)state;
	spec.amount = SIZE / 4;
	rig_init(&r, NULL, 0, 1, 1, 1);
	rig_run(&r, &spec);
	assert_int_equal(rig_size(&r, "n0/data.0"), SIZE / 4);
	spec.amount = 0;
	spec.kind = PHASE_READ;
	run_kind(&r, &spec);
	rig_fini(&r);
}

static void
test_offsets_beyond_4_gib(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_SHARED, ENGINE_SYNC);
	const uint64_t first = 5ULL << 30;

	(void)state;
	/* Two nodes share a sparse file: the second's part lies behind 5 GiB; it writes only its first records. */
	rig_init(&r, NULL, 1, 2, 1, 1);
	spec.file_size = 2 * first;
	for (size_t e = 0; e < ARRAY_LEN(engines); e++) {
		if (engine_supports(engines[e], NULL) != LS_OK)
			continue;
		spec.engine = (int)engines[e];
		spec.depth = engines[e] == ENGINE_SYNC ? 1 : 4;
		spec.amount = 8 * RECORD;
		uint64_t epoch = rig_arm(&r, &spec, false);
		rig_start(&r, epoch);
		assert_int_equal(rig_wait(&r), SHM_STARTED);
		engine_flush(r.engine);
		rig_no_errors(&r);
		assert_int_equal(rig_size(&r, "shared/data"), first + 8 * RECORD);
		rig_check_stamps(&r, "shared/data", first, 8 * RECORD, data_writer(1, 0), data_generation(epoch, 0));
	}
	rig_fini(&r);
}

static void
test_odd_record_sizes(void **state)
{
	static const uint64_t records[] = { 1, 100, 511, 5000, 70001 };
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	for (size_t i = 0; i < ARRAY_LEN(records); i++)
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			struct phase spec = data_phase(kinds[k], LAYOUT_NODE, ENGINE_SYNC);
			spec.record_size = records[i];
			spec.file_size = 20 * records[i] + records[i] / 2;
			rig_run(&r, &spec);
			uint64_t sum = rig_get(&rig_worker(&r, 0)->bytes) + rig_get(&rig_worker(&r, 1)->bytes);
			assert_int_equal(sum, spec.file_size);
			assert_int_equal(rig_size(&r, "n0/data"), spec.file_size);
		}
	rig_fini(&r);
}

/* No 4 KiB block of all that a node wrote equals another, stamps aside. */
static void
test_data_do_not_repeat(void **state)
{
	enum { BLOCKS = SIZE / DATA_BLOCK };
	struct rig r;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_WORKER, ENGINE_SYNC);
	static uint64_t words[2 * BLOCKS];
	size_t n = 0;

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	rig_run(&r, &spec);
	for (uint32_t w = 0; w < 2; w++) {
		char path[64];
		int fd = openat(r.dir_fd, file_of(&r, LAYOUT_WORKER, w, path, sizeof(path)), O_RDONLY);
		for (off_t at = 0; at < SIZE; at += DATA_BLOCK)
			assert_int_equal(pread(fd, &words[n++], 8, at + 1024), 8);
		close(fd);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			assert_int_not_equal(words[i], words[k]);
	rig_fini(&r);
}

/* The kinds that go through their files in their own way: whole file moved, by the operation that they are named after. */
static void
test_iozone_kinds(void **state)
{
	static const enum phase_kind iozone[] = { PHASE_BACKWARD_READ, PHASE_FWRITE, PHASE_FREWRITE, PHASE_FREAD,
		PHASE_FREREAD, PHASE_PWRITE, PHASE_RE_PWRITE, PHASE_PREAD, PHASE_RE_PREAD };

	(void)state;
	for (size_t l = 0; l < ARRAY_LEN(layouts); l++) {
		struct rig r;
		rig_init(&r, NULL, 1, 3, WORKERS, WORKERS);
		for (size_t k = 0; k < ARRAY_LEN(iozone); k++) {
			struct phase spec = data_phase(iozone[k], layouts[l], ENGINE_SYNC);
			spec.fsync = k % 2 == 0;
			spec.close = k % 3 == 0;
			run_kind(&r, &spec);
		}
		rig_fini(&r);
	}
}

/* Stamps of round 0 at the first record, old ones behind it. */
static void
test_record_rewrite_stays_at_the_first_record(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_WORKER, ENGINE_SYNC);

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	uint64_t first = rig_arm(&r, &spec, false);
	rig_start(&r, first);
	rig_wait(&r);
	engine_flush(r.engine);
	spec.kind = PHASE_RECORD_REWRITE;
	uint64_t second = rig_arm(&r, &spec, false);
	rig_start(&r, second);
	rig_wait(&r);
	engine_flush(r.engine);
	rig_no_errors(&r);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->op_ops[OP_WRITE]), SIZE / RECORD);
	rig_check_stamps(&r, "n0/data.0", 0, RECORD, data_writer(0, 0), data_generation(second, 0));
	rig_check_stamps(&r, "n0/data.0", RECORD, SIZE - RECORD, data_writer(0, 0), data_generation(first, 0));
	rig_fini(&r);
}

static void
run_mixed(struct rig *r, struct phase *spec, uint64_t reads[2], uint64_t writes[2])
{
	rig_run(r, spec);
	for (uint32_t i = 0; i < 2; i++) {
		struct shm_worker *w = rig_worker(r, i);
		reads[i] = rig_get(&w->op_ops[OP_READ]);
		writes[i] = rig_get(&w->op_ops[OP_WRITE]);
		assert_int_equal(rig_get(&w->ops), reads[i] + writes[i]);
		assert_int_equal(rig_get(&w->op_bytes[OP_READ]), reads[i] * spec->record_size);
		assert_int_equal(rig_get(&w->op_bytes[OP_WRITE]), writes[i] * spec->record_size);
		assert_int_equal(rig_get(&w->latency[OP_READ].count), reads[i]);
		assert_int_equal(rig_get(&w->latency[OP_WRITE].count), writes[i]);
	}
}

static void
test_mixed_counts_both_directions_apart(void **state)
{
	uint64_t reads[2], writes[2];

	(void)state;
	for (size_t e = 0; e < ARRAY_LEN(engines); e++) {
		struct rig r;
		struct phase spec = data_phase(PHASE_MIXED, LAYOUT_WORKER, engines[e]);
		if (engine_supports(engines[e], NULL) != LS_OK)
			continue;
		rig_init(&r, NULL, 0, 2, 2, 2);
		spec.record_size = 1024;
		spec.read_percent = 70;
		run_mixed(&r, &spec, reads, writes);
		assert_in_range(reads[0], 650, 780); /* of 1024: 5 standard deviations to either side */
		assert_int_equal(reads[0] + writes[0], 1024);
		/* Whatever was read or written, each block still says where it belongs. */
		spec.record_size = DATA_BLOCK;
		spec.mix_order = MIX_SEQUENTIAL;
		run_mixed(&r, &spec, reads, writes);
		assert_true(reads[1] > 0 && writes[1] > 0);

		spec.mix = MIX_ALTERNATE;
		run_mixed(&r, &spec, reads, writes);
		assert_true(writes[0] == 0 && reads[1] == 0 && reads[0] == 256 && writes[1] == 256);
		spec.mix = MIX_WORKERS;
		spec.read_percent = 50; /* of four workers the first two, which are this node's */
		run_mixed(&r, &spec, reads, writes);
		assert_true(reads[0] == 256 && reads[1] == 256);
		spec.read_percent = 25;
		run_mixed(&r, &spec, reads, writes);
		assert_true(reads[0] == 256 && writes[1] == 256);
		rig_fini(&r);
	}
}

static void
test_bonnie_kinds(void **state)
{
	static const enum phase_kind bonnie[] = { PHASE_CHAR_WRITE, PHASE_BLOCK_OUT, PHASE_BONNIE_REWRITE,
		PHASE_CHAR_READ, PHASE_BLOCK_IN };

	(void)state;
	for (int semantics = BONNIE_2_00; semantics <= BONNIE_1_03; semantics++)
		for (size_t k = 0; k < ARRAY_LEN(bonnie); k++) {
			struct rig r;
			struct phase spec = data_phase(bonnie[k], LAYOUT_NODE, ENGINE_SYNC);
			enum op_kind op = phase_kind_info(bonnie[k])->op;
			spec.semantics = semantics;
			spec.file_size = SIZE / 2 + 10;
			rig_init(&r, NULL, 0, 1, 2, 2);
			rig_run(&r, &spec);
			uint64_t sum =
			    rig_get(&rig_worker(&r, 0)->op_bytes[op]) + rig_get(&rig_worker(&r, 1)->op_bytes[op]);
			assert_int_equal(sum, spec.file_size);
			assert_int_equal(rig_size(&r, "n0/data"), spec.file_size);
			if (op == OP_WRITE)
				rig_check_stamps(&r, "n0/data", 0, RECORD, data_writer(0, 0), 0);
			rig_fini(&r);
		}
}

/* From 1.97 on no more than 3 MiB go byte by byte. */
static void
test_characters_are_few_since_1_97(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_CHAR_READ, LAYOUT_WORKER, ENGINE_SYNC);

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	spec.file_size = 4 << 20;
	rig_run(&r, &spec);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), 3 << 20);
	spec.semantics = BONNIE_1_03;
	rig_run(&r, &spec);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), 4 << 20);
	rig_fini(&r);
}

/* Each byte that an update changed is one more than it was: read before the phase and after it. */
static void
test_updates_change_one_byte_of_each_record(void **state)
{
	enum { RECORDS = SIZE / RECORD };
	struct rig r;
	struct phase spec = data_phase(PHASE_WRITE, LAYOUT_WORKER, ENGINE_SYNC);
	static unsigned char before[SIZE], after[SIZE];

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	rig_run(&r, &spec);
	int fd = openat(r.dir_fd, "n0/data.0", O_RDONLY);
	assert_int_equal(pread(fd, before, SIZE, 0), SIZE);
	spec.kind = PHASE_BONNIE_REWRITE;
	rig_run(&r, &spec);
	assert_int_equal(pread(fd, after, SIZE, 0), SIZE);
	close(fd);
	for (size_t i = 0; i < RECORDS; i++)
		before[(i + 1) * RECORD - 1]++;
	assert_memory_equal(before, after, SIZE);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->op_ops[OP_UPDATE]), RECORDS);
	rig_fini(&r);
}

static void
test_seeks_are_shared_and_a_tenth_are_updates(void **state)
{
	(void)state;
	for (int semantics = BONNIE_2_00; semantics <= BONNIE_1_03; semantics++) {
		struct rig r;
		struct phase spec = data_phase(PHASE_SEEKS, LAYOUT_NODE, ENGINE_SYNC);
		uint64_t reads = 0, updates = 0;
		rig_init(&r, NULL, 0, 2, 5, 5);
		spec.seeks = 5000;
		spec.semantics = semantics;
		rig_run(&r, &spec);
		for (uint32_t i = 0; i < 5; i++) {
			struct shm_worker *w = rig_worker(&r, i);
			reads += rig_get(&w->op_ops[OP_READ]);
			updates += rig_get(&w->op_ops[OP_UPDATE]);
			assert_int_equal(
			    rig_get(&w->ops), rig_get(&w->op_ops[OP_READ]) + rig_get(&w->op_ops[OP_UPDATE]));
		}
		assert_int_equal(reads + updates, 5000);
		assert_in_range(updates, 400, 600);
		rig_fini(&r);
	}
}

static void
test_null_engine_touches_no_file(void **state)
{
	struct rig r;
	struct phase spec = data_phase(PHASE_READ, LAYOUT_WORKER, ENGINE_NULL);

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	rig_run(&r, &spec);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->bytes), SIZE);
	assert_int_equal(rig_count(&r, "."), 0);
	rig_fini(&r);
}

static void
test_direct(void **state)
{
	static const struct {
		const char *name;
		uint64_t file_size, record_size;
		const char *says;
	} bad[] = {
		{ "record", SIZE, 1000, "record_size is 1000" },
		{ "file", SIZE + 1, 4096, "file_size is 1048577" },
	};
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	struct engine_config config = { .run_dir_fd = r.dir_fd,
		.run_dir = r.dir,
		.node_index = 0,
		.node_count = 1,
		.seed = RIG_SEED,
		.spin_ns = 200000,
		.map = r.map,
		.dio_align = 4096 };
	engine_free(r.engine);
	assert_int_equal(engine_new(&config, &r.engine, NULL), LS_OK);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct phase spec = data_phase(PHASE_WRITE, LAYOUT_WORKER, ENGINE_SYNC);
		struct io_error error;
		struct ls_err err;
		uint64_t epoch;
		spec.direct = true;
		spec.file_size = bad[i].file_size;
		spec.record_size = bad[i].record_size;
		assert_int_equal(rig_try_arm(&r, &spec, false, &epoch, &error, &err), LS_E_INVALID);
		if (strstr(err.text, bad[i].says) == NULL || strstr(err.text, "multiples of 4096 bytes") == NULL)
			fail_msg("%s: %s", bad[i].name, err.text);
		field_struct_fini(&io_error_desc, &error);
	}
	for (size_t e = 0; e < ARRAY_LEN(engines); e++)
		for (size_t k = 0; k < ARRAY_LEN(kinds) && engine_supports(engines[e], NULL) == LS_OK; k++) {
			struct phase spec = data_phase(kinds[k], LAYOUT_WORKER, engines[e]);
			spec.direct = true;
			run_kind(&r, &spec);
		}
	rig_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_phases_in_a_row),
		cmocka_unit_test(test_each_phase_alone_lays_out),
		cmocka_unit_test(test_shared_file_keeps_others_segments),
		cmocka_unit_test(test_write_begins_with_empty_files),
		cmocka_unit_test(test_random_goes_to_each_record_once_per_round),
		cmocka_unit_test(test_random_with_repeats_misses_records),
		cmocka_unit_test(test_amount_is_exact),
		cmocka_unit_test(test_partial_write_is_completed),
		cmocka_unit_test(test_offsets_beyond_4_gib),
		cmocka_unit_test(test_odd_record_sizes),
		cmocka_unit_test(test_data_do_not_repeat),
		cmocka_unit_test(test_iozone_kinds),
		cmocka_unit_test(test_record_rewrite_stays_at_the_first_record),
		cmocka_unit_test(test_mixed_counts_both_directions_apart),
		cmocka_unit_test(test_bonnie_kinds),
		cmocka_unit_test(test_characters_are_few_since_1_97),
		cmocka_unit_test(test_updates_change_one_byte_of_each_record),
		cmocka_unit_test(test_seeks_are_shared_and_a_tenth_are_updates),
		cmocka_unit_test(test_null_engine_touches_no_file),
		cmocka_unit_test(test_direct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
