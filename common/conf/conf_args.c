#include "common/conf/conf_args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/conf/conf.h"

#define A(member) offsetof(struct conf_args, member)

static const struct option_row rows[] = {
	{ "config", 0, OPTION_TEXT, A(file), "FILE", "configuration instead of the installed one", 0, 0 },
	{ "set", 0, OPTION_TEXTS, A(set), "KEY=VALUE", "one key on top of the file; can be repeated", 0, 0 },
	{ "check-config", 0, OPTION_FLAG, A(check), NULL,
	    "read and check the configuration, say what is wrong, and exit", 0, 0 },
	{ "print-config", 0, OPTION_FLAG, A(print), NULL, "print the configuration in force as a file, and exit", 0,
	    0 },
	{ "quiet", 'q', OPTION_FLAG, A(quiet), NULL, "only errors", 0, 0 },
	{ "verbose", 'v', OPTION_FLAG, A(verbose), NULL, "more: log level debug, and what commands look at", 0, 0 },
	{ "version", 0, OPTION_FLAG, A(version), NULL, "print versions of program, protocol and libraries, and exit", 0,
	    0 },
	{ "help", 'h', OPTION_FLAG, A(help), NULL, "explain and exit", 0, 0 },
	{ 0 },
};

static enum ls_rc
take_words(const struct option_texts *words, const char *own_word, struct conf_args *a, struct ls_err *err)
{
	for (size_t i = 0; i < words->count; i++) {
		if (own_word == NULL || a->word != NULL || strcmp(words->items[i], own_word) != 0)
			return ls_err_set(
			    err, LS_E_INVALID, "%s: unknown argument; --help tells which there are", words->items[i]);
		a->word = words->items[i];
	}
	return LS_OK;
}

enum ls_rc
conf_args_parse(int argc, char **argv, const struct option_row *own, const char *own_word, struct conf_args *out,
    struct ls_err *err)
{
	struct conf_args a = { 0 };
	struct option_texts words = { 0 };
	const struct option_set sets[] = { { rows, &a }, { own, &a } };
	enum ls_rc rc =
	    options_parse(LS_MAX(argc - 1, 0), argv + 1, sets, own != NULL ? 2 : 1, false, &words, NULL, err);

	if (rc == LS_OK)
		rc = take_words(&words, own_word, &a, err);
	if (rc == LS_OK && a.quiet && a.verbose)
		rc = ls_err_set(err, LS_E_INVALID, "--quiet and --verbose exclude each other");
	option_texts_free(&words);
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
	option_texts_free(&args->set);
}

void
conf_args_help(const struct option_row *own, FILE *out)
{
	struct sink text = { 0 };

	options_help(rows, &text);
	if (own != NULL)
		options_help(own, &text);
	(void)fputs(text.text, out);
	sink_free(&text);
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

/* How much is logged, where that is a key. */
static enum ls_rc
apply_verbosity(const struct conf_args *args, const struct struct_desc *desc, void *obj, struct ls_err *err)
{
	const char *level = ls_log_level_names[args->quiet ? LS_LOG_ERROR : LS_LOG_DEBUG];

	if ((!args->quiet && !args->verbose) || field_find(desc, "log_level") == NULL)
		return LS_OK;
	return conf_set(desc, obj, "log_level", level, args->quiet ? "--quiet" : "--verbose", err);
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
	for (size_t i = 0; rc == LS_OK && i < args->set.count; i++)
		rc = apply_set(args->set.items[i], desc, obj, err);
	if (rc == LS_OK)
		rc = apply_verbosity(args, desc, obj, err);
	if (rc != LS_OK)
		field_struct_fini(desc, obj);
	return rc;
}
