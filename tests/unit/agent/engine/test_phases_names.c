/* Directories, links, names, attributes and entries: each phase judged by what is in the directories after it. */
#include "tests/unit/agent/engine/rig.h"

#include <sys/xattr.h>

#include "common/base/clock.h"

#define FILES 40

static struct phase
names_phase(enum phase_kind kind, int dirs, uint64_t directories)
{
	struct phase spec = rig_phase(kind);

	spec.files = FILES;
	spec.dirs = dirs;
	spec.directories = directories;
	return spec;
}

static void
check_ops(struct rig *r, enum op_kind op, uint64_t ops)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct shm_worker *w = rig_worker(r, i);
		assert_int_equal(rig_get(&w->ops), ops);
		assert_int_equal(rig_get(&w->op_ops[op]), ops);
		assert_int_equal(rig_get(&w->latency[op].count), ops);
		assert_true(rig_get_i(&w->end_ns) >= rig_get_i(&w->start_ns));
	}
}

/* Where object i of a worker of node 1 lies. */
static const char *
path_of(char class, const struct phase *spec, uint32_t worker, unsigned i, const char *mark)
{
	static char path[128];
	char below[16] = "", whose[16] = "", top[16];

	if (spec->directories > 1)
		snprintf(below, sizeof(below), "%05u/",
		    (unsigned)(i / ((spec->files + spec->directories - 1) / spec->directories)));
	if (spec->dirs == DIRS_SHARED) {
		snprintf(top, sizeof(top), "shared/%c", class);
		snprintf(whose, sizeof(whose), ".1.%u", worker);
	} else {
		snprintf(top, sizeof(top), "n1/%c.%u", class, worker);
	}
	snprintf(path, sizeof(path), "%s/%s%08x%s%s", top, below, i, whose, mark);
	return path;
}

static bool
is_there(struct rig *r, const char *path, mode_t type, struct stat *st)
{
	return fstatat(r->dir_fd, path, st, AT_SYMLINK_NOFOLLOW) == 0 && (st->st_mode & S_IFMT) == type;
}

static void
check_all(struct rig *r, char class, const struct phase *spec, const char *mark, mode_t type, bool there)
{
	struct stat st;

	for (uint32_t w = 0; w < 2; w++)
		for (unsigned i = 0; i < spec->files; i++) {
			const char *path = path_of(class, spec, w, i, mark);
			if (is_there(r, path, type, &st) != there)
				fail_msg("%s: %s", path, there ? "is not there" : "is there");
		}
}

/* Every way of placing: private and shared, in one directory and spread. */
#define FOR_ALL_PLACES(dirs, spread)                                                                                   \
	for (int dirs = DIRS_PRIVATE; dirs <= DIRS_SHARED; dirs++)                                                     \
		for (uint64_t spread = 1; spread <= 7; spread += 3)

static void
test_mkdir_and_rmdir(void **state)
{
	(void)state;
	FOR_ALL_PLACES(dirs, spread)
	{
		struct rig r;
		struct phase spec = names_phase(PHASE_MKDIR, dirs, spread);
		rig_init(&r, NULL, 1, 2, 2, 2);
		rig_run(&r, &spec);
		check_ops(&r, OP_MKDIR, FILES);
		check_all(&r, 'm', &spec, "", S_IFDIR, true);
		spec.kind = PHASE_RMDIR;
		spec.fsync = true;
		rig_run(&r, &spec);
		check_ops(&r, OP_RMDIR, FILES);
		check_all(&r, 'm', &spec, "", S_IFDIR, false);
		rig_run(&r, &spec); /* made first, then */
		check_ops(&r, OP_RMDIR, FILES);
		rig_fini(&r);
	}
}

static void
test_rename_and_what_follows(void **state)
{
	(void)state;
	FOR_ALL_PLACES(dirs, spread)
	{
		struct rig r;
		struct phase spec = names_phase(PHASE_RENAME, dirs, spread);
		rig_init(&r, NULL, 1, 2, 2, 2);
		rig_run(&r, &spec);
		check_ops(&r, OP_RENAME, FILES);
		check_all(&r, 'd', &spec, "r", S_IFREG, true);
		check_all(&r, 'd', &spec, "", S_IFREG, false);
		spec.kind = PHASE_STAT;
		rig_run(&r, &spec);
		check_ops(&r, OP_STAT, FILES);
		spec.kind = PHASE_LINK; /* wants them with their first names */
		rig_run(&r, &spec);
		check_all(&r, 'd', &spec, "", S_IFREG, true);
		spec.kind = PHASE_RENAME;
		rig_run(&r, &spec);
		rig_run(&r, &spec);
		check_all(&r, 'd', &spec, "", S_IFREG, true);
		rig_run(&r, &spec);
		spec.kind = PHASE_UNLINK;
		rig_run(&r, &spec);
		check_ops(&r, OP_DELETE, FILES);
		check_all(&r, 'd', &spec, "r", S_IFREG, false);
		check_all(&r, 'd', &spec, "", S_IFREG, false);
		rig_fini(&r);
	}
}

/* Cut in the middle of a round, some have one name and some the other: the next phase finds all. */
static void
test_rename_cut_by_time(void **state)
{
	struct rig r;
	struct phase spec = names_phase(PHASE_RENAME, DIRS_PRIVATE, 1);
	size_t renamed = 0;
	struct stat st;

	(void)state;
	spec.files = 20000;
	spec.time = 5 * NS_PER_MS;
	rig_init(&r, "/dev/shm", 1, 2, 2, 2);
	rig_run(&r, &spec);
	for (unsigned i = 0; i < spec.files; i++)
		renamed += is_there(&r, path_of('d', &spec, 0, i, "r"), S_IFREG, &st);
	/* In the first round. A machine that is faster goes round; then it says nothing about the cut. */
	if (rig_get(&rig_worker(&r, 0)->ops) < spec.files)
		assert_int_equal(renamed, rig_get(&rig_worker(&r, 0)->ops));
	spec.kind = PHASE_STAT;
	spec.time = 0;
	rig_run(&r, &spec);
	check_ops(&r, OP_STAT, spec.files);
	spec.kind = PHASE_RENAME;
	spec.files = 10; /* the rest goes first, names become alike */
	rig_run(&r, &spec);
	check_ops(&r, OP_RENAME, 10);
	assert_int_equal(rig_count(&r, "n1/d.0"), 10);
	rig_fini(&r);
}

static void
test_symlinks_lead_to_the_files(void **state)
{
	(void)state;
	FOR_ALL_PLACES(dirs, spread)
	{
		struct rig r;
		struct stat file, link;
		struct phase spec = names_phase(PHASE_CREATE, dirs, spread);
		rig_init(&r, NULL, 1, 2, 2, 2);
		rig_run(&r, &spec);
		spec.kind = PHASE_SYMLINK;
		rig_run(&r, &spec);
		check_ops(&r, OP_SYMLINK, FILES);
		rig_run(&r, &spec); /* the old ones go first */
		check_ops(&r, OP_SYMLINK, FILES);
		check_all(&r, 's', &spec, "", S_IFLNK, true);
		for (uint32_t w = 0; w < 2; w++)
			for (unsigned i = 0; i < FILES; i++) {
				assert_int_equal(fstatat(r.dir_fd, path_of('d', &spec, w, i, ""), &file, 0), 0);
				assert_int_equal(fstatat(r.dir_fd, path_of('s', &spec, w, i, ""), &link, 0), 0);
				assert_int_equal(file.st_ino, link.st_ino);
			}
		rig_fini(&r);
	}
}

static void
test_links_are_second_names(void **state)
{
	(void)state;
	FOR_ALL_PLACES(dirs, spread)
	{
		struct rig r;
		struct stat file, link;
		struct phase spec = names_phase(PHASE_LINK, dirs, spread);
		rig_init(&r, NULL, 1, 2, 2, 2);
		rig_run(&r, &spec);
		check_ops(&r, OP_LINK, FILES);
		for (uint32_t w = 0; w < 2; w++)
			for (unsigned i = 0; i < FILES; i++) {
				assert_int_equal(fstatat(r.dir_fd, path_of('d', &spec, w, i, ""), &file, 0), 0);
				assert_int_equal(fstatat(r.dir_fd, path_of('l', &spec, w, i, ""), &link, 0), 0);
				assert_int_equal(file.st_ino, link.st_ino);
				assert_int_equal(file.st_nlink, 2);
			}
		rig_fini(&r);
	}
}

/* Bytes of the attribute of a file, -1: none. */
static ssize_t
attribute(struct rig *r, const char *rel)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", r->dir, rel);
	return lgetxattr(path, "user.lockstep", NULL, 0);
}

static void
test_attributes(void **state)
{
	struct rig r;

	(void)state;
	FOR_ALL_PLACES(dirs, spread)
	{
		struct phase spec = names_phase(PHASE_SETXATTR, dirs, spread);
		rig_init(&r, NULL, 1, 2, 2, 2);
		uint64_t epoch = rig_arm(&r, &spec, false);
		assert_int_equal(attribute(&r, path_of('d', &spec, 1, 0, "")), -1);
		rig_start(&r, epoch);
		assert_int_equal(rig_wait(&r), SHM_STARTED);
		engine_flush(r.engine);
		rig_no_errors(&r);
		check_ops(&r, OP_SETXATTR, FILES);
		for (unsigned i = 0; i < 2 * FILES; i++)
			assert_int_equal(attribute(&r, path_of('d', &spec, i % 2, i / 2, "")), 32);
		spec.kind = PHASE_GETXATTR;
		rig_run(&r, &spec);
		check_ops(&r, OP_GETXATTR, FILES);
		spec.xattr_size = 77; /* another size: set anew before the time */
		rig_run(&r, &spec);
		assert_int_equal(attribute(&r, path_of('d', &spec, 1, FILES - 1, "")), 77);
		spec.kind = PHASE_SETXATTR; /* and taken away before the time */
		rig_arm(&r, &spec, false);
		assert_int_equal(attribute(&r, path_of('d', &spec, 1, FILES - 1, "")), -1);
		rig_fini(&r);
	}
}

static void
test_reading_directories(void **state)
{
	static const enum phase_kind kinds[] = { PHASE_READDIR, PHASE_READDIR_STAT };

	(void)state;
	FOR_ALL_PLACES(dirs, spread)
	{
		struct rig r;
		rig_init(&r, "/dev/shm", 1, 2, 2, 2);
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			struct phase spec = names_phase(kinds[k], dirs, spread);
			spec.files = 1100; /* more than one call's worth */
			rig_run(&r, &spec);
			check_ops(&r, phase_kind_info(kinds[k])->op, dirs == DIRS_SHARED ? 2200 : 1100);
			spec.time = 30 * NS_PER_MS;
			rig_run(&r, &spec);
			assert_true(rig_get(&rig_worker(&r, 0)->ops) > 0);
		}
		rig_fini(&r);
	}
}

/* Files that are spread otherwise than the phase wants are made anew, and no directory is left over. */
static void
test_another_shape(void **state)
{
	static const struct {
		uint64_t files, directories;
		size_t entries; /* of n1/d.0 */
	} steps[] = { { 40, 1, 40 }, { 40, 8, 8 }, { 40, 3, 3 }, { 20, 3, 3 }, { 5, 9, 9 }, { 12, 0, 12 },
		{ 8, 1, 12 } };

	(void)state;
	for (int dirs = DIRS_PRIVATE; dirs <= DIRS_SHARED; dirs++) {
		struct rig r;
		rig_init(&r, NULL, 1, 2, 2, 2);
		for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
			struct phase spec = names_phase(PHASE_STAT, dirs, steps[i].directories);
			size_t entries = steps[i].entries;
			spec.files = steps[i].files;
			rig_run(&r, &spec);
			check_ops(&r, OP_STAT, spec.files);
			check_all(&r, 'd', &spec, "", S_IFREG, true);
			if (dirs == DIRS_SHARED && steps[i].directories <= 1)
				entries *= 2;
			assert_int_equal(rig_count(&r, dirs == DIRS_SHARED ? "shared/d" : "n1/d.0"), entries);
		}
		rig_fini(&r);
	}
}

/* --- files of another node ------------------------------------------------------------------------------------------- */

/* A second node on the same volume. */
static void
join(struct rig *other, struct rig *first, uint64_t node)
{
	struct ls_err err;

	*other = *first;
	other->node = node;
	assert_int_equal(shm_map_new(4, &other->map, &err), LS_OK);

	struct engine_config config = { .run_dir_fd = first->dir_fd,
		.run_dir = first->dir,
		.node_index = node,
		.node_count = first->nodes,
		.seed = RIG_SEED,
		.spin_ns = 200000,
		.map = other->map };
	assert_int_equal(engine_new(&config, &other->engine, &err), LS_OK);
}

static void
leave(struct rig *other)
{
	engine_free(other->engine);
	shm_map_free(other->map);
}

static uint64_t
arm_step(struct rig *r, const struct phase *spec, bool lay_out)
{
	struct engine_arm arm = { .spec = spec, .node_workers = r->workers, .lay_out = lay_out };
	struct io_error error;
	struct ls_err err;
	uint64_t epoch = 0;

	field_struct_init(&io_error_desc, &error);
	if (engine_arm(r->engine, &arm, &epoch, &error, &err) != LS_OK)
		fail_msg("node %d: %s", (int)r->node, err.text);
	field_struct_fini(&io_error_desc, &error);
	return epoch;
}

/* The whole of a phase on both nodes as the coordinator asks for it. */
static void
run_both(struct rig *a, struct rig *b, const struct phase *spec)
{
	if (phase_is_shifted(spec, 2)) {
		arm_step(a, spec, true);
		arm_step(b, spec, true);
	}
	uint64_t first = arm_step(a, spec, false);
	uint64_t second = arm_step(b, spec, false);
	rig_start(a, first);
	rig_start(b, second);
	assert_int_equal(rig_wait(a), SHM_STARTED);
	assert_int_equal(rig_wait(b), SHM_STARTED);
	engine_flush(a->engine);
	engine_flush(b->engine);
	rig_no_errors(a);
	rig_no_errors(b);
}

/* What each node does is seen in the other's directories, and the owners can go on with them. */
static void
test_shift(void **state)
{
	static const struct {
		enum phase_kind kind;
		uint64_t shift;
		size_t left[4]; /* in n0/d.0, n0/d.1, n1/d.0, n1/d.1 */
	} steps[] = {
		{ PHASE_CREATE, 0, { 30, 0, 30, 30 } }, /* node 0 has one worker, node 1 two */
		{ PHASE_STAT, 1, { 30, 30, 30, 30 } },  /* so that node 0 makes files for worker 1 of node 1 */
		{ PHASE_RENAME, 1, { 30, 30, 30, 30 } }, { PHASE_UNLINK, 1, { 0, 0, 0, 30 } },
		{ PHASE_CREATE, 1, { 30, 30, 30, 30 } }, { PHASE_UNLINK, 0, { 0, 30, 0, 0 } },
		{ PHASE_READDIR, 1, { 30, 30, 30, 0 } }, { PHASE_OPEN_CLOSE, 0, { 30, 30, 30, 30 } },
		{ PHASE_SETXATTR, 1, { 30, 30, 30, 30 } }, { PHASE_GETXATTR, 1, { 30, 30, 30, 30 } },
		{ PHASE_LINK, 1, { 30, 30, 30, 30 } }, { PHASE_SYMLINK, 1, { 30, 30, 30, 30 } },
		{ PHASE_MKDIR, 1, { 30, 30, 30, 30 } }, { PHASE_RMDIR, 1, { 30, 30, 30, 30 } },
		{ PHASE_STAT, 2, { 30, 30, 30, 30 } }, /* round to its own */
	};
	struct rig a, b;

	(void)state;
	rig_init(&a, NULL, 0, 2, 2, 4);
	a.workers[0] = 1;
	join(&b, &a, 1);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		static const char *const paths[] = { "n0/d.0", "n0/d.1", "n1/d.0", "n1/d.1" };
		struct phase spec = rig_phase(steps[i].kind);
		spec.files = 30;
		spec.shift = steps[i].shift;
		run_both(&a, &b, &spec);
		assert_int_equal(rig_get(&rig_worker(&a, 0)->ops), 30);
		assert_int_equal(rig_get(&rig_worker(&b, 0)->ops), 30);
		assert_int_equal(rig_get(&rig_worker(&b, 1)->ops), 30);
		for (size_t p = 0; p < ARRAY_LEN(paths); p++)
			if (rig_count(&a, paths[p]) != steps[i].left[p])
				fail_msg("step %zu: %zu in %s", i, rig_count(&a, paths[p]), paths[p]);
	}
	leave(&b);
	rig_fini(&a);
}

/* What the other node did in a void attempt is undone by the owner, for all that an owner can know. */
static void
test_shift_redo(void **state)
{
	static const struct {
		enum phase_kind kind;
		size_t before;
	} cases[] = { { PHASE_UNLINK, FILES }, { PHASE_CREATE, 0 }, { PHASE_RENAME, FILES } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rig a, b;
		struct phase spec = rig_phase(cases[i].kind);
		struct stat st;
		spec.files = FILES;
		spec.shift = 1;
		rig_init(&a, NULL, 0, 2, 1, 1);
		join(&b, &a, 1);
		run_both(&a, &b, &spec);
		arm_step(&a, &spec, true);
		arm_step(&b, &spec, true);
		assert_int_equal(rig_count(&a, "n0/d.0"), cases[i].before);
		assert_int_equal(rig_count(&a, "n1/d.0"), cases[i].before);
		assert_int_equal(is_there(&a, "n1/d.0/00000000r", S_IFREG, &st), 0);
		leave(&b);
		rig_fini(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mkdir_and_rmdir),
		cmocka_unit_test(test_rename_and_what_follows),
		cmocka_unit_test(test_rename_cut_by_time),
		cmocka_unit_test(test_symlinks_lead_to_the_files),
		cmocka_unit_test(test_links_are_second_names),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_reading_directories),
		cmocka_unit_test(test_another_shape),
		cmocka_unit_test(test_shift),
		cmocka_unit_test(test_shift_redo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
