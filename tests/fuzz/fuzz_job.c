/* A job file, and after each NUL byte a "key=value" that changes it: parsed, validated, measured, written. */
#include <stdlib.h>
#include <string.h>

#include "proto/codec/jobfile.h"
#include "proto/codec/json.h"

#define SETS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
check_job(const struct job *job)
{
	uint64_t bytes, files;
	struct job back;
	struct ls_err err;
	size_t len;
	char *text = json_encode_struct(&job_desc, job, true, &len);

	require(json_decode_struct(&job_desc, text, len, JSON_UNKNOWN_IGNORED, "job", &back, &err) == LS_OK);
	if (job_validate(job, &err) == LS_OK)
		job_footprint(job, 3, &bytes, &files);
	else
		require(err.text[0] != '\0');
	field_struct_fini(&job_desc, &back);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);
	const char *set[SETS];
	size_t sets = 0, len;
	struct job job;
	struct ls_err err = { 0 };

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	len = strlen(text);
	for (const char *p = text + len; p < text + size && sets < SETS; p += strlen(p))
		set[sets++] = ++p;

	if (jobfile_parse(text, len, "job", set, sets, &job, &err) == LS_OK) {
		check_job(&job);
		field_struct_fini(&job_desc, &job);
	} else {
		require(err.text[0] != '\0');
	}
	free(text);
	return 0;
}
