#include "common/conf/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/field.h"
#include "common/base/mem.h"
#include "common/base/units.h"

#define HELP_COLUMNS 100
#define HELP_INDENT  26

struct parse {
	int argc;
	char *const *argv;
	int at; /* next argument */
	const struct option_set *sets;
	size_t set_count;
};

static void *
member_at(void *into, size_t offset)
{
	return (char *)into + offset;
}

void
option_texts_add(struct option_texts *texts, const char *text)
{
	texts->items = ls_grow(texts->items, texts->count, sizeof(*texts->items));
	texts->items[texts->count++] = text;
}

void
option_texts_free(struct option_texts *texts)
{
	free(texts->items);
	*texts = (struct option_texts){ 0 };
}

void
options_release(const struct option_row *rows, void *into)
{
	for (; rows->name != NULL; rows++)
		if (rows->kind == OPTION_TEXTS)
			option_texts_free(member_at(into, rows->offset));
}

static const struct option_row *
find_row(const struct parse *p, const char *name, size_t len, char letter, void **out_member)
{
	for (size_t s = 0; s < p->set_count; s++) {
		for (const struct option_row *row = p->sets[s].rows; row->name != NULL; row++) {
			bool by_name = name != NULL && strncmp(row->name, name, len) == 0 && row->name[len] == '\0';

			if (!by_name && (letter == '\0' || row->letter != letter))
				continue;
			*out_member = member_at(p->sets[s].into, row->offset);
			return row;
		}
	}
	return NULL;
}

static enum ls_rc
unknown_option(const struct parse *p, const char *given, const char *name, struct ls_err *err)
{
	const char *nearest = NULL;
	unsigned best = 4;

	for (size_t s = 0; s < p->set_count; s++) {
		for (const struct option_row *row = p->sets[s].rows; row->name != NULL; row++) {
			unsigned distance = field_distance(name, row->name);

			if (distance < best) {
				best = distance;
				nearest = row->name;
			}
		}
	}
	if (nearest == NULL)
		return ls_err_set(err, LS_E_INVALID, "unknown option %s", given);
	return ls_err_set(err, LS_E_INVALID, "unknown option %s, did you mean --%s?", given, nearest);
}

static enum ls_rc
parse_count(const struct option_row *row, const char *value, uint64_t *out, struct ls_err *err)
{
	char *end;

	errno = 0;
	unsigned long long n = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end != '\0')
		return ls_err_set(err, LS_E_INVALID, "--%s: \"%s\" is not a whole number", row->name, value);
	if (errno != 0 || n < row->min || n > row->max)
		return ls_err_set(err, LS_E_RANGE, "--%s: %s is not within %llu and %llu", row->name, value,
		    (unsigned long long)row->min, (unsigned long long)row->max);
	*out = n;
	return LS_OK;
}

static enum ls_rc
store_value(const struct option_row *row, const char *value, void *member, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		break;
	case OPTION_TEXT:
		*(const char **)member = value;
		break;
	case OPTION_TEXTS:
		option_texts_add(member, value);
		break;
	case OPTION_COUNT:
		rc = parse_count(row, value, member, err);
		break;
	case OPTION_DURATION:
		rc = units_parse_duration(value, member, err);
		if (rc != LS_OK)
			ls_err_wrap(err, "--%s", row->name);
		break;
	}
	return rc;
}

/* One option; its value is after "=" or the next argument. */
static enum ls_rc
parse_option(struct parse *p, struct ls_err *err)
{
	const char *given = p->argv[p->at++];
	bool is_long = given[1] == '-';
	const char *name = given + (is_long ? 2 : 1);
	size_t len = is_long ? strcspn(name, "=") : 1;
	const char *value = name[len] == '\0' ? NULL : name + len + (is_long ? 1 : 0);
	void *member;
	char plain[64];
	const struct option_row *row = find_row(p, is_long ? name : NULL, len, is_long ? '\0' : name[0], &member);

	snprintf(plain, sizeof(plain), "%.*s", (int)LS_MIN(len, sizeof(plain) - 1), name);
	if (row == NULL)
		return unknown_option(p, given, plain, err);
	if (row->kind == OPTION_FLAG) {
		if (value != NULL)
			return ls_err_set(err, LS_E_INVALID, "--%s takes no value", row->name);
		return store_value(row, NULL, member, err);
	}
	if (value == NULL) {
		if (p->at == p->argc)
			return ls_err_set(err, LS_E_INVALID, "--%s needs a value (%s)", row->name, row->value);
		value = p->argv[p->at++];
	}
	return store_value(row, value, member, err);
}

enum ls_rc
options_parse(int argc, char *const *argv, const struct option_set *sets, size_t count, bool stop_at_word,
    struct option_texts *words, int *out_used, struct ls_err *err)
{
	struct parse p = { .argc = argc, .argv = argv, .sets = sets, .set_count = count };
	bool only_words = false;

	while (p.at < argc) {
		const char *arg = argv[p.at];

		if (!only_words && strcmp(arg, "--") == 0) {
			only_words = true;
			p.at++;
		} else if (!only_words && arg[0] == '-' && arg[1] != '\0') {
			enum ls_rc rc = parse_option(&p, err);
			if (rc != LS_OK)
				return rc;
		} else if (stop_at_word) {
			break;
		} else {
			option_texts_add(words, arg);
			p.at++;
		}
	}
	if (out_used != NULL)
		*out_used = p.at;
	return LS_OK;
}

void
help_wrap(struct sink *out, size_t indent, size_t used, const char *text)
{
	for (bool first = true; *text != '\0'; first = false) {
		size_t len = strcspn(text, " ");

		if (!first && used + 1 + len > HELP_COLUMNS) {
			sink_printf(out, "\n%*s", (int)indent, "");
			used = indent;
		} else if (!first) {
			sink_add(out, " ", 1);
			used++;
		}
		sink_add(out, text, len);
		used += len;
		text += len;
		text += strspn(text, " ");
	}
	sink_add(out, "\n", 1);
}

void
options_help(const struct option_row *rows, struct sink *out)
{
	for (; rows->name != NULL; rows++) {
		char left[64];
		char letter[8] = "    ";

		if (rows->letter != '\0')
			snprintf(letter, sizeof(letter), "-%c, ", rows->letter);
		snprintf(left, sizeof(left), "  %s--%s%s%s", letter, rows->name, rows->value != NULL ? " " : "",
		    rows->value != NULL ? rows->value : "");
		sink_printf(out, "%-*s", HELP_INDENT - 2, left);
		size_t used = LS_MAX(strlen(left), (size_t)HELP_INDENT - 2);
		sink_printf(out, "  ");
		help_wrap(out, HELP_INDENT, used + 2, rows->help);
	}
}
