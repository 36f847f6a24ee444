/* fio job files: what passes, what does not, how they are parted. */
#include "proto/model/fio_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct refused_case {
	const char *text;
	const char *says;
};

static const struct refused_case refused[] = {
	{ "", "no section" },
	{ "[global]\nsize=1m\n", "no section" },
	{ "size=1m\n[a]\n", "line 1: an option stands before the first section" },
	{ "[a]\nexec_prerun=/bin/true\n", "line 2: this option is not allowed" },
	{ "[a]\n  exec_postrun = /bin/true\n", "line 2: this option is not allowed" },
	{ "[a]\ndirectory=/tmp\n", "not allowed" },
	{ "[a]\nioengine=external:/tmp/x.so\n", "not allowed" },
	{ "[a]\nioengine=exec\n", "this I/O engine is not allowed" },
	{ "[a]\nfilename=x/y\n", "not allowed here" },
	{ "[a]\nfilename=..\n", "names of files" },
	{ "[a]\nfilename=a:..\n", "names of files" },
	{ "[a]\nfilename=\n", "a value is missing" },
	{ "[a]\nsize=${HOME}\n", "not allowed here" },
	{ "[a]\nbs=4k;id\n", "not allowed here" },
	{ "[a]\nnumjobs=0\n", "numjobs" },
	{ "[a]\nnumjobs=257\n", "numjobs" },
	{ "[a]\nnumjobs=200\n[b]\nnumjobs=100\n", "more than 256 processes" },
	{ "[a;id]\n", "line 1: names of sections" },
	{ "[../a]\n", "names of sections" },
	{ "[.a]\n", "names of sections" },
	{ "[a b]\n", "names of sections" },
	{ "[a\n", "a section is meant" },
	{ "[a] x\n", "a section is meant" },
	{ "include /etc/passwd\n", "before the first section" },
	{ "[a]\ninclude /etc/passwd\n", "not allowed" },
};

static void
test_what_could_do_harm_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct fio_job job = { 0 };
		struct ls_err err;

		if (fio_job_parse(refused[i].text, &job, &err) == LS_OK)
			fail_msg("passed: %s", refused[i].text);
		if (strstr(err.text, refused[i].says) == NULL)
			fail_msg("%s: %s", refused[i].text, err.text);
		assert_null(job.sections);
	}
}

static const char parts[] = "; a comment\n[global]\nsize=4m\nioengine=libaio\r\ndirect=1\n\n[one]\nrw = write\n"
			    "[side]\nnumjobs=3\n[two]\nstonewall\nrw=randread\nsize=1g\n[global]\nbs=4k\n"
			    "[three]\nstonewall=0\n[four]\nwait_for_previous\n";

static void
test_stonewalls_part_the_job(void **state)
{
	struct fio_job job;
	struct ls_err err;
	char title[64];

	(void)state;
	assert_int_equal(fio_job_parse(parts, &job, &err), LS_OK);
	assert_int_equal(job.stages, 3);
	assert_int_equal(fio_job_processes(&job, 0), 4);
	assert_int_equal(fio_job_processes(&job, 1), 2);
	assert_int_equal(fio_job_processes(&job, 2), 1);
	assert_string_equal(fio_job_title(&job, 0, title, sizeof(title)), "one+side");
	assert_string_equal(fio_job_title(&job, 1, title, sizeof(title)), "two+three");
	assert_true(job.direct);
	assert_int_equal(job.counts, FIO_COUNTS_DEVICE);
	assert_int_equal(fio_job_bytes(&job), (4ULL << 20) * 6 + (1ULL << 30));
	fio_job_fini(&job);
}

static void
test_a_part_is_written_with_what_is_global(void **state)
{
	struct fio_job job;
	struct sink out = { 0 };
	struct ls_err err;

	(void)state;
	assert_int_equal(fio_job_parse(parts, &job, &err), LS_OK);
	fio_job_render(&job, 1, "exec_prerun=/x --gate\n", &out);
	assert_string_equal(out.text,
	    "[global]\nexec_prerun=/x "
	    "--gate\n[global]\nsize=4m\nioengine=libaio\ndirect=1\n[two]\nrw=randread\nsize=1g\n"
	    "[global]\nbs=4k\n[three]\n");
	sink_free(&out);
	fio_job_fini(&job);
}

static void
test_a_global_stonewall_parts_each_section(void **state)
{
	struct fio_job job;
	struct ls_err err;

	(void)state;
	assert_int_equal(fio_job_parse("[global]\nstonewall\n[a]\n[b]\n[c]\nioengine=mmap\n", &job, &err), LS_OK);
	assert_int_equal(job.stages, 3);
	assert_false(job.direct);
	fio_job_fini(&job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_could_do_harm_is_refused),
		cmocka_unit_test(test_stonewalls_part_the_job),
		cmocka_unit_test(test_a_part_is_written_with_what_is_global),
		cmocka_unit_test(test_a_global_stonewall_parts_each_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
