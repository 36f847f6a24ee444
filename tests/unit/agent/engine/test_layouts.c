/* An interleaved file of several nodes, many files per worker, another node's files: judged by what is in the files. */
#include "tests/unit/agent/engine/rig.h"

#include "common/base/clock.h"

#define WORKERS 2
#define NODES   2
#define ODD     47008

/* Another node's engine on the same directory. */
static void
second_node(const struct rig *a, struct rig *b)
{
	struct ls_err err;

	*b = *a;
	b->node = 1;
	assert_int_equal(shm_map_new(WORKERS, &b->map, &err), LS_OK);

	struct engine_config config = { .run_dir_fd = a->dir_fd,
		.run_dir = a->dir,
		.node_index = 1,
		.node_count = NODES,
		.seed = RIG_SEED,
		.spin_ns = 200000,
		.map = b->map };
	assert_int_equal(engine_new(&config, &b->engine, &err), LS_OK);
}

static void
both_init(struct rig *a, struct rig *b)
{
	rig_init(a, NULL, 0, NODES, WORKERS, WORKERS);
	second_node(a, b);
}

static void
both_fini(struct rig *a, struct rig *b)
{
	engine_free(b->engine);
	shm_map_free(b->map);
	rig_fini(a);
}

/* Both arm before either begins, as the barrier has it. */
static uint64_t
both_run(struct rig *a, struct rig *b, const struct phase *spec)
{
	uint64_t epoch = rig_arm(a, spec, false);

	assert_int_equal(rig_arm(b, spec, false), epoch);
	rig_start(a, epoch);
	rig_start(b, epoch);
	assert_int_equal(rig_wait(a), SHM_STARTED);
	assert_int_equal(rig_wait(b), SHM_STARTED);
	engine_flush(a->engine);
	engine_flush(b->engine);
	rig_no_errors(a);
	rig_no_errors(b);
	return epoch;
}

static uint64_t
bytes_of(struct rig *r)
{
	return rig_get(&rig_worker(r, 0)->bytes) + rig_get(&rig_worker(r, 1)->bytes);
}

static struct phase
phase_in(enum phase_kind kind, enum phase_layout layout, uint64_t file_size, uint64_t record_size)
{
	struct phase spec = rig_phase(kind);

	spec.layout = (int)layout;
	spec.file_size = file_size;
	spec.record_size = record_size;
	return spec;
}

/* Record r was written by rank r modulo 4. */
static void
check_interleaved(struct rig *r, const struct phase *spec, uint64_t generation)
{
	assert_int_equal(rig_size(r, "shared/data.i"), spec->file_size);
	for (uint64_t at = 0, i = 0; at < spec->file_size; at += spec->record_size, i++) {
		uint64_t rank = i % (NODES * WORKERS);
		rig_check_stamps(r, "shared/data.i", at, LS_MIN(spec->record_size, spec->file_size - at),
		    data_writer(rank / WORKERS, (uint32_t)(rank % WORKERS)), generation);
	}
}

struct size_case {
	uint64_t file_size, record_size;
};

static const struct size_case sizes[] = { { 1 << 20, 64 << 10 }, { 31 * ODD + 5, ODD }, { 8 * 4096, 4096 },
	{ (3 << 20) + 1, 1 << 20 } };

static void
test_interleaved_records_are_in_turn(void **state)
{
	static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO };

	(void)state;
	for (size_t e = 0; e < ARRAY_LEN(engines); e++)
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			struct phase spec =
			    phase_in(PHASE_WRITE, LAYOUT_INTERLEAVED, sizes[i].file_size, sizes[i].record_size);
			struct rig a, b;

			if (engine_supports(engines[e], NULL) != LS_OK)
				continue;
			spec.engine = (int)engines[e];
			spec.depth = engines[e] == ENGINE_SYNC ? 1 : 4;
			both_init(&a, &b);
			uint64_t epoch = both_run(&a, &b, &spec);
			assert_int_equal(bytes_of(&a) + bytes_of(&b), spec.file_size);
			check_interleaved(&a, &spec, data_generation(epoch, 0));

			/* What is there is read, not laid out again: it keeps the generation. */
			spec.kind = PHASE_RANDOM_READ;
			both_run(&a, &b, &spec);
			assert_int_equal(bytes_of(&a) + bytes_of(&b), spec.file_size);
			check_interleaved(&a, &spec, data_generation(epoch, 0));

			spec.kind = PHASE_RANDOM_WRITE;
			epoch = both_run(&a, &b, &spec);
			check_interleaved(&a, &spec, data_generation(epoch, 0));
			both_fini(&a, &b);
		}
}

/* Kinds that go through other back ends, or in other orders, each laying out for itself. */
static void
test_every_kind_on_an_interleaved_file(void **state)
{
	static const enum phase_kind kinds[] = { PHASE_READ, PHASE_REWRITE, PHASE_BACKWARD_READ, PHASE_STRIDE_READ,
		PHASE_FWRITE, PHASE_FREAD, PHASE_MIXED, PHASE_BONNIE_REWRITE, PHASE_CHAR_WRITE, PHASE_CHAR_READ,
		PHASE_SEEKS };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct phase spec = phase_in(kinds[i], LAYOUT_INTERLEAVED, 21 * 3000 + 7, 3000);
		struct rig a, b;

		spec.seeks = 50;
		both_init(&a, &b);
		both_run(&a, &b, &spec);
		if (kinds[i] != PHASE_SEEKS)
			assert_int_equal(bytes_of(&a) + bytes_of(&b), spec.file_size);
		/* Updates leave stamps alone, so that the first block's stays whatever was done. */
		check_interleaved(&a, &spec, 0);
		both_fini(&a, &b);
	}
}

/* Other records of the same file are other workers'. */
static void
test_interleaved_with_other_records_is_laid_out_anew(void **state)
{
	struct phase spec = phase_in(PHASE_WRITE, LAYOUT_INTERLEAVED, 64 * 4096, 4096);
	struct rig a, b;

	(void)state;
	both_init(&a, &b);
	both_run(&a, &b, &spec);
	check_interleaved(&a, &spec, 0);
	spec.kind = PHASE_READ;
	spec.record_size = 8192;
	both_run(&a, &b, &spec);
	check_interleaved(&a, &spec, 0);
	both_fini(&a, &b);
}

/* --- many files ------------------------------------------------------------------------------------------------------ */

#define FILES 7
#define SIZE  10000

static struct phase
many(enum phase_kind kind, uint64_t directories)
{
	struct phase spec = phase_in(kind, LAYOUT_WORKER, SIZE, 4096);

	spec.files_per_worker = FILES;
	spec.directories = directories;
	return spec;
}

static const char *
name_of(uint32_t worker, uint64_t number, uint64_t directories, char *buf, size_t len)
{
	if (directories > 1)
		snprintf(
		    buf, len, "n0/f.%u/%05u/%08u", worker, (unsigned)(number * directories / FILES), (unsigned)number);
	else
		snprintf(buf, len, "n0/f.%u/%08u", worker, (unsigned)number);
	return buf;
}

static void
check_many(struct rig *r, uint64_t directories, uint64_t generation)
{
	char path[64];

	for (uint32_t w = 0; w < WORKERS; w++)
		for (uint64_t i = 0; i < FILES; i++) {
			name_of(w, i, directories, path, sizeof(path));
			if (rig_size(r, path) != SIZE)
				fail_msg("%s has %lld bytes", path, (long long)rig_size(r, path));
			rig_check_stamps(r, path, 0, SIZE, data_writer(0, w), generation);
		}
}

static void
test_many_files_in_a_tree(void **state)
{
	static const enum phase_kind kinds[] = { PHASE_WRITE, PHASE_READ, PHASE_REWRITE, PHASE_RANDOM_READ,
		PHASE_RANDOM_WRITE, PHASE_BACKWARD_READ, PHASE_MIXED, PHASE_WRITE };
	static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO };

	(void)state;
	for (size_t e = 0; e < ARRAY_LEN(engines); e++)
		for (uint64_t directories = 1; directories <= 3; directories += 2) {
			struct rig r;
			if (engine_supports(engines[e], NULL) != LS_OK)
				continue;
			rig_init(&r, NULL, 0, 1, WORKERS, WORKERS);
			for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
				struct phase spec = many(kinds[k], directories);
				spec.engine = (int)engines[e];
				spec.depth = engines[e] == ENGINE_SYNC ? 1 : 4;
				spec.fsync = k == 2;
				uint64_t epoch = rig_arm(&r, &spec, false);
				rig_start(&r, epoch);
				assert_int_equal(rig_wait(&r), SHM_STARTED);
				engine_flush(r.engine);
				rig_no_errors(&r);
				assert_int_equal(bytes_of(&r), WORKERS * FILES * SIZE);
				bool whole = phase_kind_info(kinds[k])->op == OP_WRITE && kinds[k] != PHASE_MIXED;
				check_many(&r, directories, whole ? data_generation(epoch, 0) : 0);
			}
			assert_int_equal(rig_count(&r, "n0/f.0"), directories > 1 ? directories : FILES);
			rig_fini(&r);
		}
}

/* Each phase as the first lays them out; a file that somebody cut is laid out again; larger ones, too. */
static void
test_many_files_are_laid_out_where_missing(void **state)
{
	struct phase spec = many(PHASE_READ, 3);
	char path[64];
	struct rig r;
	struct stat before, after;

	(void)state;
	rig_init(&r, NULL, 0, 1, WORKERS, WORKERS);
	rig_run(&r, &spec);
	check_many(&r, 3, 0);
	int fd = openat(r.dir_fd, name_of(1, 4, 3, path, sizeof(path)), O_WRONLY);
	assert_int_equal(ftruncate(fd, 100), 0);
	close(fd);
	assert_int_equal(fstatat(r.dir_fd, name_of(1, 3, 3, path, sizeof(path)), &before, 0), 0);
	rig_run(&r, &spec);
	check_many(&r, 3, 0);
	assert_int_equal(fstatat(r.dir_fd, path, &after, 0), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim)); /* was whole: left alone */
	rig_fini(&r);
}

/* An amount ends within a file, or goes round; a time goes round until it is over. */
static void
test_many_files_with_other_ends(void **state)
{
	struct phase spec = many(PHASE_WRITE, 1);
	char path[64];
	struct rig r;

	(void)state;
	spec.amount = 3 * SIZE + 5000;
	rig_init(&r, NULL, 0, 1, WORKERS, WORKERS);
	rig_run(&r, &spec);
	assert_int_equal(bytes_of(&r), WORKERS * spec.amount);
	assert_int_equal(rig_size(&r, name_of(0, 3, 1, path, sizeof(path))), 5000);
	assert_int_equal(rig_size(&r, name_of(0, 4, 1, path, sizeof(path))), -1);

	spec.kind = PHASE_READ; /* the files that are not whole are laid out */
	spec.amount = (FILES + 2) * SIZE;
	rig_run(&r, &spec);
	assert_int_equal(bytes_of(&r), WORKERS * spec.amount);
	check_many(&r, 1, 0);

	spec.amount = 0;
	spec.time = 30 * NS_PER_MS;
	rig_run(&r, &spec);
	assert_true(bytes_of(&r) > WORKERS * FILES * SIZE);
	rig_fini(&r);
}

/* --- another node's -------------------------------------------------------------------------------------------------- */

static void
lay_out(struct rig *r, const struct phase *spec)
{
	struct engine_arm arm = { .spec = spec, .node_workers = r->workers, .lay_out = true };
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	field_struct_init(&io_error_desc, &error);
	if (engine_arm(r->engine, &arm, &epoch, &error, &err) != LS_OK)
		fail_msg("%s", err.text);
	field_struct_fini(&io_error_desc, &error);
}

static void
test_reading_what_another_node_wrote(void **state)
{
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	(void)state;
	for (int layout = LAYOUT_WORKER; layout <= LAYOUT_INTERLEAVED + 1; layout++) {
		bool tree = layout > LAYOUT_INTERLEAVED;
		struct phase spec =
		    phase_in(PHASE_READ, tree ? LAYOUT_WORKER : (enum phase_layout)layout, 64 << 10, 4096);
		struct rig a, b;

		spec.files_per_worker = tree ? 3 : 1;
		both_init(&a, &b);
		spec.shift = 1;
		assert_int_equal(rig_try_arm(&a, &spec, false, &epoch, &error, &err), LS_E_INVALID);
		if (strstr(err.text, "another node's file (shift)") == NULL)
			fail_msg("%s", err.text);
		field_struct_fini(&io_error_desc, &error);

		lay_out(&b, &spec); /* as its owner is told to */
		assert_int_equal(rig_count(&a, "n0"), 0);
		epoch = rig_arm(&a, &spec, false);
		if (spec.layout == LAYOUT_WORKER)
			assert_string_equal(rig_worker(&a, 1)->file, tree ? "n1/f.1/00000000" : "n1/data.1");
		rig_start(&a, epoch);
		assert_int_equal(rig_wait(&a), SHM_STARTED);
		engine_flush(a.engine);
		rig_no_errors(&a);
		assert_true(bytes_of(&a) > 0);
		if (spec.layout == LAYOUT_WORKER) /* nothing was made in its own place */
			assert_int_equal(rig_count(&a, "n0"), 0);
		both_fini(&a, &b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interleaved_records_are_in_turn),
		cmocka_unit_test(test_every_kind_on_an_interleaved_file),
		cmocka_unit_test(test_interleaved_with_other_records_is_laid_out_anew),
		cmocka_unit_test(test_many_files_in_a_tree),
		cmocka_unit_test(test_many_files_are_laid_out_where_missing),
		cmocka_unit_test(test_many_files_with_other_ends),
		cmocka_unit_test(test_reading_what_another_node_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
