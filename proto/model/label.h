/*
 * Tags and notes: what people say of a run. A tag is a word by which runs are found again; a note is a sentence.
 */
#ifndef LS_PROTO_MODEL_LABEL_H
#define LS_PROTO_MODEL_LABEL_H

#include <stddef.h>

#include "common/base/err.h"

#define LABEL_TAG_MAX  64   /* bytes of a tag */
#define LABEL_NOTE_MAX 1024 /* bytes of a note */
#define LABEL_TAGS_MAX 64   /* tags of a run */

/* The tag of runs that lockstepd's limits (keep_runs, keep_days) never remove. */
#define LABEL_KEEP "keep"

/* A tag: letters, digits and . _ : = / + -, not with "-" in front. Errors: LS_E_INVALID, the sentence names it. */
enum ls_rc label_check_tag(const char *tag, struct ls_err *err) LS_MUST_CHECK;

/* All of count tags and the note (NULL: none), which is one line of UTF-8. Errors: LS_E_INVALID, LS_E_LIMIT. */
enum ls_rc label_check(char *const *tags, size_t count, const char *note, struct ls_err *err) LS_MUST_CHECK;

#endif
