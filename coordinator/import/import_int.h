/*
 * What importers share: lines, fields and numbers of a text, and the making of documents. Not for others.
 */
#ifndef LS_COORDINATOR_IMPORT_IMPORT_INT_H
#define LS_COORDINATOR_IMPORT_IMPORT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coordinator/import/import.h"

/* --- text (lines.c) ----------------------------------------------------------------------------------------------- */

/* A file as lines, without line ends, blanks at the end, and marks of quoted mails ("> ") at the beginning. */
struct import_text {
	const char *name;
	char **lines; /* owned; raw lines as above */
	char **bare;  /* owned; the same less the bars of a pasted table ("| x | |" is "x") */
	size_t count;
};

void import_text_init(struct import_text *text, const char *name, const char *data, size_t len);
void import_text_free(struct import_text *text);

/* Does any bare line contain what? */
bool import_text_has(const struct import_text *text, const char *what);

/* A word of a line: line[start] up to line[end], exclusive. */
struct import_word {
	size_t start, end;
};

#define IMPORT_WORDS_MAX 256

/* A line cut at blanks and tabs. */
struct import_words {
	const char *line; /* borrowed */
	struct import_word at[IMPORT_WORDS_MAX];
	size_t count;
	bool cut; /* the line has more */
};

void import_words_of(const char *line, struct import_words *out);

/* Is word i exactly that? Without regard to case: import_word_like. */
bool import_word_is(const struct import_words *words, size_t i, const char *what);
bool import_word_like(const struct import_words *words, size_t i, const char *what);

/* Copies word i, cut to fit. Returns buf. */
const char *import_word_copy(const struct import_words *words, size_t i, char *buf, size_t len);

/*
 * Numbers, whatever the locale: digits, at most one point, an exponent, a sign; nothing else may stand in the len bytes. "nan",
 * "NA" and the like are no numbers. import_word_number reads word i.
 */
bool import_number(const char *text, size_t len, double *out);
bool import_integer(const char *text, size_t len, uint64_t *out);
bool import_word_number(const struct import_words *words, size_t i, double *out);

/* The number that begins at text, after blanks; *end is what follows it. */
bool import_number_prefix(const char *text, double *out, const char **end);

/* text after prefix, blanks skipped; NULL when it does not begin so (case matters). */
const char *import_after(const char *text, const char *prefix);

/* Fields of a line at commas, quotes undone. The array and its texts are one block on the heap, which free() ends. */
char **import_csv_fields(const char *line, size_t *out_count);

/* "512M", "16G", "8192M:16k", "2g", "480": bytes of a size with a unit of powers of 1024; plain numbers count in unit. */
bool import_size(const char *text, size_t len, uint64_t unit, uint64_t *out);

/* "line N: <sentence>", N counted from 1; returns LS_E_INVALID. */
enum ls_rc import_error(struct ls_err *err, size_t line, const char *fmt, ...) LS_PRINTF(3, 4);

/*
 * A number of another tool's text as an integer: what is negative, too large or no number at all is not known
 * (LS_UNKNOWN_U64, LS_UNKNOWN_I64). A plain conversion of such a number is undefined.
 */
uint64_t import_to_u64(double value);
int64_t import_to_i64(double value);

/* --- documents (build.c) ------------------------------------------------------------------------------------------ */

/* A node's name where the output does not tell one. */
#define IMPORT_UNNAMED "unnamed"

/* A new document at the end of the set. version may be NULL. line: where it begins, from 0. */
struct results *import_doc(
    struct import_set *set, const char *tool, const char *version, const char *format, size_t line);

void import_set_version(struct results *doc, const char *version);
void import_setting(struct results *doc, const char *name, const char *fmt, ...) LS_PRINTF(3, 4);
const char *import_setting_get(const struct results *doc, const char *name); /* or NULL */

/* Gives the run its name; NULL leaves the one that is made of tool and version. Cut to fit. */
void import_title(struct results *doc, const char *title);

/*
 * The line that says what the block at line is about: the nearest heading ("# card A") or command of the tool (a line that
 * contains command, "bonnie++ -") above it and from line after on, else the line just above if it can be a heading. NULL when there
 * is none. Borrowed.
 */
const char *import_heading(const struct import_text *text, const char *command, size_t line, size_t after);

void import_warn(struct results *doc, const char *fmt, ...) LS_PRINTF(2, 3);
void import_phase_warn(struct phase_result *phase, const char *fmt, ...) LS_PRINTF(2, 3);

/* A new phase. It may move when the next one is made. */
struct phase_result *import_phase(struct results *doc, enum phase_kind kind, const char *test, size_t line);

/* Sizes of the phase, in bytes. */
void import_phase_sizes(struct phase_result *phase, uint64_t file_size, uint64_t record_size);

/* A new node of the phase with unknown counts and rates; made known to the run. It may move when the next one is made. */
struct node_result *import_node(struct results *doc, struct phase_result *phase, const char *name);

void import_node_metric(struct node_result *node, const char *name, double value, const char *unit);
void import_phase_metric(struct phase_result *phase, const char *name, double value, const char *unit);

/* The latency of a node, made with nothing known. */
struct latency *import_latency(struct node_result *node);

/* The result of an operation of a node, made when it is not there, with nothing known. */
struct op_result *import_op(struct node_result *node, enum op_kind op);

/*
 * Last step of each document: the identity (a hash of tool and lines first..last of the text), line numbers, phases counted and
 * the labelled sums. last: its last line, from 0.
 */
void import_finish(struct results *doc, const struct import_text *text, size_t last);

/* Sets the sum of rates of phases that have several nodes and none from their tool, and says what it is. */
void import_label_sums(struct results *doc);

/* Copies text into a buffer, cut at a character's boundary. */
void import_copy(char *buf, size_t len, const char *text, size_t text_len);

#endif
