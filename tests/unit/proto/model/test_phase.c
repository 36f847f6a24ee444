/* Kinds of phases, their parameters, the placement of workers in files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/phase.h"

#define MIB (1024ULL * 1024)

static void
test_name_tables_are_complete_and_end(void **state)
{
	(void)state;
	for (int i = 0; i < PHASE_KIND_COUNT; i++) {
		assert_non_null(phase_kind_names[i]);
		assert_string_equal(phase_kind_names[i], phase_kind_info((enum phase_kind)i)->name);
		assert_int_equal(field_enum_value(phase_kind_names, phase_kind_names[i]), i);
	}
	for (int i = 0; i < OP_COUNT; i++)
		assert_non_null(op_names[i]);
	assert_null(phase_kind_names[PHASE_KIND_COUNT]);
	assert_null(op_names[OP_COUNT]);
	assert_string_equal(phase_layout_names[LAYOUT_SHARED], "shared");
	assert_string_equal(phase_engine_names[ENGINE_NULL], "null");
	assert_string_equal(phase_dirs_names[DIRS_SHARED], "shared");
}

static void
test_title_is_the_name_or_the_kind(void **state)
{
	struct phase p;

	(void)state;
	field_struct_init(&phase_desc, &p);
	p.kind = PHASE_RANDOM_READ;
	assert_string_equal(phase_title(&p), "random-read");
	p.name = ls_strdup("");
	assert_string_equal(phase_title(&p), "random-read");
	free(p.name);
	p.name = ls_strdup("seeks");
	assert_string_equal(phase_title(&p), "seeks");
	field_struct_fini(&phase_desc, &p);
}

struct applies_case {
	const char *field;
	enum phase_kind kind;
	bool applies;
};

static const struct applies_case applies_cases[] = {
	{ "record_size", PHASE_WRITE, true },
	{ "record_size", PHASE_CREATE, false },
	{ "files", PHASE_STAT, true },
	{ "files", PHASE_REREAD, false },
	{ "fsync", PHASE_WRITE, true },
	{ "fsync", PHASE_DELETE, true },
	{ "direct", PHASE_PREAD, true },
	{ "direct", PHASE_FREAD, false },
	{ "engine", PHASE_FWRITE, false },
	{ "close", PHASE_FWRITE, true },
	{ "sync_writes", PHASE_WRITE, true },
	{ "sync_writes", PHASE_READ, false },
	{ "prime", PHASE_REREAD, true },
	{ "prime", PHASE_PREAD, false },
	{ "stride", PHASE_STRIDE_READ, true },
	{ "stride", PHASE_READ, false },
	{ "read_percent", PHASE_MIXED, true },
	{ "amount", PHASE_FREAD, true },
	{ "amount", PHASE_SEEKS, false },
	{ "seeks", PHASE_SEEKS, true },
	{ "semantics", PHASE_BLOCK_IN, true },
	{ "semantics", PHASE_READ, false },
	{ "read_percent", PHASE_RANDOM_READ, false },
	{ "time", PHASE_WRITE, true },
	{ "time", PHASE_CREATE, true },
};

static void
test_parameters_apply_by_group(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(applies_cases); i++) {
		const struct applies_case *c = &applies_cases[i];
		const struct field_desc *field = field_find(&phase_desc, c->field);

		assert_non_null(field);
		if (phase_field_applies(field, c->kind) != c->applies)
			fail_msg("%s of %s: wanted %d", c->field, phase_kind_names[c->kind], c->applies);
	}
}

/* A valid phase with one thing changed. */
struct valid_case {
	const char *name;
	struct phase phase;
	enum ls_rc rc;
	const char *text;
};

#define DATA(file, record, ...)                                                                                        \
	{                                                                                                              \
		.kind = PHASE_WRITE, .file_size = (file), .record_size = (record), __VA_ARGS__                         \
	}
#define META(number, ...)                                                                                              \
	{                                                                                                              \
		.kind = PHASE_CREATE, .files = (number), __VA_ARGS__                                                   \
	}

static const struct valid_case valid_cases[] = {
	{ "plain", DATA(MIB, 4096, .amount = 0), LS_OK, NULL },
	{ "record as large as the file", DATA(MIB, MIB, .amount = 0), LS_OK, NULL },
	{ "record larger than the file", DATA(MIB, MIB + 1, .amount = 0), LS_E_RANGE,
	    "record_size: 1048577 is larger than file_size, 1048576" },
	{ "no record size", DATA(MIB, 0, .amount = 0), LS_E_RANGE, "record_size: must be at least one byte" },
	{ "no file size", DATA(0, 4096, .amount = 0), LS_E_RANGE, "file_size: must be at least one byte" },
	{ "odd sizes", DATA(1000003, 7, .amount = 0), LS_OK, NULL },
	{ "amount of one record", DATA(MIB, 4096, .amount = 4096), LS_OK, NULL },
	{ "amount below a record", DATA(MIB, 4096, .amount = 4095), LS_E_RANGE,
	    "amount: 4095 is smaller than record_size, 4096" },
	{ "depth without engine", DATA(MIB, 4096, .depth = 8), LS_E_INVALID,
	    "depth: 8 needs engine io_uring or libaio, not sync" },
	{ "depth with null", DATA(MIB, 4096, .depth = 2, .engine = ENGINE_NULL), LS_E_INVALID,
	    "depth: 2 needs engine io_uring or libaio, not null" },
	{ "mmap is not direct", DATA(MIB, 4096, .engine = ENGINE_MMAP, .direct = true), LS_E_INVALID,
	    "direct: engine mmap goes through the page cache, it cannot be direct" },
	{ "mmap and O_SYNC", DATA(MIB, 4096, .engine = ENGINE_MMAP, .sync_writes = SYNC_WRITES_DSYNC), LS_E_INVALID,
	    "sync_writes: has no effect on a mapping; engine mmap has mmap_sync, or fsync at the end" },
	{ "mmap one at a time", DATA(MIB, 4096, .engine = ENGINE_MMAP, .depth = 2), LS_E_INVALID,
	    "depth: 2 needs engine io_uring or libaio, not mmap" },
	{ "msync without mmap", DATA(MIB, 4096, .mmap_sync = MMAP_SYNC_ASYNC), LS_E_INVALID,
	    "mmap_sync: needs engine mmap, not sync" },
	{ "mmap", DATA(MIB, 47008, .engine = ENGINE_MMAP, .mmap_sync = MMAP_SYNC_SYNC), LS_OK, NULL },
	{ "polling by libaio", DATA(MIB, 4096, .engine = ENGINE_LIBAIO, .io_poll = true, .direct = true), LS_E_INVALID,
	    "io_poll: needs engine io_uring, not libaio" },
	{ "polling the page cache", DATA(MIB, 4096, .engine = ENGINE_IO_URING, .io_poll = true), LS_E_INVALID,
	    "io_poll: needs direct, the page cache cannot be polled" },
	{ "the kernel's thread for sync", DATA(MIB, 4096, .sq_poll = true), LS_E_INVALID,
	    "sq_poll: needs engine io_uring, not sync" },
	{ "both polled", DATA(MIB, 4096, .engine = ENGINE_IO_URING, .io_poll = true, .sq_poll = true, .direct = true),
	    LS_OK, NULL },
	{ "record locks in a queue", DATA(MIB, 4096, .engine = ENGINE_IO_URING, .locks = LOCKS_RECORD), LS_E_INVALID,
	    "locks: record needs an engine with one operation at a time (sync, mmap), not io_uring" },
	{ "a file's lock around a queue", DATA(MIB, 4096, .engine = ENGINE_LIBAIO, .locks = LOCKS_FILE), LS_OK, NULL },
	{ "locks of nothing", DATA(MIB, 4096, .engine = ENGINE_NULL, .locks = LOCKS_FILE), LS_E_INVALID,
	    "locks: engine null touches no file" },
	{ "many files in one", DATA(MIB, 4096, .files_per_worker = 2, .layout = LAYOUT_NODE), LS_E_INVALID,
	    "files_per_worker: 2 need layout worker, not node" },
	{ "many files", DATA(MIB, 4096, .files_per_worker = 2), LS_OK, NULL },
	{ "depth with io_uring", DATA(MIB, 4096, .depth = 8, .engine = ENGINE_IO_URING), LS_OK, NULL },
	{ "depth with libaio", DATA(MIB, 4096, .depth = 8, .engine = ENGINE_LIBAIO), LS_OK, NULL },
	{ "direct", DATA(MIB, 4096, .direct = true), LS_OK, NULL },
	{ "direct, record not aligned", DATA(MIB, 4000, .direct = true), LS_E_INVALID,
	    "record_size: 4000 is not a multiple of 512, which direct needs" },
	{ "direct, file not aligned", DATA(MIB + 1, 4096, .direct = true), LS_E_INVALID,
	    "file_size: 1048577 is not a multiple of 512, which direct needs" },
	{ "direct, amount not aligned", DATA(MIB, 4096, .direct = true, .amount = 5000), LS_E_INVALID,
	    "amount: 5000 is not a multiple of 512, which direct needs" },
	{ "deadline too early", DATA(MIB, 4096, .time = 5 * NS_PER_S, .warmup = NS_PER_S, .deadline = 5 * NS_PER_S),
	    LS_E_RANGE, "deadline: shorter than time and warmup together" },
	{ "deadline in time", DATA(MIB, 4096, .time = 5 * NS_PER_S, .warmup = NS_PER_S, .deadline = 6 * NS_PER_S),
	    LS_OK, NULL },
	{ "steady", DATA(MIB, 4096, .time = 60 * NS_PER_S, .steady_window = 5 * NS_PER_S), LS_OK, NULL },
	{ "steady, intervals too short", DATA(MIB, 4096, .time = 60 * NS_PER_S, .steady_window = 5 * NS_PER_S - 1),
	    LS_E_RANGE, "steady_window: at least 5 s, a second for each of its intervals" },
	{ "steady without a bound", DATA(MIB, 4096, .steady_window = 5 * NS_PER_S), LS_E_INVALID,
	    "steady_window: needs time, the bound for a phase that does not become steady" },
	{ "steady for longer than its time", DATA(MIB, 4096, .time = 5 * NS_PER_S, .steady_window = 6 * NS_PER_S),
	    LS_E_RANGE, "steady_window: longer than time: no window would fit" },
	{ "steady, but for an amount",
	    DATA(MIB, 4096, .time = 60 * NS_PER_S, .steady_window = 5 * NS_PER_S, .amount = MIB), LS_E_INVALID,
	    "steady_window: not where the phase ends with its work (amount)" },
	{ "files", META(10, .size = 0), LS_OK, NULL },
	{ "no files", META(0, .size = 0), LS_E_RANGE, "files: must be at least one" },
	{ "sizes of data do not matter to metadata", META(10, .record_size = 0), LS_OK, NULL },
	{ "kind out of range", { .kind = PHASE_KIND_COUNT }, LS_E_INVALID, NULL },
	{ "kind below range", { .kind = -1 }, LS_E_INVALID, "kind: -1 is no kind of phase" },
};

static void
test_validation_names_the_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(valid_cases); i++) {
		const struct valid_case *c = &valid_cases[i];
		struct ls_err err = { 0 };
		enum ls_rc rc = phase_validate(&c->phase, &err);

		if (rc != c->rc || (c->text != NULL && strcmp(err.text, c->text) != 0))
			fail_msg("%s: got %d \"%s\", wanted %d \"%s\"", c->name, rc, err.text, c->rc,
			    c->text != NULL ? c->text : "");
		assert_int_equal(phase_validate(&c->phase, NULL), c->rc);
	}
}

struct device_case {
	const char *name;
	struct phase phase;
	const char *text; /* NULL: allowed */
};

#define DEVICE(...)                                                                                                    \
	{                                                                                                              \
		.kind = PHASE_READ, .file_size = 1 << 20, .record_size = 4096, .depth = 1, .direct = true, __VA_ARGS__ \
	}

static char disk[] = "/dev/sdz", relative_disk[] = "sdz", sneaky_disk[] = "/dev/shm/../sdz";

static const struct device_case device_cases[] = {
	{ "read", DEVICE(.device = disk), NULL },
	{ "not direct", { .kind = PHASE_READ, .file_size = 1 << 20, .record_size = 4096, .depth = 1, .device = disk },
	    "direct: must be true for a raw device" },
	{ "relative", DEVICE(.device = relative_disk), "device: \"sdz\" is not the full path of a device" },
	{ "upwards", DEVICE(.device = sneaky_disk), "device: \"/dev/shm/../sdz\" is not the full path of a device" },
	{ "fsync", DEVICE(.device = disk, .fsync = true), "fsync: not with a raw device" },
	{ "shift", DEVICE(.device = disk, .shift = 1), "shift: not with a raw device" },
	{ "prime", DEVICE(.device = disk, .prime = true), "prime: not with a raw device" },
	{ "locks", DEVICE(.device = disk, .locks = LOCKS_FILE), "locks: not with a raw device" },
	{ "many files", DEVICE(.device = disk, .files_per_worker = 2), "files_per_worker: not with a raw device" },
	{ "mapped", DEVICE(.device = disk, .engine = ENGINE_MMAP),
	    "direct: engine mmap goes through the page cache, it cannot be direct" },
};

/* Each kind that can write is refused, whatever else its parameters are. */
static void
test_a_raw_device_is_only_read(void **state)
{
	struct phase p = DEVICE(.device = disk);
	struct ls_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(device_cases); i++) {
		const struct device_case *c = &device_cases[i];
		enum ls_rc rc = phase_validate(&c->phase, &err);
		if ((rc == LS_OK) != (c->text == NULL) || (c->text != NULL && strcmp(err.text, c->text) != 0))
			fail_msg("%s: got %d \"%s\"", c->name, rc, rc != LS_OK ? err.text : "");
	}
	for (p.kind = 0; p.kind < PHASE_KIND_COUNT; p.kind++) {
		const struct phase_kind_info *info = phase_kind_info((enum phase_kind)p.kind);
		if ((info->groups & PHASE_DATA) == 0)
			continue;
		enum ls_rc rc = phase_validate(&p, &err);
		if (info->op != OP_READ)
			assert_int_equal(rc, LS_E_INVALID);
		if (rc == LS_OK)
			assert_int_equal(info->groups & (PHASE_SYNCS | PHASE_MIXED_WORK | PHASE_SEEK), 0);
	}
}

struct place_case {
	const char *name;
	int layout;
	uint64_t file_size, record_size;
	uint64_t workers[4]; /* per node */
};

static const struct place_case place_cases[] = {
	{ "a file per worker", LAYOUT_WORKER, 1000, 64, { 1, 2, 3, 4 } },
	{ "a file per worker, an idle node", LAYOUT_WORKER, 1000, 1000, { 2, 0, 1, 0 } },
	{ "a file per node", LAYOUT_NODE, 1000, 64, { 3, 1, 16, 5 } },
	{ "shared, records go up evenly", LAYOUT_SHARED, 640, 64, { 1, 1, 2, 1 } },
	{ "shared, records do not go up", LAYOUT_SHARED, 13 * 64, 64, { 3, 1, 2, 1 } },
	{ "shared, short last record", LAYOUT_SHARED, 1000003, 4096, { 3, 2, 1, 7 } },
	{ "shared, one record each, the last short", LAYOUT_SHARED, 10 * 64 - 1, 64, { 4, 3, 2, 1 } },
	{ "shared, an idle node", LAYOUT_SHARED, 1000, 10, { 0, 4, 0, 3 } },
	{ "shared, one worker", LAYOUT_SHARED, 1000, 999, { 0, 0, 1, 0 } },
	{ "shared, huge", LAYOUT_SHARED, INT64_MAX, 1 << 30, { 7, 6, 5, 4 } },
};

/* Interleaved: each record of the file is where the rule says, none is left out. */
struct interleaved_case {
	const char *name;
	uint64_t file_size, record_size;
	uint64_t workers[4];
};

static const struct interleaved_case interleaved_cases[] = {
	{ "records go up", 640, 64, { 1, 1, 2, 1 } },
	{ "records do not go up", 13 * 64, 64, { 3, 1, 2, 1 } },
	{ "short last record", 1000003, 4096, { 3, 2, 1, 7 } },
	{ "IOR's odd size", 47008 * 31 + 1, 47008, { 2, 2, 2, 0 } },
	{ "a byte each", 10, 1, { 4, 3, 2, 1 } },
	{ "an idle node", 1000, 10, { 0, 4, 0, 3 } },
	{ "one worker", 1000, 999, { 0, 0, 1, 0 } },
};

static void
check_interleaved(const struct interleaved_case *c)
{
	struct phase p = { .kind = PHASE_WRITE,
		.layout = LAYOUT_INTERLEAVED,
		.file_size = c->file_size,
		.record_size = c->record_size };
	uint64_t total = c->workers[0] + c->workers[1] + c->workers[2] + c->workers[3];
	uint64_t rank = 0, bytes = 0;
	struct phase_place place;

	for (uint64_t node = 0; node < 4; node++)
		for (uint64_t w = 0; w < c->workers[node]; w++, rank++) {
			uint64_t want = 0;
			for (uint64_t r = rank; r * c->record_size < c->file_size; r += total)
				want += LS_MIN(c->record_size, c->file_size - r * c->record_size);
			assert_int_equal(phase_place(&p, c->workers, 4, node, w, &place, NULL), LS_OK);
			assert_int_equal(place.file, 0);
			assert_int_equal(place.offset, rank * c->record_size);
			assert_int_equal(place.step, total * c->record_size);
			if (place.length != want)
				fail_msg("%s: rank %d has %llu bytes, wanted %llu", c->name, (int)rank,
				    (unsigned long long)place.length, (unsigned long long)want);
			bytes += place.length;
		}
	assert_int_equal(bytes, c->file_size);
}

static void
test_the_same_records_are_everybodys(void **state)
{
	static const uint64_t workers[] = { 2, 0, 1 };
	struct phase p = { .kind = PHASE_WRITE, .layout = LAYOUT_SAME, .file_size = 1000, .record_size = 64 };
	uint64_t bytes, files;

	(void)state;
	for (uint64_t node = 0; node < 3; node++)
		for (uint64_t w = 0; w < workers[node]; w++) {
			struct phase_place place;

			assert_int_equal(phase_place(&p, workers, 3, node, w, &place, NULL), LS_OK);
			assert_int_equal(place.file, 0);
			assert_int_equal(place.offset, 0);
			assert_int_equal(place.length, 1000);
			assert_int_equal(place.step, 64);
		}
	/* One file, gone over by each. */
	assert_int_equal(phase_bytes_once(&p, 3, 3), 3000);
	phase_footprint(&p, 3, 3, &bytes, &files);
	assert_int_equal(files, 1);
	assert_int_equal(bytes, 4096);
}

static void
test_interleaved_records_go_round_all_workers(void **state)
{
	static const uint64_t many[] = { 3, 2 };
	struct phase huge = {
		.kind = PHASE_READ, .layout = LAYOUT_INTERLEAVED, .file_size = INT64_MAX, .record_size = 1 << 30
	};
	struct phase_place a, b;
	struct ls_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(interleaved_cases); i++)
		check_interleaved(&interleaved_cases[i]);
	assert_int_equal(phase_place(&huge, (uint64_t[]){ 1, 1 }, 2, 0, 0, &a, NULL), LS_OK);
	assert_int_equal(phase_place(&huge, (uint64_t[]){ 1, 1 }, 2, 1, 0, &b, NULL), LS_OK);
	assert_int_equal(a.length + b.length, INT64_MAX);
	huge.file_size = 4ULL << 30;
	assert_int_equal(phase_place(&huge, many, 2, 0, 0, &a, &err), LS_E_RANGE);
	assert_string_equal(
	    err.text, "file_size: 4294967296 bytes are 4 records, too few for 5 workers that share the file");
}

/* Parts of a file follow one another without a gap, begin at records and differ by one record at most. */
static void
check_places(const struct place_case *c)
{
	struct phase p = {
		.kind = PHASE_WRITE, .layout = c->layout, .file_size = c->file_size, .record_size = c->record_size
	};
	uint64_t next[16] = { 0 }, least = UINT64_MAX, most = 0, rank = 0;
	struct phase_place place;

	for (uint64_t node = 0; node < 4; node++)
		for (uint64_t w = 0; w < c->workers[node]; w++, rank++) {
			assert_int_equal(phase_place(&p, c->workers, 4, node, w, &place, NULL), LS_OK);
			assert_true(place.file < ARRAY_LEN(next));
			if (c->layout == LAYOUT_WORKER)
				assert_int_equal(place.file, rank);
			if (place.offset != next[place.file] || place.offset % c->record_size != 0 || place.length == 0)
				fail_msg("%s: worker %d of node %d begins at %llu, wanted %llu", c->name, (int)w,
				    (int)node, (unsigned long long)place.offset, (unsigned long long)next[place.file]);
			next[place.file] = place.offset + place.length;
			least = LS_MIN(least, place.length);
			most = LS_MAX(most, place.length);
		}
	for (size_t i = 0; i < ARRAY_LEN(next); i++)
		if (next[i] != 0 && next[i] != c->file_size)
			fail_msg("%s: file %zu is covered up to %llu", c->name, i, (unsigned long long)next[i]);
	if (c->layout == LAYOUT_SHARED && most - least >= 2 * c->record_size)
		fail_msg(
		    "%s: parts of %llu to %llu bytes", c->name, (unsigned long long)least, (unsigned long long)most);
}

static void
test_every_byte_has_one_worker(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(place_cases); i++)
		check_places(&place_cases[i]);
}

static void
test_every_byte_has_one_worker_whatever_the_numbers(void **state)
{
	struct place_case c = { .name = "sweep", .layout = LAYOUT_SHARED, .record_size = 8 };

	(void)state;
	for (uint64_t size = 80; size < 200; size++)
		for (uint64_t n = 1; n <= 10; n++) {
			c.file_size = size;
			memcpy(c.workers, (uint64_t[]){ n / 2, 0, n - n / 2, 0 }, sizeof(c.workers));
			check_places(&c);
		}
}

static void
test_more_workers_than_records_is_an_error(void **state)
{
	static const uint64_t workers[] = { 3, 2 };
	struct phase p = { .kind = PHASE_READ, .layout = LAYOUT_SHARED, .file_size = 4 * 64, .record_size = 64 };
	struct phase_place place = { .file = 77 };
	struct ls_err err;

	(void)state;
	assert_int_equal(phase_place(&p, workers, 2, 0, 0, &place, &err), LS_E_RANGE);
	assert_string_equal(err.text, "file_size: 256 bytes are 4 records, too few for 5 workers that share the file");
	assert_int_equal(place.file, 77);
	p.layout = LAYOUT_NODE;
	assert_int_equal(phase_place(&p, workers, 2, 1, 1, &place, &err), LS_OK);
	assert_int_equal(place.file, 1);
	assert_int_equal(place.offset, 128);
}

static void
test_owner_and_user_are_inverse(void **state)
{
	struct phase p = { .kind = PHASE_READ };

	(void)state;
	for (uint64_t n = 1; n <= 5; n++)
		for (p.shift = 0; p.shift <= 11; p.shift++)
			for (uint64_t node = 0; node < n; node++) {
				assert_int_equal(phase_owner(&p, node, n), (node + p.shift) % n);
				assert_int_equal(phase_user(&p, phase_owner(&p, node, n), n), node);
				assert_int_equal(phase_owner(&p, phase_user(&p, node, n), n), node);
			}
}

/* With as many workers everywhere, the place is the one that the owner has without a shift. */
static void
test_shifted_places_are_the_owners(void **state)
{
	static const uint64_t workers[] = { 3, 3, 3 };
	struct phase p = { .kind = PHASE_READ, .file_size = 100 * 64, .record_size = 64 };
	struct phase own = p;
	struct phase_place place, owners;

	(void)state;
	for (own.layout = LAYOUT_WORKER; own.layout <= LAYOUT_INTERLEAVED; own.layout++)
		for (uint64_t node = 0; node < 3; node++)
			for (uint64_t w = 0; w < 3; w++) {
				p.layout = own.layout;
				p.shift = 2;
				assert_int_equal(phase_place(&p, workers, 3, node, w, &place, NULL), LS_OK);
				assert_int_equal(
				    phase_place(&own, workers, 3, (node + 2) % 3, w, &owners, NULL), LS_OK);
				assert_memory_equal(&place, &owners, sizeof(place));
			}
}

/* The files are cut for those who use them: every byte has one worker whoever that is. */
static void
test_shifted_places_with_other_numbers_of_workers(void **state)
{
	static const uint64_t workers[] = { 1, 0, 4 };
	struct phase p = {
		.kind = PHASE_READ, .file_size = 100 * 64, .record_size = 64, .layout = LAYOUT_NODE, .shift = 1
	};
	struct phase_place place;
	uint64_t next = 0;

	(void)state;
	for (uint64_t w = 0; w < 4; w++, next = place.offset + place.length) {
		assert_int_equal(phase_place(&p, workers, 3, 2, w, &place, NULL), LS_OK);
		assert_int_equal(place.file, 0);
		assert_int_equal(place.offset, next);
	}
	assert_int_equal(next, p.file_size);
	p.layout = LAYOUT_WORKER; /* owner 0 is used by node 2, 1 by 0, 2 by 1 */
	assert_int_equal(phase_place(&p, workers, 3, 2, 3, &place, NULL), LS_OK);
	assert_int_equal(place.file, 3);
	assert_int_equal(phase_place(&p, workers, 3, 0, 0, &place, NULL), LS_OK);
	assert_int_equal(place.file, 4);
}

static void
test_no_such_worker_is_an_error(void **state)
{
	static const uint64_t workers[] = { 3, 0 };
	struct phase p = { .kind = PHASE_READ, .layout = LAYOUT_WORKER, .file_size = 64, .record_size = 64 };
	struct phase_place place;

	(void)state;
	assert_int_equal(phase_place(&p, workers, 2, 0, 3, &place, NULL), LS_E_RANGE);
	assert_int_equal(phase_place(&p, workers, 2, 1, 0, &place, NULL), LS_E_RANGE);
	assert_int_equal(phase_place(&p, workers, 2, 2, 0, &place, NULL), LS_E_RANGE);
}

struct footprint_case {
	const char *name;
	struct phase phase;
	uint64_t bytes, files;
};

static const struct footprint_case footprint_cases[] = {
	{ "a file per worker", DATA(MIB, 4096, .layout = LAYOUT_WORKER), 6 * MIB, 6 },
	{ "a file per node", DATA(MIB, 4096, .layout = LAYOUT_NODE), 3 * MIB, 3 },
	{ "one file", DATA(MIB, 4096, .layout = LAYOUT_SHARED), MIB, 1 },
	{ "a part of a block is a block", DATA(4097, 4096, .amount = 0), 6 * 8192, 6 },
	{ "empty files", META(10, .size = 0), 0, 60 },
	{ "small files", META(10, .size = 1), 60 * 4096, 60 },
	{ "too large to tell", DATA(INT64_MAX, 4096, .amount = 0), UINT64_MAX, 6 },
};

static void
test_footprint_of_a_phase(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(footprint_cases); i++) {
		const struct footprint_case *c = &footprint_cases[i];
		uint64_t bytes, files;

		phase_footprint(&c->phase, 3, 6, &bytes, &files);
		if (bytes != c->bytes || files != c->files)
			fail_msg("%s: %llu bytes in %llu files", c->name, (unsigned long long)bytes,
			    (unsigned long long)files);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_tables_are_complete_and_end),
		cmocka_unit_test(test_title_is_the_name_or_the_kind),
		cmocka_unit_test(test_parameters_apply_by_group),
		cmocka_unit_test(test_validation_names_the_field),
		cmocka_unit_test(test_a_raw_device_is_only_read),
		cmocka_unit_test(test_the_same_records_are_everybodys),
		cmocka_unit_test(test_interleaved_records_go_round_all_workers),
		cmocka_unit_test(test_every_byte_has_one_worker),
		cmocka_unit_test(test_every_byte_has_one_worker_whatever_the_numbers),
		cmocka_unit_test(test_more_workers_than_records_is_an_error),
		cmocka_unit_test(test_owner_and_user_are_inverse),
		cmocka_unit_test(test_shifted_places_are_the_owners),
		cmocka_unit_test(test_shifted_places_with_other_numbers_of_workers),
		cmocka_unit_test(test_no_such_worker_is_an_error),
		cmocka_unit_test(test_footprint_of_a_phase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
