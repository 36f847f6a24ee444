/* What is checked of a job before it meets a node, and the space it needs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "proto/model/job.h"

#define MIB (1024ULL * 1024)

static struct phase write_phase = { .kind = PHASE_WRITE, .file_size = MIB, .record_size = 4096, .depth = 1 };
static struct phase bad_phase = { .kind = PHASE_WRITE, .file_size = MIB, .record_size = 2 * MIB, .depth = 1 };

struct job_case {
	const char *name;
	struct job job;
	enum ls_rc rc;
	const char *text;
};

static char name_a[] = "a", name_b[] = "b.example_1-x", name_slash[] = "a/b", name_dots[] = "..", name_empty[] = "";
static char name_umlaut[] = "\xc3\xa4";
static char *nodes_ab[] = { name_a, name_b };
static char *nodes_twice[] = { name_b, name_a, name_b };
static char *nodes_slash[] = { name_a, name_slash };
static char *nodes_dots[] = { name_dots };
static char *nodes_empty[] = { name_empty };
static char *nodes_umlaut[] = { name_umlaut };
static char path_good[] = "/mnt/a/..b/.../c", path_relative[] = "mnt", path_up[] = "/mnt/../etc",
	    path_end[] = "/mnt/..";
static char path_empty[] = "";
static struct phase bad_second[2];

#define JOB(...)                                                                                                       \
	{                                                                                                              \
		.path = path_good, .min_nodes = 1, .workers = 1, .repeat = 1, .phases = &write_phase,                  \
		.phases_count = 1, __VA_ARGS__                                                                         \
	}
#define NODES(list) .nodes = (list), .nodes_count = ARRAY_LEN(list)

static const struct job_case cases[] = {
	{ "plain", JOB(.grace = 0), LS_OK, NULL },
	{ "no path", { .path = NULL }, LS_E_INVALID, "path: missing; it names a directory on the volume under test" },
	{ "empty path", { .path = path_empty }, LS_E_INVALID,
	    "path: missing; it names a directory on the volume under test" },
	{ "relative path", { .path = path_relative }, LS_E_INVALID, "path: \"mnt\" is not absolute" },
	{ "path with ..", { .path = path_up }, LS_E_INVALID, "path: \"/mnt/../etc\" has a \"..\" in it" },
	{ "path ending in ..", { .path = path_end }, LS_E_INVALID, "path: \"/mnt/..\" has a \"..\" in it" },
	{ "two nodes", JOB(NODES(nodes_ab)), LS_OK, NULL },
	{ "a node twice", JOB(NODES(nodes_twice)), LS_E_INVALID, "nodes: \"b.example_1-x\" is named twice" },
	{ "a node name with a slash", JOB(NODES(nodes_slash)), LS_E_INVALID,
	    "nodes[1]: \"a/b\" is no node name (letters, digits, '.', '_', '-', at most 63 of them)" },
	{ "a node name of dots", JOB(NODES(nodes_dots)), LS_E_INVALID,
	    "nodes[0]: \"..\" is no node name (letters, digits, '.', '_', '-', at most 63 of them)" },
	{ "an empty node name", JOB(NODES(nodes_empty)), LS_E_INVALID,
	    "nodes[0]: \"\" is no node name (letters, digits, '.', '_', '-', at most 63 of them)" },
	{ "a node name not ASCII", JOB(NODES(nodes_umlaut)), LS_E_INVALID,
	    "nodes[0]: \"\xc3\xa4\" is no node name (letters, digits, '.', '_', '-', at most 63 of them)" },
	{ "min_nodes", { .path = path_good, .min_nodes = 3, NODES(nodes_ab) }, LS_E_INVALID,
	    "min_nodes: 3 are more than the 2 nodes that are named" },
	{ "no phases", { .path = path_good, .workers = 1, .repeat = 1 }, LS_E_INVALID,
	    "phases: at least one is needed" },
	{ "no workers", { .path = path_good, .repeat = 1 }, LS_E_RANGE, "workers: must be at least 1" },
	{ "no repetition", { .path = path_good, .workers = 1 }, LS_E_RANGE, "repeat: must be at least 1" },
	{ "too many results",
	    { .path = path_good, .workers = 1, .repeat = 1000001, .phases = &write_phase, .phases_count = 1 },
	    LS_E_RANGE, "repeat: 1000001 times 1 phases are more than 1000000 results" },
	{ "a bad phase", { .path = path_good, .workers = 1, .repeat = 1, .phases = bad_second, .phases_count = 2 },
	    LS_E_RANGE, "phases[1].record_size: 2097152 is larger than file_size, 1048576" },
};

static void
test_validation_names_the_place(void **state)
{
	(void)state;
	bad_second[0] = write_phase;
	bad_second[1] = bad_phase;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct job_case *c = &cases[i];
		struct ls_err err = { 0 };
		enum ls_rc rc = job_validate(&c->job, &err);

		if (rc != c->rc || (c->text != NULL && strcmp(err.text, c->text) != 0))
			fail_msg("%s: got %d \"%s\", wanted %d \"%s\"", c->name, rc, err.text, c->rc,
			    c->text != NULL ? c->text : "");
		assert_int_equal(job_validate(&c->job, NULL), c->rc);
	}
}

static void
test_phase_has_its_own_workers_or_the_jobs(void **state)
{
	struct job job = { .workers = 4 };
	struct phase p = { .workers = 0 };

	(void)state;
	assert_int_equal(job_phase_workers(&job, &p), 4);
	p.workers = 7;
	assert_int_equal(job_phase_workers(&job, &p), 7);
}

/* Two nodes, two workers each unless the phase says otherwise. */
struct footprint_case {
	const char *name;
	struct phase phases[3];
	size_t count;
	uint64_t bytes, files;
};

#define DATA(...)                                                                                                      \
	{                                                                                                              \
		.record_size = 4096, .depth = 1, __VA_ARGS__                                                           \
	}

static const struct footprint_case footprint_cases[] = {
	{ "no phases", { { 0 } }, 0, 0, 0 },
	{ "the same files again",
	    { DATA(.kind = PHASE_WRITE, .file_size = MIB), DATA(.kind = PHASE_READ, .file_size = MIB) }, 2, 4 * MIB,
	    4 },
	{ "they grow", { DATA(.kind = PHASE_WRITE, .file_size = MIB), DATA(.kind = PHASE_READ, .file_size = 3 * MIB) },
	    2, 12 * MIB, 4 },
	{ "many small, few large: only the few grow",
	    { DATA(.kind = PHASE_WRITE, .file_size = MIB, .workers = 8),
		DATA(.kind = PHASE_WRITE, .file_size = 10 * MIB, .workers = 1) },
	    2, 34 * MIB, 16 },
	{ "layouts stand side by side",
	    { DATA(.kind = PHASE_WRITE, .file_size = MIB),
		DATA(.kind = PHASE_WRITE, .file_size = MIB, .layout = LAYOUT_NODE),
		DATA(.kind = PHASE_WRITE, .file_size = MIB, .layout = LAYOUT_SHARED) },
	    3, 7 * MIB, 7 },
	{ "interleaved and many files have their own",
	    { DATA(.kind = PHASE_WRITE, .file_size = MIB),
		DATA(.kind = PHASE_WRITE, .file_size = MIB, .layout = LAYOUT_INTERLEAVED),
		DATA(.kind = PHASE_WRITE, .file_size = MIB, .files_per_worker = 10) },
	    3, (4 + 1 + 40) * MIB, 4 + 1 + 40 },
	{ "files of metadata phases",
	    { { .kind = PHASE_CREATE, .files = 10, .size = 4096 }, { .kind = PHASE_STAT, .files = 25 } }, 2, 160 * 1024,
	    100 },
	{ "private and shared directories",
	    { { .kind = PHASE_CREATE, .files = 10 }, { .kind = PHASE_CREATE, .files = 5, .dirs = DIRS_SHARED } }, 2, 0,
	    60 },
	{ "more than can be told", { DATA(.kind = PHASE_WRITE, .file_size = INT64_MAX) }, 1, UINT64_MAX, 4 },
};

static void
test_footprint_is_the_most_at_any_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(footprint_cases); i++) {
		const struct footprint_case *c = &footprint_cases[i];
		struct phase phases[3];
		struct job job = { .workers = 2, .phases = phases, .phases_count = c->count };
		uint64_t bytes, files;

		memcpy(phases, c->phases, sizeof(phases));
		job_footprint(&job, 2, &bytes, &files);
		if (bytes != c->bytes || files != c->files)
			fail_msg("%s: %llu bytes in %llu files, wanted %llu in %llu", c->name,
			    (unsigned long long)bytes, (unsigned long long)files, (unsigned long long)c->bytes,
			    (unsigned long long)c->files);
	}
}

struct removal_case {
	const char *name;
	struct phase phases[4];
	uint64_t index, repetition, removed; /* with 3 nodes of 2 workers */
};

#define OBJECTS(k, n, ...)                                                                                             \
	{                                                                                                              \
		.kind = (k), .files = (n), __VA_ARGS__                                                                 \
	}

static const struct removal_case removal_cases[] = {
	{ "the first phase", { OBJECTS(PHASE_CREATE, 100, .dirs = 0) }, 0, 0, 0 },
	{ "after a delete", { OBJECTS(PHASE_UNLINK, 100, .dirs = 0), OBJECTS(PHASE_CREATE, 5, .dirs = 0) }, 1, 0, 600 },
	{ "deletes elsewhere count, too",
	    { OBJECTS(PHASE_RMDIR, 100, .dirs = 1), OBJECTS(PHASE_BONNIE_CREATE, 5, .dirs = 0) }, 1, 0, 600 },
	{ "files that must go before the time",
	    { OBJECTS(PHASE_CREATE, 100, .dirs = 0), OBJECTS(PHASE_CREATE, 5, .dirs = 0) }, 1, 0, 600 },
	{ "files that may stay",
	    { OBJECTS(PHASE_CREATE, 100, .dirs = 0), OBJECTS(PHASE_CREATE, 5, .dirs = 1),
		OBJECTS(PHASE_MKDIR, 5, .dirs = 0) },
	    2, 0, 0 },
	{ "a phase that makes none", { OBJECTS(PHASE_DELETE, 100, .dirs = 0), OBJECTS(PHASE_STAT, 100, .dirs = 0) }, 1,
	    0, 0 },
	{ "some left",
	    { OBJECTS(PHASE_CREATE, 100, .dirs = 0), OBJECTS(PHASE_UNLINK, 30, .dirs = 0),
		OBJECTS(PHASE_CREATE, 1, .dirs = 0) },
	    2, 0, 600 },
	{ "the repetition before", { OBJECTS(PHASE_CREATE, 100, .dirs = 0), OBJECTS(PHASE_UNLINK, 100, .dirs = 0) }, 0,
	    1, 600 },
};

static void
test_what_was_removed_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(removal_cases); i++) {
		struct phase phases[4];
		struct job job = { .workers = 2, .phases = phases };

		memcpy(phases, removal_cases[i].phases, sizeof(phases));
		for (size_t k = 0; k < 4 && phases[k].files > 0; k++)
			job.phases_count++;
		uint64_t removed = job_removed_before(&job, 3, removal_cases[i].repetition, removal_cases[i].index);
		if (removed != removal_cases[i].removed)
			fail_msg("%s: %d", removal_cases[i].name, (int)removed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_validation_names_the_place),
		cmocka_unit_test(test_phase_has_its_own_workers_or_the_jobs),
		cmocka_unit_test(test_footprint_is_the_most_at_any_time),
		cmocka_unit_test(test_what_was_removed_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
