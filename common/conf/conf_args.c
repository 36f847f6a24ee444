#include "common/conf/conf_args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/conf/conf.h"

/* Is argv[*i] that option? Then *value is what it was given, NULL if nothing, and *i stands on the last argument used. */
static bool
is_valued(int argc, char **argv, int *i, const char *name, const char **value)
{
	const char *arg = argv[*i];
	size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0)
		return false;
	if (arg[n] == '=') {
		*value = arg + n + 1;
		return true;
	}
	if (arg[n] != '\0')
		return false;
	*value = *i + 1 < argc ? argv[++*i] : NULL;
	return true;
}

static bool
take_flag(const char *arg, struct conf_args *a)
{
	if (strcmp(arg, "--check-config") == 0)
		a->check = true;
	else if (strcmp(arg, "--print-config") == 0)
		a->print = true;
	else if (strcmp(arg, "--version") == 0)
		a->version = true;
	else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
		a->help = true;
	else
		return false;
	return true;
}

static enum ls_rc
take_valued(int argc, char **argv, int *i, const char *own_option, struct conf_args *a, struct ls_err *err)
{
	const char *arg = argv[*i];
	const char *value = NULL;

	if (is_valued(argc, argv, i, "--config", &value)) {
		a->file = value;
	} else if (is_valued(argc, argv, i, "--set", &value)) {
		a->set = ls_grow(a->set, a->set_count, sizeof(*a->set));
		a->set[a->set_count++] = value;
	} else if (own_option != NULL && is_valued(argc, argv, i, own_option, &value)) {
		a->own = value;
	} else {
		return ls_err_set(err, LS_E_INVALID, "%s: unknown argument; --help tells which there are", arg);
	}
	if (value == NULL)
		return ls_err_set(err, LS_E_INVALID, "%s: needs a value", arg);
	return LS_OK;
}

enum ls_rc
conf_args_parse(
    int argc, char **argv, const char *own_option, const char *own_word, struct conf_args *out, struct ls_err *err)
{
	struct conf_args a = { 0 };
	enum ls_rc rc = LS_OK;

	for (int i = 1; rc == LS_OK && i < argc; i++) {
		if (take_flag(argv[i], &a))
			continue;
		if (own_word != NULL && a.word == NULL && strcmp(argv[i], own_word) == 0)
			a.word = argv[i];
		else
			rc = take_valued(argc, argv, &i, own_option, &a, err);
	}
	if (rc != LS_OK) {
		conf_args_fini(&a);
		return rc;
	}
	*out = a;
	return LS_OK;
}

void
conf_args_fini(struct conf_args *args)
{
	free(args->set);
	args->set = NULL;
	args->set_count = 0;
}

static enum ls_rc
apply_set(const char *text, const struct struct_desc *desc, void *obj, struct ls_err *err)
{
	const char *equals = strchr(text, '=');

	if (equals == NULL || equals == text)
		return ls_err_set(err, LS_E_INVALID, "--set %s: expected KEY=VALUE", text);

	char *key = ls_strndup(text, (size_t)(equals - text));
	enum ls_rc rc = conf_set(desc, obj, key, equals + 1, "--set", err);
	free(key);
	return rc;
}

enum ls_rc
conf_args_load(const struct conf_args *args, const char *usual_file, const char *section,
    const struct struct_desc *desc, void *obj, struct ls_err *err)
{
	const char *file = args->file;

	if (file == NULL && access(usual_file, F_OK) == 0)
		file = usual_file;
	enum ls_rc rc = conf_load(file, section, desc, obj, err);
	if (rc != LS_OK)
		return rc;
	for (size_t i = 0; rc == LS_OK && i < args->set_count; i++)
		rc = apply_set(args->set[i], desc, obj, err);
	if (rc != LS_OK)
		field_struct_fini(desc, obj);
	return rc;
}
