#include "proto/model/fio_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"

#define NAME_MAX_BYTES 64
#define SECTIONS_MAX   256
#define LINE_MAX_BYTES 1024

enum option_kind { FIO_FLAG = 0, FIO_NUMBER, FIO_WORD, FIO_FILE, FIO_ENGINE };

static const struct {
	const char *name;
	enum option_kind kind;
} options[] = {
#define FIO_OPTION(name, kind) { name, kind },
#include "proto/model/fio_options.def"
#undef FIO_OPTION
};

static const struct {
	const char *name;
	enum fio_counts counts;
} engines[] = {
#define FIO_ENGINE_NAME(name, counts) { name, counts },
#include "proto/model/fio_options.def"
#undef FIO_ENGINE_NAME
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* What a value may consist of, by enum option_kind. */
static const char *const charsets[] = {
	[FIO_FLAG] = "0123456789truefals",
	[FIO_NUMBER] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:%/-",
	[FIO_WORD] = "abcdefghijklmnopqrstuvwxyz0123456789_,:.",
	[FIO_FILE] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:",
	[FIO_ENGINE] = "abcdefghijklmnopqrstuvwxyz0123456789_",
};

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* Where parsing stands. */
struct reader {
	struct fio_job *job;
	size_t line;
	struct ls_err *err;
	bool wall;     /* a global section has a stonewall: each section is a stage */
	bool any_file; /* a section that is no global one has come */
	bool buffered; /* a section without direct I/O has come */
	uint64_t global_jobs, global_bytes;
	bool global_direct;
};

static enum ls_rc
fault(const struct reader *r, const char *what, const char *detail)
{
	return ls_err_set(r->err, LS_E_INVALID, "line %zu: %s%s%.100s%s", r->line, what, detail != NULL ? ": \"" : "",
	    detail != NULL ? detail : "", detail != NULL ? "\"" : "");
}

/* Section names stand in the command line by which fio starts the helper, and in names of files. */
static bool
name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= NAME_MAX_BYTES && strspn(name, letters) > 0 &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

/* Each name between colons begins with a letter or digit, and so is neither hidden nor "..". */
static bool
files_ok(const char *value)
{
	const char *p = value;

	for (;;) {
		if (strspn(p, letters) == 0)
			return false;
		p = strchr(p, ':');
		if (p == NULL)
			return true;
		p++;
	}
}

static int
option_find(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strcmp(options[i].name, key) == 0)
			return (int)i;
	return -1;
}

static int
engine_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(engines); i++)
		if (strcmp(engines[i].name, name) == 0)
			return (int)i;
	return -1;
}

static struct fio_section *
present_section(struct reader *r)
{
	return r->job->count > 0 ? &r->job->sections[r->job->count - 1] : NULL;
}

static bool
is_on(const char *value)
{
	return value == NULL || value[0] == '\0' || strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

/* A stonewall in the first section of a file parts nothing. */
static void
take_wall(struct reader *r, struct fio_section *s)
{
	if (s->global) {
		r->wall = true;
		return;
	}
	for (size_t i = 0; i + 1 < r->job->count; i++)
		if (!r->job->sections[i].global && r->job->sections[i].stage == s->stage) {
			s->stage++;
			return;
		}
}

static enum ls_rc
take_jobs(struct reader *r, struct fio_section *s, const char *value)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end != '\0' || n < 1 || n > FIO_JOB_PROCESSES_MAX)
		return fault(r, "numjobs must be 1 to 256", value);
	s->jobs = n;
	return LS_OK;
}

/* Sizes that are a share of something, or a range, are not known here. */
static void
take_size(struct fio_section *s, const char *value)
{
	uint64_t bytes;
	size_t digits = strspn(value, "0123456789");
	char unit = value[digits];
	const char *units = "kmgt";
	const char *at = unit != '\0' ? strchr(units, unit | 0x20) : NULL;
	char *end;

	if (digits == 0 || digits > 18 || (unit != '\0' && at == NULL))
		return;
	bytes = strtoull(value, &end, 10);
	for (const char *u = units; at != NULL && u <= at; u++)
		bytes = sat_mul(bytes, 1024);
	s->bytes = bytes;
}

static enum ls_rc
take_engine(struct reader *r, const char *value)
{
	int i = engine_find(value);

	if (i < 0)
		return fault(r, "this I/O engine is not allowed", value);
	/* what counts less decides for all */
	r->job->counts = LS_MAX(r->job->counts, engines[i].counts);
	return LS_OK;
}

static enum ls_rc
check_value(struct reader *r, const char *key, enum option_kind kind, const char *value)
{
	size_t len = strlen(value);

	if (len == 0 && kind != FIO_FLAG)
		return fault(r, "a value is missing", key);
	if (strspn(value, charsets[kind]) != len)
		return fault(r, "the value has characters that are not allowed here", value);
	if (kind == FIO_FILE && !files_ok(value))
		return fault(r, "names of files begin with a letter or digit and have no slash", value);
	return LS_OK;
}

static enum ls_rc
take_option(struct reader *r, const char *key, const char *value)
{
	struct fio_section *s = present_section(r);
	int i = option_find(key);

	if (s == NULL)
		return fault(r, "an option stands before the first section", key);
	if (i < 0)
		return fault(r, "this option is not allowed (lockstep-job(5) lists those that are)", key);
	enum ls_rc rc = check_value(r, key, options[i].kind, value);
	if (rc == LS_OK && options[i].kind == FIO_ENGINE)
		rc = take_engine(r, value);
	if (rc == LS_OK && strcmp(key, "numjobs") == 0)
		rc = take_jobs(r, s, value);
	if (rc != LS_OK)
		return rc;
	if (strcmp(key, "stonewall") == 0 || strcmp(key, "wait_for_previous") == 0) {
		if (is_on(value))
			take_wall(r, s);
		return LS_OK;
	}
	if (strcmp(key, "size") == 0)
		take_size(s, value);
	if (strcmp(key, "direct") == 0 && s->global)
		r->global_direct = is_on(value);
	s->options = ls_grow(s->options, s->options_count, sizeof(*s->options));
	s->options[s->options_count++] = value[0] == '\0' ? ls_strdup(key) : ls_asprintf("%s=%s", key, value);
	return LS_OK;
}

/* What holds for a section only when all its lines are known. */
static void
end_section(struct reader *r)
{
	struct fio_section *s = present_section(r);

	if (s == NULL)
		return;
	if (s->global) {
		r->global_jobs = s->jobs != 0 ? s->jobs : r->global_jobs;
		r->global_bytes = s->bytes != 0 ? s->bytes : r->global_bytes;
		return;
	}
	s->jobs = s->jobs != 0 ? s->jobs : LS_MAX(r->global_jobs, 1ULL);
	s->bytes = s->bytes != 0 ? s->bytes : r->global_bytes;
	bool direct = r->global_direct;
	for (size_t i = 0; i < s->options_count; i++)
		if (strncmp(s->options[i], "direct", 6) == 0)
			direct = s->options[i][6] == '\0' || is_on(s->options[i] + 7);
	r->buffered |= !direct;
}

static enum ls_rc
take_section(struct reader *r, char *line)
{
	char *end = strchr(line, ']');
	size_t stage = 0;
	bool first = true;

	if (end == NULL || end[1] != '\0')
		return fault(r, "a section is meant, [name]", line);
	*end = '\0';
	if (!name_ok(line + 1))
		return fault(r, "names of sections are 1 to 64 letters, digits and . _ -", line + 1);
	end_section(r);
	if (r->job->count >= SECTIONS_MAX)
		return fault(r, "more than 256 sections", NULL);
	for (size_t i = 0; i < r->job->count; i++)
		if (!r->job->sections[i].global) {
			stage = r->job->sections[i].stage;
			first = false;
		}
	r->job->sections = ls_grow(r->job->sections, r->job->count, sizeof(*r->job->sections));
	r->job->sections[r->job->count++] = (struct fio_section){
		.name = ls_strdup(line + 1),
		.global = strcmp(line + 1, "global") == 0,
		.stage = r->wall && !first ? stage + 1 : stage,
	};
	return LS_OK;
}

static enum ls_rc
take_line(struct reader *r, char *line)
{
	char *value = strchr(line, '=');

	if (line[0] == '\0' || line[0] == '#' || line[0] == ';')
		return LS_OK;
	if (line[0] == '[')
		return take_section(r, line);
	if (value == NULL)
		return take_option(r, line, "");
	*value++ = '\0';
	for (size_t n = strlen(line); n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--)
		line[n - 1] = '\0';
	return take_option(r, line, value + strspn(value, " \t"));
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static enum ls_rc
check_whole(struct reader *r)
{
	struct fio_job *job = r->job;
	bool any = false;

	for (size_t i = 0; i < job->count; i++)
		if (!job->sections[i].global) {
			any = true;
			job->stages = LS_MAX(job->stages, job->sections[i].stage + 1);
		}
	if (!any)
		return ls_err_set(r->err, LS_E_INVALID, "it has no section but global ones");
	if (job->stages > FIO_JOB_STAGES_MAX)
		return ls_err_set(r->err, LS_E_INVALID, "more than %d parts between stonewalls", FIO_JOB_STAGES_MAX);
	for (size_t stage = 0; stage < job->stages; stage++)
		if (fio_job_processes(job, stage) > FIO_JOB_PROCESSES_MAX)
			return ls_err_set(
			    r->err, LS_E_INVALID, "more than %d processes at a time", FIO_JOB_PROCESSES_MAX);
	job->direct = !r->buffered;
	return LS_OK;
}

enum ls_rc
fio_job_parse(const char *text, struct fio_job *out, struct ls_err *err)
{
	struct fio_job job = { 0 };
	struct reader r = { .job = &job, .err = err };
	enum ls_rc rc = LS_OK;

	while (rc == LS_OK && *text != '\0') {
		char line[LINE_MAX_BYTES];
		size_t len = strcspn(text, "\n");
		size_t skip = strspn(text, " \t");
		size_t use = len > skip ? len - skip : 0;

		r.line++;
		if (use >= sizeof(line)) {
			rc = fault(&r, "too long", NULL);
			break;
		}
		memcpy(line, text + LS_MIN(skip, len), use);
		while (use > 0 && (line[use - 1] == '\r' || line[use - 1] == ' ' || line[use - 1] == '\t'))
			use--;
		line[use] = '\0';
		rc = take_line(&r, line);
		text += len;
		text += *text == '\n';
	}
	end_section(&r);
	if (rc == LS_OK)
		rc = check_whole(&r);
	if (rc != LS_OK) {
		fio_job_fini(&job);
		return rc;
	}
	*out = job;
	return LS_OK;
}

void
fio_job_fini(struct fio_job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		for (size_t k = 0; k < job->sections[i].options_count; k++)
			free(job->sections[i].options[k]);
		free(job->sections[i].options);
		free(job->sections[i].name);
	}
	free(job->sections);
	*job = (struct fio_job){ 0 };
}

uint64_t
fio_job_processes(const struct fio_job *job, size_t stage)
{
	uint64_t n = 0;

	for (size_t i = 0; i < job->count; i++)
		if (!job->sections[i].global && job->sections[i].stage == stage)
			n += job->sections[i].jobs;
	return n;
}

const char *
fio_job_title(const struct fio_job *job, size_t stage, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < job->count && used < len; i++)
		if (!job->sections[i].global && job->sections[i].stage == stage) {
			int n = snprintf(buf + used, len - used, "%s%s", used > 0 ? "+" : "", job->sections[i].name);

			used += n > 0 ? (size_t)n : 0;
		}
	return buf;
}

uint64_t
fio_job_bytes(const struct fio_job *job)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < job->count; i++)
		if (!job->sections[i].global)
			bytes = sat_add(bytes, sat_mul(job->sections[i].bytes, job->sections[i].jobs));
	return bytes;
}

void
fio_job_render(const struct fio_job *job, size_t stage, const char *extra, struct sink *out)
{
	sink_printf(out, "[global]\n%s", extra);
	for (size_t i = 0; i < job->count; i++) {
		const struct fio_section *s = &job->sections[i];

		if (!s->global && s->stage != stage)
			continue;
		sink_printf(out, "[%s]\n", s->name);
		for (size_t k = 0; k < s->options_count; k++)
			sink_printf(out, "%s\n", s->options[k]);
	}
}
