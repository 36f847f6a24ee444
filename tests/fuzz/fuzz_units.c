/* Sizes and durations as text. What was parsed is written and must be parsed again, to within the digits shown. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_size(const char *text)
{
	char buf[32];
	uint64_t bytes, again;
	struct ls_err err;

	if (units_parse_size(text, &bytes, &err) != LS_OK)
		return;
	if (bytes > INT64_MAX)
		abort();
	units_format_size(bytes, buf, sizeof(buf));
	if (strstr(buf, "EiB") != NULL)
		return; /* written, also for what is rounded up to it, but no size of that unit is read */
	if (units_parse_size(buf, &again, &err) != LS_OK)
		abort();

	uint64_t off = bytes > again ? bytes - again : again - bytes;
	if (off > bytes / 150)
		abort();
}

static void
check_duration(const char *text)
{
	char buf[32];
	int64_t ns;
	struct ls_err err;

	if (units_parse_duration(text, &ns, &err) != LS_OK)
		return;
	if (ns < 0)
		abort();
	units_format_duration(ns, buf, sizeof(buf));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check_size(text);
	check_duration(text);
	free(text);
	return 0;
}
