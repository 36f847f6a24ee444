#include "coordinator/cli/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/cli/cluster_conf.h"
#include "coordinator/cli/files.h"
#include "proto/codec/jobfile.h"
#include "proto/model/tool.h"

/* As the field of a phase allows. */
#define FIO_JOB_TEXT_MAX 65536

bool
jobs_is_file(const char *word)
{
	size_t len = strlen(word);

	if (strchr(word, '/') != NULL || (len > 5 && strcmp(word + len - 5, ".json") == 0))
		return true;
	return access(word, F_OK) == 0;
}

static enum ls_rc
unknown_preset(const char *name, struct ls_err *err)
{
	struct sink names = { 0 };
	size_t count;
	const struct job_preset *presets = job_presets(&count);

	for (size_t i = 0; i < count; i++)
		sink_printf(&names, "%s%s", i > 0 ? ", " : "", presets[i].name);
	ls_err_set(err, LS_E_NOTFOUND, "%s is neither a file nor a preset; presets: %s", name,
	    names.text != NULL ? names.text : "none");
	sink_free(&names);
	return LS_E_NOTFOUND;
}

static enum ls_rc
parse(const char *what, const struct option_texts *set, struct job *out, struct ls_err *err)
{
	const char *const *texts = set != NULL ? set->items : NULL;
	size_t count = set != NULL ? set->count : 0;

	if (!jobs_is_file(what)) {
		const struct job_preset *preset = job_preset_find(what);

		if (preset == NULL)
			return unknown_preset(what, err);
		return jobfile_parse(preset->text, strlen(preset->text), what, texts, count, out, err);
	}

	char *text;
	size_t len;
	enum ls_rc rc = file_read(what, &text, &len, err);
	if (rc != LS_OK)
		return rc;
	rc = jobfile_parse(text, len, what, texts, count, out, err);
	free(text);
	return rc;
}

/* "dir/of/job.json" and "a.fio": "dir/of/a.fio". */
static char *
beside(const char *what, const char *name)
{
	const char *slash = jobs_is_file(what) ? strrchr(what, '/') : NULL;

	if (name[0] == '/' || slash == NULL)
		return ls_strdup(name);
	return ls_asprintf("%.*s/%s", (int)(slash - what), what, name);
}

/* fio job files that phases name are read here, as agents get their text only. */
static enum ls_rc
read_fio_files(const char *what, struct job *job, struct ls_err *err)
{
	for (size_t i = 0; i < job->phases_count; i++) {
		struct phase *p = &job->phases[i];
		size_t len;

		if (p->job_file == NULL || p->job_file[0] == '\0')
			continue;
		if (p->fio_job != NULL && p->fio_job[0] != '\0')
			return ls_err_set(err, LS_E_INVALID,
			    "%s: phases[%zu].job_file: fio_job is given as well, one of them is meant", what, i);
		char *path = beside(what, p->job_file);

		free(p->fio_job);
		p->fio_job = NULL;
		enum ls_rc rc = file_read(path, &p->fio_job, &len, err);
		free(path);
		if (rc == LS_OK && (len > FIO_JOB_TEXT_MAX || strlen(p->fio_job) != len))
			rc = ls_err_set(err, LS_E_INVALID, "%s: no fio job file, or longer than %d bytes", p->job_file,
			    FIO_JOB_TEXT_MAX);
		if (rc != LS_OK)
			return ls_err_wrap(err, "%s: phases[%zu].job_file", what, i);
		free(p->job_file);
		p->job_file = NULL;
	}
	return LS_OK;
}

/* External programs: what they need is read, and their own phases are written out. */
static enum ls_rc
take_tools_apart(const char *what, struct job *job, struct ls_err *err)
{
	enum ls_rc rc = read_fio_files(what, job, err);

	if (rc != LS_OK)
		return rc;
	rc = job_expand_tools(job, err);
	return rc == LS_OK ? LS_OK : ls_err_wrap(err, "%s", what);
}

void
jobs_set_nodes(struct job *job, const char *const *names, size_t count)
{
	for (size_t i = 0; i < job->nodes_count; i++)
		free(job->nodes[i]);
	free(job->nodes);
	job->nodes = ls_calloc(count + 1, sizeof(*job->nodes));
	job->nodes_count = count;
	for (size_t i = 0; i < count; i++)
		job->nodes[i] = ls_strdup(names[i]);
}

/* "a,b,c"; empty names between commas are ignored. */
static void
set_nodes_text(struct job *job, const char *text)
{
	char *copy = ls_strdup(text);
	struct option_texts names = { 0 };
	char *rest = copy;

	for (char *name; (name = strsep(&rest, ",")) != NULL;)
		if (name[0] != '\0')
			option_texts_add(&names, name);
	jobs_set_nodes(job, names.items, names.count);
	option_texts_free(&names);
	free(copy);
}

/* The nodes that the command line gives instead of the job's. */
static enum ls_rc
override_nodes(struct job *job, const struct job_overrides *overrides, struct ls_err *err)
{
	char **names;
	size_t count;

	if (overrides->nodes != NULL && overrides->nodes_from != NULL)
		return ls_err_set(err, LS_E_INVALID, "--nodes and --nodes-from: one of them is meant");
	if (overrides->nodes != NULL)
		set_nodes_text(job, overrides->nodes);
	if (overrides->nodes_from == NULL)
		return LS_OK;

	enum ls_rc rc = cluster_conf_read(overrides->nodes_from, &names, &count, err);

	if (rc != LS_OK)
		return ls_err_wrap(err, "--nodes-from");
	jobs_set_nodes(job, (const char *const *)names, count);
	cluster_conf_free(names, count);
	return LS_OK;
}

enum ls_rc
jobs_load(const char *what, const struct job_overrides *overrides, struct job *out, struct ls_err *err)
{
	struct job job = { 0 };
	enum ls_rc rc = parse(what, overrides->set, &job, err);

	if (rc == LS_OK) {
		rc = take_tools_apart(what, &job, err);
		if (rc != LS_OK)
			field_struct_fini(&job_desc, &job);
	}
	if (rc != LS_OK)
		return rc;
	if (overrides->path != NULL) {
		free(job.path);
		job.path = ls_strdup(overrides->path);
	}
	if (overrides->expect != NULL) {
		free(job.expect_fs);
		job.expect_fs = ls_strdup(overrides->expect);
	}
	if (overrides->workers != 0)
		job.workers = overrides->workers;
	if (overrides->repeat != 0)
		job.repeat = overrides->repeat;

	rc = override_nodes(&job, overrides, err);
	if (rc == LS_OK && job.path == NULL)
		rc = ls_err_set(
		    err, LS_E_INVALID, "%s: path: no directory given, neither in the job nor with --path", what);
	else if (rc == LS_OK && (rc = job_validate(&job, err)) != LS_OK)
		ls_err_wrap(err, "%s", what);
	if (rc != LS_OK) {
		field_struct_fini(&job_desc, &job);
		return rc;
	}
	*out = job;
	return LS_OK;
}
