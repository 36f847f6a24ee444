#include "proto/codec/jobfile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec/json_int.h"
#include "proto/codec/presets_int.h"

#define SET_SHOWN_MAX 128

const struct job_preset *
job_presets(size_t *count)
{
	*count = job_preset_count;
	return job_preset_table;
}

const struct job_preset *
job_preset_find(const char *name)
{
	for (size_t i = 0; i < job_preset_count; i++)
		if (strcmp(job_preset_table[i].name, name) == 0)
			return &job_preset_table[i];
	return NULL;
}

/* --- from the tree to the job --- */

/* A parameter of another kind of phase would be ignored silently: the struct cannot tell it from a default, the tree can. */
static enum ls_rc
check_applies(const struct json_context *context, const struct job *job, json_t *tree, struct ls_err *err)
{
	json_t *phases = json_object_get(tree, "phases");
	struct json_place list = { .name = "phases" };

	for (size_t i = 0; i < job->phases_count; i++) {
		enum phase_kind kind = (enum phase_kind)job->phases[i].kind;
		struct json_place element = { .parent = &list, .index = i };
		const char *key;
		json_t *value;

		json_object_foreach(json_array_get(phases, i), key, value)
		{
			const struct field_desc *field = field_find(&phase_desc, key);
			struct json_place here = { .parent = &element, .name = key };

			if (field != NULL && !phase_field_applies(field, kind))
				return json_error(context, &here, err, LS_E_INVALID, "does not apply to %s",
				    phase_kind_info(kind)->name);
		}
	}
	return LS_OK;
}

static enum ls_rc
tree_to_job(json_t *tree, const char *what, struct job *out, struct ls_err *err)
{
	struct json_context context = { .what = what, .unknown = JSON_UNKNOWN_REFUSED };
	enum ls_rc rc;

	rc = json_tree_to_struct(&context, NULL, &job_desc, tree, out, err);
	if (rc != LS_OK)
		return rc;
	rc = check_applies(&context, out, tree, err);
	if (rc != LS_OK)
		field_struct_fini(&job_desc, out);
	return rc;
}

/* --- key=value --- */

/* Where a setting goes. */
struct target {
	bool in_grid;
	bool in_phases;
	bool all_phases;
	size_t index;    /* of the phase unless all */
	const char *key; /* within the job or the phase */
};

static enum ls_rc
parse_target(const char *key, const struct json_context *context, struct target *out, struct ls_err *err)
{
	const char *rest = key + strlen("phases");
	char *end;

	*out = (struct target){ .key = key };
	if (strncmp(key, "grid.", strlen("grid.")) == 0) {
		*out = (struct target){ .in_grid = true, .key = key + strlen("grid.") };
		return LS_OK;
	}
	if (strncmp(key, "phases.", strlen("phases.")) == 0) {
		*out = (struct target){ .in_phases = true, .all_phases = true, .key = rest + 1 };
		return LS_OK;
	}
	if (strncmp(key, "phases[", strlen("phases[")) != 0)
		return LS_OK;
	if (!isdigit((unsigned char)rest[1]))
		return json_error(
		    context, NULL, err, LS_E_INVALID, "phases are numbered from 0, as in phases[0].%s", "time");
	out->in_phases = true;
	out->index = strtoul(rest + 1, &end, 10);
	if (strncmp(end, "].", 2) != 0)
		return json_error(context, NULL, err, LS_E_INVALID, "\"phases[N].KEY\" is meant");
	out->key = end + 2;
	return LS_OK;
}

/* "a,b,c" as a list of texts; NULL when it is not UTF-8. */
static json_t *
split_texts(const char *value)
{
	json_t *list = json_array();

	while (*value != '\0') {
		size_t n = strcspn(value, ",");

		if (n > 0 && json_array_append_new(list, json_stringn(value, n)) != 0) {
			json_decref(list);
			return NULL;
		}
		value += n;
		value += *value == ',';
	}
	return list;
}

/*
 * The value as the field wants it: texts need no quotes on a command line, lists of texts no brackets. NULL when it is not
 * UTF-8.
 */
static json_t *
value_tree(const struct field_desc *field, const char *value)
{
	json_t *tree = json_value_parse(value);
	bool text = field->kind == FIELD_STR || field->kind == FIELD_ENUM;

	if (field->kind == FIELD_STR_LIST && !json_is_array(tree)) {
		json_decref(tree);
		return split_texts(value);
	}
	if (tree == NULL || (text && !json_is_string(tree))) {
		json_decref(tree);
		return json_string(value);
	}
	return tree;
}

/* Into each phase that it is for; a phase named by number takes it in any case, so that the error can say why not. */
static enum ls_rc
set_in_phases(const struct json_context *context, const struct target *target, const struct field_desc *field,
    json_t *tree, const struct job *job, json_t *value, struct ls_err *err)
{
	json_t *phases = json_object_get(tree, "phases");
	size_t done = 0;

	if (!target->all_phases && target->index >= job->phases_count)
		return json_error(context, NULL, err, LS_E_INVALID,
		    "there is no phases[%zu]: the job has %zu, numbered from 0", target->index, job->phases_count);
	for (size_t i = 0; i < job->phases_count; i++) {
		bool here = target->all_phases ? phase_field_applies(field, (enum phase_kind)job->phases[i].kind)
					       : i == target->index;

		if (here && json_object_set(json_array_get(phases, i), field->name, value) == 0)
			done++;
	}
	if (done == 0)
		return json_error(context, NULL, err, LS_E_INVALID, "no phase of the job takes %s", field->name);
	return LS_OK;
}

/* A job without a grid gets one. */
static void
set_in_grid(json_t *tree, const struct field_desc *field, json_t *value)
{
	if (!json_is_object(json_object_get(tree, "grid")))
		json_object_set_new(tree, "grid", json_object());
	json_object_set(json_object_get(tree, "grid"), field->name, value);
}

static enum ls_rc
set_key(const struct json_context *context, const char *key, const char *text, json_t *tree, const struct job *job,
    struct ls_err *err)
{
	const struct field_desc *field;
	struct target target = { 0 };
	json_t *value;
	enum ls_rc rc;

	rc = parse_target(key, context, &target, err);
	if (rc != LS_OK)
		return rc;
	const struct struct_desc *desc = target.in_grid ? &job_grid_desc : target.in_phases ? &phase_desc : &job_desc;
	field = field_find(desc, target.key);
	if (field == NULL)
		return json_unknown_key(context, NULL, desc, target.key, err);

	value = value_tree(field, text);
	if (value == NULL)
		return json_error(context, NULL, err, LS_E_INVALID, "the value is not UTF-8");
	if (target.in_phases)
		rc = set_in_phases(context, &target, field, tree, job, value, err);
	else if (target.in_grid)
		set_in_grid(tree, field, value);
	else
		json_object_set(tree, field->name, value);
	json_decref(value);
	return rc;
}

/* Changes the tree and brings the job up to it. On error the job is ended. */
static enum ls_rc
apply_set(const char *set, json_t *tree, struct job *job, struct ls_err *err)
{
	char *what = ls_asprintf("--set %.*s", SET_SHOWN_MAX, set);
	struct json_context context = { .what = what };
	const char *equals = strchr(set, '=');
	char *key = equals != NULL ? ls_strndup(set, (size_t)(equals - set)) : NULL;
	enum ls_rc rc;

	if (equals == NULL)
		rc = json_error(&context, NULL, err, LS_E_INVALID, "KEY=VALUE is meant");
	else
		rc = set_key(&context, key, equals + 1, tree, job, err);
	field_struct_fini(&job_desc, job);
	if (rc == LS_OK)
		rc = tree_to_job(tree, what, job, err);
	free(key);
	free(what);
	return rc;
}

/* On error the job is ended. */
static enum ls_rc
expand(const char *what, struct job *job, struct ls_err *err)
{
	struct ls_err why;
	enum ls_rc rc = job_expand_grid(job, &why);

	if (rc == LS_OK)
		return LS_OK;
	field_struct_fini(&job_desc, job);
	return ls_err_set(err, rc, "%s: %s", what, why.text);
}

enum ls_rc
jobfile_parse(const char *text, size_t len, const char *what, const char *const *set, size_t set_count, struct job *out,
    struct ls_err *err)
{
	json_t *tree = NULL;
	struct job job;
	enum ls_rc rc;

	rc = json_text_parse(text, len, 0, what, &tree, err);
	if (rc != LS_OK)
		return rc;
	json_object_del(tree, "$schema"); /* editors look for it; it says nothing about the job */

	rc = tree_to_job(tree, what, &job, err);
	for (size_t i = 0; i < set_count && rc == LS_OK; i++)
		rc = apply_set(set[i], tree, &job, err);
	if (rc == LS_OK)
		rc = expand(what, &job, err);
	if (rc == LS_OK)
		*out = job;
	json_decref(tree);
	return rc;
}
