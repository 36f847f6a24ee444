#include "common/base/mountinfo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"

/* A piece of the text, not terminated. */
struct span {
	const char *at;
	size_t len;
};

/* Takes the next word of line up to a blank; false when there is none. */
static bool
next_word(struct span *line, struct span *word)
{
	while (line->len > 0 && *line->at == ' ') {
		line->at++;
		line->len--;
	}
	if (line->len == 0)
		return false;

	const char *end = memchr(line->at, ' ', line->len);

	word->at = line->at;
	word->len = end != NULL ? (size_t)(end - line->at) : line->len;
	line->at += word->len;
	line->len -= word->len;
	return true;
}

/* Decimal digits only, the whole of the span. */
static bool
span_number(struct span s, unsigned *out)
{
	unsigned value = 0;

	if (s.len == 0 || s.len > 9)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		value = value * 10 + (unsigned)(s.at[i] - '0');
	}
	*out = value;
	return true;
}

static bool
span_device(struct span s, unsigned *major, unsigned *minor)
{
	const char *colon = memchr(s.at, ':', s.len);

	if (colon == NULL)
		return false;

	size_t head = (size_t)(colon - s.at);
	struct span left = { s.at, head };
	struct span right = { colon + 1, s.len - head - 1 };

	return span_number(left, major) && span_number(right, minor);
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* A copy of the span with its \ooo escapes undone; what only looks like one stays as it is. */
static char *
unescape(struct span s)
{
	char *out = ls_malloc(s.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] == '\\' && s.len - i > 3 && s.at[i + 1] <= '3' && is_octal(s.at[i + 1]) &&
		    is_octal(s.at[i + 2]) && is_octal(s.at[i + 3])) {
			int c = (s.at[i + 1] - '0') << 6 | (s.at[i + 2] - '0') << 3 | (s.at[i + 3] - '0');

			if (c != 0) {
				out[n++] = (char)c;
				i += 3;
				continue;
			}
		}
		out[n++] = s.at[i];
	}
	out[n] = '\0';
	return out;
}

/* 36 35 98:0 /root /mount/point rw,noatime [optional fields] - ext4 /dev/sda1 rw,errors=continue */
static bool
parse_line(struct span line, struct mount_entry *out)
{
	struct span id, parent, device, root, point, options, word, type, source;
	struct span super = { "", 0 };
	unsigned number;

	if (!next_word(&line, &id) || !span_number(id, &number))
		return false;
	if (!next_word(&line, &parent) || !next_word(&line, &device) || !next_word(&line, &root) ||
	    !next_word(&line, &point) || !next_word(&line, &options))
		return false;
	if (!span_device(device, &out->major, &out->minor))
		return false;
	do {
		if (!next_word(&line, &word))
			return false;
		out->slave |= word.len > 7 && memcmp(word.at, "master:", 7) == 0;
	} while (word.len != 1 || *word.at != '-');
	if (!next_word(&line, &type))
		return false;
	/* A mount without a source has an empty field there: two blanks follow each other. */
	if (line.len >= 2 && line.at[0] == ' ' && line.at[1] == ' ')
		source = (struct span){ "", 0 };
	else if (!next_word(&line, &source))
		return false;
	(void)next_word(&line, &super);

	out->id = (int)number;
	out->mount_point = unescape(point);
	out->options = unescape(options);
	out->fs_type = unescape(type);
	out->source = unescape(source);
	out->super_options = unescape(super);
	return true;
}

static bool
next_line(struct span *text, struct span *line)
{
	if (text->len == 0)
		return false;

	const char *end = memchr(text->at, '\n', text->len);

	line->at = text->at;
	line->len = end != NULL ? (size_t)(end - text->at) : text->len;
	text->at += line->len + (end != NULL);
	text->len -= line->len + (end != NULL);
	return true;
}

enum ls_rc
mountinfo_find(const char *text, size_t len, int mount_id, struct mount_entry *out, struct ls_err *err)
{
	struct span rest = { text, len }, line;

	while (next_line(&rest, &line)) {
		struct mount_entry entry = { 0 };

		if (!parse_line(line, &entry))
			continue;
		if (entry.id == mount_id) {
			*out = entry;
			return LS_OK;
		}
		mount_entry_fini(&entry);
	}
	return ls_err_set(err, LS_E_NOTFOUND, "mount %d is not in mountinfo", mount_id);
}

size_t
mountinfo_find_point(const char *text, size_t len, const char *mount_point, struct mount_entry *out)
{
	struct span rest = { text, len }, line;
	size_t found = 0;

	while (next_line(&rest, &line)) {
		struct mount_entry entry = { 0 };

		if (!parse_line(line, &entry))
			continue;
		if (strcmp(entry.mount_point, mount_point) != 0) {
			mount_entry_fini(&entry);
			continue;
		}
		if (found++ > 0)
			mount_entry_fini(out);
		*out = entry;
	}
	return found;
}

/* Is word one of the comma-separated options? */
static bool
has_option(const char *options, const char *word, size_t len)
{
	while (*options != '\0') {
		size_t n = strcspn(options, ",");

		if (n == len && memcmp(options, word, len) == 0)
			return true;
		options += n;
		if (*options == ',')
			options++;
	}
	return false;
}

char *
mountinfo_options(const struct mount_entry *entry)
{
	struct sink s = { 0 };
	const char *at = entry->super_options;

	sink_add(&s, entry->options, strlen(entry->options));
	while (*at != '\0') {
		size_t n = strcspn(at, ",");

		if (n > 0 && !has_option(entry->options, at, n)) {
			if (s.len > 0)
				sink_add(&s, ",", 1);
			sink_add(&s, at, n);
		}
		at += n;
		if (*at == ',')
			at++;
	}

	char *out = s.text != NULL ? ls_strdup(s.text) : ls_strdup("");

	sink_free(&s);
	return out;
}

void
mount_entry_fini(struct mount_entry *entry)
{
	free(entry->mount_point);
	free(entry->options);
	free(entry->fs_type);
	free(entry->source);
	free(entry->super_options);
	*entry = (struct mount_entry){ 0 };
}
