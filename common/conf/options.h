/*
 * The one parser of command lines. Options stand in tables, which make --help too. They may stand before, between and
 * after the words; "--" ends them; values follow as "--name VALUE" or "--name=VALUE". Pure but for the texts, which are
 * borrowed from argv.
 */
#ifndef LS_COMMON_CONF_OPTIONS_H
#define LS_COMMON_CONF_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/sink.h"

enum option_kind {
	OPTION_FLAG = 0, /* bool */
	OPTION_TEXT,     /* const char *, borrowed from argv */
	OPTION_TEXTS,    /* struct option_texts: may be given more than once */
	OPTION_COUNT,    /* uint64_t within min and max */
	OPTION_DURATION, /* int64_t ns, "10s" */
};

struct option_texts {
	const char **items; /* array on the heap, texts borrowed */
	size_t count;
};

struct option_row {
	const char *name; /* without dashes; NULL ends a table */
	char letter;      /* short form, 0: none */
	enum option_kind kind;
	size_t offset;     /* into the struct that the table fills */
	const char *value; /* placeholder of the value in help; NULL for flags */
	const char *help;
	uint64_t min, max; /* OPTION_COUNT */
};

/* A table and the struct that it fills. What is not given stays as it is. */
struct option_set {
	const struct option_row *rows;
	void *into;
};

/*
 * Parses argv[0..argc-1] (without the program's name) against count tables. Words that are no options go to *words, whose array
 * the caller frees with option_texts_free. stop_at_word: ends before the first word, which then is argv[*out_used].
 * Errors: LS_E_INVALID, the sentence names the option and the nearest known one.
 */
enum ls_rc options_parse(int argc, char *const *argv, const struct option_set *sets, size_t count, bool stop_at_word,
    struct option_texts *words, int *out_used, struct ls_err *err) LS_MUST_CHECK;

/* The options of a table as lines of help, at most 100 columns. */
void options_help(const struct option_row *rows, struct sink *out);

/* A list of texts: add a borrowed one; free the list. */
void option_texts_add(struct option_texts *texts, const char *text);
void option_texts_free(struct option_texts *texts);

/* Frees the lists that options_parse made in a struct. */
void options_release(const struct option_row *rows, void *into);

/* text with its words wrapped into lines of at most 100 columns, all but the first indented; for --help. */
void help_wrap(struct sink *out, size_t indent, size_t used, const char *text);

#endif
