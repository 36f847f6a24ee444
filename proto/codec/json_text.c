/* Text to jansson's tree: the limits before, the error after. */
#include "proto/codec/json_int.h"

#include <string.h>

struct scan {
	size_t depth;
	size_t values;
	size_t line, column; /* from 1, of the byte that is looked at */
};

/* The end of a string that begins before p: the closing quote, or end. */
static const char *
skip_string(const char *p, const char *end, struct scan *scan)
{
	for (; p < end && *p != '"'; p++) {
		scan->column++;
		if (*p == '\\' && p + 1 < end) {
			p++;
			scan->column++;
		}
	}
	return p;
}

/*
 * Depth and number of values are known from brackets and commas outside of strings. The text need not be JSON: jansson
 * finds that out afterwards.
 */
enum ls_rc
json_text_check(const char *text, size_t len, size_t max_values, const char *what, struct ls_err *err)
{
	struct json_context context = { .what = what };
	struct scan scan = { .line = 1, .column = 1 };
	const char *end = text + len;

	for (const char *p = text; p < end; p++, scan.column++) {
		if (*p == '"') {
			scan.column++;
			p = skip_string(p + 1, end, &scan);
		} else if (*p == '\n') {
			scan.line++;
			scan.column = 0;
		} else if (*p == '{' || *p == '[') {
			scan.values++;
			if (++scan.depth > JSON_DEPTH_MAX)
				return json_error(&context, NULL, err, LS_E_INVALID,
				    "line %zu column %zu: nested deeper than %d", scan.line, scan.column,
				    JSON_DEPTH_MAX);
		} else if (*p == '}' || *p == ']') {
			scan.depth -= scan.depth > 0;
		} else if (*p == ',') {
			scan.values++;
		}
		if (max_values != 0 && scan.values > max_values)
			return json_error(&context, NULL, err, LS_E_LIMIT, "line %zu column %zu: more than %zu values",
			    scan.line, scan.column, max_values);
	}
	return LS_OK;
}

enum ls_rc
json_text_parse(const char *text, size_t len, size_t max_values, const char *what, json_t **out, struct ls_err *err)
{
	struct json_context context = { .what = what };
	json_error_t error;
	json_t *tree;
	enum ls_rc rc;

	rc = json_text_check(text, len, max_values, what, err);
	if (rc != LS_OK)
		return rc;
	tree = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (tree == NULL)
		return json_error(
		    &context, NULL, err, LS_E_INVALID, "line %d column %d: %s", error.line, error.column, error.text);
	*out = tree;
	return LS_OK;
}

json_t *
json_value_parse(const char *text)
{
	size_t len = strlen(text);

	if (json_text_check(text, len, 0, NULL, NULL) != LS_OK)
		return NULL;
	return json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}
