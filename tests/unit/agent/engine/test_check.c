/* Phases that check what they read: what is done to files from outside is found, named, and nothing else is. */
#include "tests/unit/agent/engine/rig.h"

#include "agent/engine/check.h"

#define RECORD (16 << 10)
#define SIZE   (1 << 20)
#define BLOCKS (SIZE / DATA_BLOCK)
#define FILE_0 "n0/data.0"
#define VICTIM (37 * DATA_BLOCK)

static struct phase
data_phase(enum phase_kind kind, enum phase_engine engine)
{
	struct phase spec = rig_phase(kind);

	spec.file_size = SIZE;
	spec.record_size = RECORD;
	spec.engine = (int)engine;
	spec.depth = engine == ENGINE_SYNC ? 1 : 4;
	spec.verify = kind == PHASE_READ || kind == PHASE_RANDOM_READ;
	return spec;
}

static void
run_spec(struct rig *r, const struct phase *spec)
{
	uint64_t epoch = rig_arm(r, spec, false);

	rig_start(r, epoch);
	assert_int_equal(rig_wait(r), SHM_STARTED);
	engine_flush(r->engine);
	rig_no_errors(r);
}

static void
run_kind(struct rig *r, enum phase_kind kind)
{
	struct phase spec = data_phase(kind, ENGINE_SYNC);

	run_spec(r, &spec);
}

static void
edit(struct rig *r, uint64_t offset, void *bytes, size_t length, bool write)
{
	int fd = openat(r->dir_fd, FILE_0, O_RDWR);
	ssize_t n = write ? pwrite(fd, bytes, length, (off_t)offset) : pread(fd, bytes, length, (off_t)offset);

	assert_int_equal(n, (ssize_t)length);
	close(fd);
}

static const struct mismatch *
only_finding(struct rig *r, enum mismatch_cause cause, uint64_t offset)
{
	const struct mismatch *list;

	assert_int_equal(rig_get(&rig_worker(r, 0)->mismatches), 1);
	assert_int_equal(engine_mismatches(r->engine, &list), 1);
	if (list->cause != (int)cause || list->offset != offset)
		fail_msg(
		    "wanted %s at %llu, got: %s", mismatch_cause_names[cause], (unsigned long long)offset, list->text);
	assert_non_null(strstr(list->path, FILE_0));
	return list;
}

/* --- what readers find ----------------------------------------------------------------------------------------------- */

static void
test_good_data_is_good_for_all_readers(void **state)
{
	static const enum phase_kind readers[] = { PHASE_READ, PHASE_RANDOM_READ, PHASE_VERIFY };
	static const enum phase_kind writers[] = { PHASE_WRITE, PHASE_REWRITE, PHASE_RANDOM_WRITE, PHASE_PWRITE,
		PHASE_FWRITE };
	static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO };

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(writers); w++) {
		struct rig r;
		rig_init(&r, NULL, 0, 1, 1, 1);
		for (size_t e = 0; e < ARRAY_LEN(engines); e++) {
			struct phase write = data_phase(writers[w], engines[e]);
			if (writers[w] == PHASE_FWRITE)
				write = data_phase(writers[w], ENGINE_SYNC);
			run_spec(&r, &write);
			for (size_t k = 0; k < ARRAY_LEN(readers); k++) {
				const struct mismatch *list;
				struct phase read = data_phase(readers[k], engines[e]);
				run_spec(&r, &read);
				if (engine_mismatches(r.engine, &list) > 0)
					fail_msg("%s, %s: %s", phase_kind_names[writers[w]],
					    phase_kind_names[readers[k]], list->text);
				assert_int_equal(rig_get(&rig_worker(&r, 0)->checked_blocks), BLOCKS);
			}
		}
		rig_fini(&r);
	}
}

static void
test_one_changed_byte_is_found_everywhere_in_a_block(void **state)
{
	static const uint64_t places[] = { 63, 64, 2000, 4095 };
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		unsigned char byte;
		run_kind(&r, PHASE_WRITE);
		edit(&r, VICTIM + places[i], &byte, 1, false);
		byte ^= 0x10;
		edit(&r, VICTIM + places[i], &byte, 1, true);
		run_kind(&r, PHASE_VERIFY);
		only_finding(&r, MISMATCH_DAMAGED, VICTIM);
	}
	rig_fini(&r);
}

static void
test_zeros_are_blank(void **state)
{
	unsigned char zeros[DATA_BLOCK] = { 0 };
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, PHASE_WRITE);
	edit(&r, VICTIM, zeros, sizeof(zeros), true);
	run_kind(&r, PHASE_READ);
	const struct mismatch *m = only_finding(&r, MISMATCH_BLANK, VICTIM);
	assert_null(m->found);
	rig_fini(&r);
}

static void
test_swapped_blocks_name_each_other(void **state)
{
	unsigned char a[DATA_BLOCK], b[DATA_BLOCK];
	const struct mismatch *list;
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, PHASE_WRITE);
	edit(&r, VICTIM, a, sizeof(a), false);
	edit(&r, VICTIM + 8192, b, sizeof(b), false);
	edit(&r, VICTIM, b, sizeof(b), true);
	edit(&r, VICTIM + 8192, a, sizeof(a), true);
	run_kind(&r, PHASE_RANDOM_READ);
	assert_int_equal(engine_mismatches(r.engine, &list), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(list[i].cause, MISMATCH_MISPLACED);
		assert_int_equal(list[i].offset + list[i].found->offset, 2 * VICTIM + 8192);
		assert_int_not_equal(list[i].offset, list[i].found->offset);
		assert_string_equal(list[i].found->phase, "write");
		assert_int_equal(list[i].found->worker, 0);
	}
	rig_fini(&r);
}

static void
test_a_block_of_the_pass_before_is_stale(void **state)
{
	unsigned char old[DATA_BLOCK];
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, PHASE_WRITE);
	edit(&r, VICTIM, old, sizeof(old), false);
	run_kind(&r, PHASE_REWRITE);
	run_kind(&r, PHASE_VERIFY);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->mismatches), 0);
	edit(&r, VICTIM, old, sizeof(old), true);
	run_kind(&r, PHASE_VERIFY);
	const struct mismatch *m = only_finding(&r, MISMATCH_STALE, VICTIM);
	assert_string_equal(m->found->phase, "write");
	assert_int_equal(m->found->arm, 1);
	assert_string_equal(m->least_phase, "rewrite");
	assert_int_equal(m->least_arm, 2);
	rig_fini(&r);
}

/* A second pass within one phase, too. */
static void
test_passes_of_one_phase_are_told_apart(void **state)
{
	struct phase twice = data_phase(PHASE_RANDOM_WRITE, ENGINE_IO_URING);
	unsigned char block[DATA_BLOCK];
	struct data_stamp stamp;
	struct rig r;

	(void)state;
	twice.amount = 2 * SIZE;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_spec(&r, &twice);
	edit(&r, VICTIM, block, sizeof(block), false);
	memcpy(&stamp, block, sizeof(stamp));
	assert_int_equal(stamp.generation & UINT32_MAX, 1);
	stamp.generation--;
	stamp.crc = data_stamp_crc(&stamp, crc32c(0, block + sizeof(stamp), sizeof(block) - sizeof(stamp)));
	memcpy(block, &stamp, sizeof(stamp));
	edit(&r, VICTIM, block, sizeof(block), true);
	run_kind(&r, PHASE_VERIFY);
	assert_int_equal(only_finding(&r, MISMATCH_STALE, VICTIM)->least_pass, 1);
	rig_fini(&r);
}

static void
test_a_block_of_another_run_is_foreign(void **state)
{
	unsigned char block[DATA_BLOCK];
	struct data_stamp stamp;
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, PHASE_WRITE);
	edit(&r, VICTIM, block, sizeof(block), false);
	memcpy(&stamp, block, sizeof(stamp));
	stamp.run = 99;
	stamp.crc = data_stamp_crc(&stamp, crc32c(0, block + sizeof(stamp), sizeof(block) - sizeof(stamp)));
	memcpy(block, &stamp, sizeof(stamp));
	edit(&r, VICTIM, block, sizeof(block), true);
	run_kind(&r, PHASE_VERIFY);
	assert_string_equal(only_finding(&r, MISMATCH_FOREIGN, VICTIM)->found->run, "0000000000000063");
	rig_fini(&r);
}

static void
test_many_findings_are_counted_and_the_first_kept(void **state)
{
	static unsigned char zeros[SIZE];
	const struct mismatch *list;
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, PHASE_WRITE);
	edit(&r, 0, zeros, sizeof(zeros), true);
	run_kind(&r, PHASE_VERIFY);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->mismatches), BLOCKS);
	assert_int_equal(engine_mismatches(r.engine, &list), CHECK_KEPT_MAX);
	run_kind(&r, PHASE_WRITE);
	assert_int_equal(engine_mismatches(r.engine, &list), 0);
	rig_fini(&r);
}

static void
test_a_file_that_was_cut_fails_instead_of_being_laid_out_anew(void **state)
{
	struct phase spec = data_phase(PHASE_VERIFY, ENGINE_SYNC);
	const struct io_error *errors;
	size_t count;
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	run_kind(&r, PHASE_WRITE);
	int fd = openat(r.dir_fd, FILE_0, O_RDWR);
	assert_int_equal(ftruncate(fd, SIZE / 2), 0);
	close(fd);
	uint64_t epoch = rig_arm(&r, &spec, false);
	rig_start(&r, epoch);
	rig_wait(&r);
	assert_int_equal(engine_errors(r.engine, &errors, &count), 1);
	assert_int_equal(errors[0].offset, SIZE / 2);
	rig_fini(&r);
}

/* --- what cannot be checked is refused, not called wrong ------------------------------------------------------------ */

static void
test_what_cannot_be_checked_is_refused_until_written_anew(void **state)
{
	struct phase odd = data_phase(PHASE_WRITE, ENGINE_SYNC), verify = data_phase(PHASE_VERIFY, ENGINE_SYNC);
	struct phase copies = odd;
	struct rig r;

	(void)state;
	odd.record_size = 1000;
	copies.duplicate = 10;
	const struct phase writers[] = { odd, copies, data_phase(PHASE_BONNIE_REWRITE, ENGINE_SYNC) };
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
		struct io_error error;
		struct ls_err err;
		uint64_t epoch;
		run_spec(&r, &writers[i]);
		assert_int_equal(rig_try_arm(&r, &verify, false, &epoch, &error, &err), LS_E_INVALID);
		assert_non_null(strstr(err.text, "verify: an earlier phase"));
		assert_non_null(strstr(err.text, phase_kind_names[writers[i].kind]));
		field_struct_fini(&io_error_desc, &error);
		run_kind(&r, PHASE_WRITE);
		run_kind(&r, PHASE_VERIFY);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->mismatches), 0);
	}
	rig_fini(&r);
}

/* Reads within a mixed phase, after which its buffers have held what was read. */
static void
test_mixed_reads_are_checked(void **state)
{
	struct phase mixed = data_phase(PHASE_MIXED, ENGINE_SYNC);
	struct rig r;

	(void)state;
	mixed.verify = true;
	mixed.amount = 4 * SIZE;
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (int i = 0; i < 2; i++) {
		run_spec(&r, &mixed);
		assert_true(rig_get(&rig_worker(&r, 0)->checked_blocks) > BLOCKS);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->mismatches), 0);
		run_kind(&r, PHASE_WRITE);
		run_kind(&r, PHASE_VERIFY);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->mismatches), 0);
	}
	rig_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_data_is_good_for_all_readers),
		cmocka_unit_test(test_one_changed_byte_is_found_everywhere_in_a_block),
		cmocka_unit_test(test_zeros_are_blank),
		cmocka_unit_test(test_swapped_blocks_name_each_other),
		cmocka_unit_test(test_a_block_of_the_pass_before_is_stale),
		cmocka_unit_test(test_passes_of_one_phase_are_told_apart),
		cmocka_unit_test(test_a_block_of_another_run_is_foreign),
		cmocka_unit_test(test_many_findings_are_counted_and_the_first_kept),
		cmocka_unit_test(test_a_file_that_was_cut_fails_instead_of_being_laid_out_anew),
		cmocka_unit_test(test_what_cannot_be_checked_is_refused_until_written_anew),
		cmocka_unit_test(test_mixed_reads_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
