#include "proto/model/label.h"

#include <string.h>

#define TAG_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:=/+-"

enum ls_rc
label_check_tag(const char *tag, struct ls_err *err)
{
	size_t len = strlen(tag);

	if (len == 0)
		return ls_err_set(err, LS_E_INVALID, "an empty tag says nothing");
	if (len > LABEL_TAG_MAX)
		return ls_err_set(err, LS_E_INVALID, "tag \"%.20s...\" is longer than %d bytes", tag, LABEL_TAG_MAX);
	if (tag[0] == '-' || strspn(tag, TAG_CHARS) != len)
		return ls_err_set(err, LS_E_INVALID,
		    "tag \"%s\": a tag has letters, digits and . _ : = / + -, and does not begin with -; a note can "
		    "hold "
		    "any text",
		    tag);
	return LS_OK;
}

static enum ls_rc
check_note(const char *note, struct ls_err *err)
{
	if (strlen(note) > LABEL_NOTE_MAX)
		return ls_err_set(err, LS_E_INVALID, "the note is longer than %d bytes", LABEL_NOTE_MAX);
	for (const char *p = note; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return ls_err_set(
			    err, LS_E_INVALID, "the note has a control character: it must be one line of text");
	return LS_OK;
}

enum ls_rc
label_check(char *const *tags, size_t count, const char *note, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (count > LABEL_TAGS_MAX)
		return ls_err_set(err, LS_E_LIMIT, "more than %d tags", LABEL_TAGS_MAX);
	for (size_t i = 0; i < count && rc == LS_OK; i++)
		rc = label_check_tag(tags[i], err);
	if (rc == LS_OK && note != NULL)
		rc = check_note(note, err);
	return rc;
}
