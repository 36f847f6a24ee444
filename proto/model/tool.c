#include "proto/model/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"
#include "common/base/units.h"
#include "proto/model/fio_job.h"

#define PHASES_MAX     4096
#define MIB            (1ULL << 20)
#define BONNIE_FILES   1024 /* in one of file_count */
#define IOZONE_TESTS   13
#define IOZONE_DEFAULT 3 /* tests 0 and 1, as bits */

static const struct tool_info infos[TOOL_COUNT] = {
#define TOOL(ID, id, kind, name, oldest, help) [TOOL_##ID] = { name, #id, oldest, help, kind },
#include "proto/model/tools.def"
#undef TOOL
};

const char *const tool_names[TOOL_COUNT + 1] = {
#define TOOL(ID, id, kind, name, oldest, help) [TOOL_##ID] = name,
#include "proto/model/tools.def"
#undef TOOL
};

/* When bonnie++ goes through a phase. */
enum bonnie_set { TOOL_BONNIE_DATA = 0, TOOL_BONNIE_CHARACTERS, TOOL_BONNIE_FILES };

static const struct {
	struct tool_step step;
	enum bonnie_set set;
} bonnie_steps[] = {
#define BONNIE_STEP(n, title, kind, test, set) { { n, title, kind, test, #n, n == 0 }, set },
#include "proto/model/tool_steps.def"
#undef BONNIE_STEP
};

static const struct tool_step iozone_steps[] = {
#define IOZONE_STEP(n, gate, kind, test) { n, gate, kind, test, gate, false },
#include "proto/model/tool_steps.def"
#undef IOZONE_STEP
};

const struct tool_info *
tool_info(enum tool_kind tool)
{
	return &infos[tool];
}

enum tool_kind
tool_of(enum phase_kind kind)
{
	for (size_t i = 0; i < TOOL_COUNT; i++)
		if (infos[i].kind == kind)
			return (enum tool_kind)i;
	return TOOL_COUNT;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static size_t
fio_steps(const struct phase *phase, struct tool_step *out, size_t max)
{
	struct fio_job job;
	size_t n;

	if (phase->fio_job == NULL || fio_job_parse(phase->fio_job, &job, NULL) != LS_OK)
		return 0;
	n = LS_MIN(job.stages, max);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct tool_step){ .number = i, .kind = PHASE_RUN_FIO };
	fio_job_fini(&job);
	return n;
}

static size_t
bonnie_steps_of(const struct phase *phase, struct tool_step *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(bonnie_steps) && n < max; i++) {
		enum bonnie_set set = bonnie_steps[i].set;

		if (set == TOOL_BONNIE_FILES ? phase->file_count == 0 : phase->file_size == 0)
			continue;
		if (set == TOOL_BONNIE_CHARACTERS && !phase->characters)
			continue;
		out[n++] = bonnie_steps[i].step;
	}
	return n;
}

static unsigned
iozone_tests(const struct phase *phase)
{
	unsigned bits = 0;

	for (size_t i = 0; i < phase->tests_count; i++)
		if (phase->tests[i] >= 0 && phase->tests[i] < IOZONE_TESTS)
			bits |= 1U << phase->tests[i];
	return phase->tests_count > 0 ? bits : IOZONE_DEFAULT;
}

static size_t
iozone_steps_of(const struct phase *phase, struct tool_step *out, size_t max)
{
	unsigned bits = iozone_tests(phase);
	size_t n = 0;

	if (phase->mode == TOOL_SINGLE) {
		out[0] = (struct tool_step){ .number = 0, .title = "single stream", .kind = PHASE_RUN_IOZONE };
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(iozone_steps) && n < max; i++)
		if (bits & 1U << iozone_steps[i].number)
			out[n++] = iozone_steps[i];
	return n;
}

size_t
tool_steps(const struct phase *phase, struct tool_step *out, size_t max)
{
	switch (tool_of((enum phase_kind)phase->kind)) {
	case TOOL_FIO:
		return fio_steps(phase, out, max);
	case TOOL_BONNIE:
		return bonnie_steps_of(phase, out, max);
	case TOOL_IOZONE:
		return iozone_steps_of(phase, out, max);
	case TOOL_COUNT:
		break;
	}
	return 0;
}

bool
tool_step_of(const struct phase *phase, struct tool_step *out)
{
	struct tool_step steps[TOOL_STEPS_MAX];
	size_t n = tool_steps(phase, steps, TOOL_STEPS_MAX);

	if (phase->step >= n)
		return false;
	*out = steps[phase->step];
	return true;
}

const char *
tool_about(const struct phase *phase, char *buf, size_t len)
{
	char size[32], record[32], small[32];

	units_format_size(phase->file_size, size, sizeof(size));
	buf[0] = '\0';
	switch (tool_of((enum phase_kind)phase->kind)) {
	case TOOL_FIO:
		snprintf(buf, len, "part %" PRIu64 " of %" PRIu64 " of the job file", phase->step + 1, phase->steps);
		break;
	case TOOL_BONNIE:
		snprintf(buf, len,
		    "%s in chunks of %s, %" PRIu64 " files of up to %s; its phase %" PRIu64 " of %" PRIu64, size,
		    units_format_size(phase->chunk_size, record, sizeof(record)), phase->file_count * BONNIE_FILES,
		    units_format_size(phase->file_max, small, sizeof(small)), phase->step + 1, phase->steps);
		break;
	case TOOL_IOZONE:
		snprintf(buf, len, "%" PRIu64 " stream%s of %s in records of %s; its phase %" PRIu64 " of %" PRIu64,
		    phase->streams, phase->streams == 1 ? "" : "s", size,
		    units_format_size(phase->record_size, record, sizeof(record)), phase->step + 1, phase->steps);
		break;
	case TOOL_COUNT:
		break;
	}
	return buf;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static enum ls_rc
validate_fio(const struct phase *phase, struct ls_err *err)
{
	struct fio_job job;
	struct ls_err why;

	if (phase->job_file != NULL && phase->job_file[0] != '\0')
		return ls_err_set(err, LS_E_INVALID, "job_file: must be read first (lockstep does so with a job file)");
	if (phase->fio_job == NULL || phase->fio_job[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "fio_job: missing, the text of a fio job file");
	if (fio_job_parse(phase->fio_job, &job, &why) != LS_OK)
		return ls_err_set(err, LS_E_INVALID, "fio_job: %s", why.text);
	fio_job_fini(&job);
	return LS_OK;
}

static enum ls_rc
validate_bonnie(const struct phase *phase, struct ls_err *err)
{
	if (phase->file_size % MIB != 0)
		return ls_err_set(err, LS_E_INVALID,
		    "file_size: bonnie++ counts in MiB, %" PRIu64 " bytes are no multiple", phase->file_size);
	if (phase->chunk_size & (phase->chunk_size - 1))
		return ls_err_set(err, LS_E_INVALID, "chunk_size: must be a power of two");
	if (phase->file_size == 0 && phase->file_count == 0)
		return ls_err_set(err, LS_E_RANGE, "file_size: and file_count are both 0: nothing is left to do");
	if (phase->file_size > 0 && phase->file_size < phase->chunk_size)
		return ls_err_set(err, LS_E_RANGE, "chunk_size: larger than file_size");
	if (phase->file_min > phase->file_max)
		return ls_err_set(err, LS_E_RANGE, "file_min: %" PRIu64 " is larger than file_max, %" PRIu64,
		    phase->file_min, phase->file_max);
	if (phase->file_count > 0 && phase->file_dirs > phase->file_count * BONNIE_FILES)
		return ls_err_set(err, LS_E_RANGE, "file_dirs: more directories than files");
	return LS_OK;
}

static enum ls_rc
validate_iozone(const struct phase *phase, struct ls_err *err)
{
	for (size_t i = 0; i < phase->tests_count; i++)
		if (phase->tests[i] < 0 || phase->tests[i] >= IOZONE_TESTS)
			return ls_err_set(err, LS_E_RANGE, "tests[%zu]: iozone's tests have the numbers 0 to 12", i);
	if (!(iozone_tests(phase) & 1))
		return ls_err_set(err, LS_E_INVALID, "tests: 0 is missing, which makes the files for the others");
	if (phase->record_size < 1024 || phase->record_size % 1024 != 0 || phase->file_size % 1024 != 0)
		return ls_err_set(err, LS_E_INVALID, "record_size: iozone counts in KiB, in sizes of files too");
	if (phase->file_size < phase->record_size)
		return ls_err_set(err, LS_E_RANGE, "record_size: larger than file_size");
	if (phase->mode == TOOL_SINGLE && phase->streams != 1)
		return ls_err_set(err, LS_E_INVALID, "streams: mode single has one");
	return LS_OK;
}

static enum ls_rc
validate_steps(const struct phase *phase, struct ls_err *err)
{
	struct tool_step steps[TOOL_STEPS_MAX];
	size_t n;

	if (phase->steps == 0)
		return phase->step == 0 ? LS_OK : ls_err_set(err, LS_E_INVALID, "step: without steps");
	n = tool_steps(phase, steps, TOOL_STEPS_MAX);
	if (phase->steps != n || phase->step >= n)
		return ls_err_set(err, LS_E_INVALID,
		    "steps: %" PRIu64 " of %" PRIu64 " do not fit what the program does, which has %zu", phase->step,
		    phase->steps, n);
	return LS_OK;
}

enum ls_rc
tool_phase_validate(const struct phase *phase, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (phase->workers > 1 || phase->time != 0 || phase->warmup != 0)
		return ls_err_set(err, LS_E_INVALID, "%s: the program decides that itself",
		    phase->workers > 1     ? "workers"
			: phase->time != 0 ? "time"
					   : "warmup");
	if (phase->solo && phase->kind != PHASE_RUN_FIO)
		return ls_err_set(err, LS_E_INVALID,
		    "solo: a program that runs through all of its phases cannot do one of them alone");
	switch (tool_of((enum phase_kind)phase->kind)) {
	case TOOL_FIO:
		rc = validate_fio(phase, err);
		break;
	case TOOL_BONNIE:
		rc = validate_bonnie(phase, err);
		break;
	case TOOL_IOZONE:
		rc = validate_iozone(phase, err);
		break;
	case TOOL_COUNT:
		break;
	}
	return rc == LS_OK ? validate_steps(phase, err) : rc;
}

/* --- taking apart ------------------------------------------------------------------------------------------------- */

static char *
step_name(const struct phase *phase, const struct tool_step *step)
{
	struct fio_job job;
	char title[80];
	char name[129];

	if (step->title != NULL) {
		snprintf(name, sizeof(name), "%.60s: %s", phase_title(phase), step->title);
		return ls_strdup(name);
	}
	if (fio_job_parse(phase->fio_job, &job, NULL) != LS_OK)
		return ls_strdup(phase_title(phase));
	snprintf(name, sizeof(name), "%.40s: %s", phase_title(phase),
	    fio_job_title(&job, step->number, title, sizeof(title)));
	fio_job_fini(&job);
	return ls_strdup(name);
}

static bool
is_whole(const struct phase *phase)
{
	return tool_of((enum phase_kind)phase->kind) != TOOL_COUNT && phase->steps == 0;
}

static void
add_steps(const struct phase *from, struct phase *to, size_t *count)
{
	struct tool_step steps[TOOL_STEPS_MAX];
	size_t n = tool_steps(from, steps, TOOL_STEPS_MAX);

	for (size_t i = 0; i < n; i++) {
		struct phase *p = &to[(*count)++];

		phase_copy(from, p);
		free(p->name);
		p->name = step_name(from, &steps[i]);
		p->step = i;
		p->steps = n;
	}
}

enum ls_rc
job_expand_tools(struct job *job, struct ls_err *err)
{
	struct tool_step steps[TOOL_STEPS_MAX];
	size_t n = 0, count = 0;
	bool any = false;

	for (size_t i = 0; i < job->phases_count; i++) {
		struct ls_err inner;

		if (!is_whole(&job->phases[i])) {
			n++;
			continue;
		}
		if (tool_phase_validate(&job->phases[i], &inner) != LS_OK)
			return ls_err_set(err, inner.rc, "phases[%zu].%s", i, inner.text);
		n += tool_steps(&job->phases[i], steps, TOOL_STEPS_MAX);
		any = true;
	}
	if (!any)
		return LS_OK;
	if (n > PHASES_MAX)
		return ls_err_set(
		    err, LS_E_RANGE, "phases: %zu with those of the programs, %d are possible", n, PHASES_MAX);

	struct phase *phases = ls_calloc(n, sizeof(*phases));

	for (size_t i = 0; i < job->phases_count; i++) {
		if (is_whole(&job->phases[i]))
			add_steps(&job->phases[i], phases, &count);
		else
			phase_copy(&job->phases[i], &phases[count++]);
		field_struct_fini(&phase_desc, &job->phases[i]);
	}
	free(job->phases);
	job->phases = phases;
	job->phases_count = count;
	return LS_OK;
}

void
tool_footprint(const struct phase *phase, uint64_t *out_bytes, uint64_t *out_files)
{
	struct fio_job job;
	uint64_t small = sat_mul(phase->file_count, BONNIE_FILES);

	*out_bytes = *out_files = 0;
	switch (tool_of((enum phase_kind)phase->kind)) {
	case TOOL_FIO:
		if (fio_job_parse(phase->fio_job, &job, NULL) != LS_OK)
			return;
		*out_bytes = fio_job_bytes(&job);
		*out_files = job.count;
		fio_job_fini(&job);
		return;
	case TOOL_BONNIE:
		*out_bytes = sat_add(phase->file_size, sat_mul(small, phase->file_max));
		*out_files = sat_add(small, 1);
		return;
	case TOOL_IOZONE:
		*out_bytes = sat_mul(phase->file_size, phase->streams);
		*out_files = phase->streams;
		return;
	case TOOL_COUNT:
		return;
	}
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

/* From the first digit on. */
static const char *
digits_of(const char *version)
{
	return version + strcspn(version, "0123456789");
}

bool
tool_version_older(const char *a, const char *b)
{
	a = digits_of(a);
	b = digits_of(b);
	while (*a != '\0' && *b != '\0') {
		char *after_a, *after_b;
		unsigned long x = strtoul(a, &after_a, 10), y = strtoul(b, &after_b, 10);

		if (x != y)
			return x < y;
		if (*after_a != '.' || *after_b != '.')
			return *after_a < *after_b;
		a = after_a + 1;
		b = after_b + 1;
	}
	return false;
}

/* bonnie++ measures differently from 1.9x on, in all but two phases. */
static const struct {
	enum phase_kind kind;
	const char *why;
} bonnie_changes[] = {
	{ PHASE_CHAR_WRITE, "1.03 moves characters through stdio, later versions with a system call each" },
	{ PHASE_CHAR_READ, "1.03 moves characters through stdio, later versions with a system call each" },
	{ PHASE_BLOCK_OUT, "later versions than 1.03 count the fsync into the time" },
	{ PHASE_BONNIE_REWRITE, "later versions than 1.03 count the fsync into the time" },
	{ PHASE_SEEKS, "1.03 has three seekers, later versions have five and count their fsync" },
	{ PHASE_BONNIE_CREATE, "later versions than 1.03 count a sync of the whole machine into the time" },
	{ PHASE_BONNIE_DELETE, "later versions than 1.03 count a sync of the whole machine into the time" },
};

static const char *
bonnie_differs(const struct tool_step *step, const char *a, const char *b)
{
	if (tool_version_older(a, "1.9") == tool_version_older(b, "1.9"))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(bonnie_changes); i++)
		if (bonnie_changes[i].kind == step->kind)
			return bonnie_changes[i].why;
	return NULL;
}

const char *
tool_versions_differ(enum tool_kind tool, const struct tool_step *step, const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return "a version is not known";
	if (tool == TOOL_BONNIE)
		return bonnie_differs(step, a, b);
	return strcmp(a, b) == 0 ? NULL : "nobody has compared these versions";
}
