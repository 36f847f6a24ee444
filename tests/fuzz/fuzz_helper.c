/* Packets of the root helper: requests as the helper reads them, answers as the agent does. What was read is written as it came. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/wire.h"
#include "common/base/pathname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try_request(const char *data, size_t size)
{
	struct helper_request request;
	struct ls_err err = { 0 };
	char again[HELPER_PATH_MAX + 64];

	if (helper_request_parse(data, size, &request, &err) != LS_OK) {
		if (err.rc != LS_E_INVALID || err.text[0] == '\0')
			abort();
		return;
	}
	size_t len = helper_request_format(&request, again, sizeof(again));

	if (len != size || memcmp(again, data, size) != 0)
		abort();
	if (request.verb == HELPER_REMOUNT && pathname_fault(request.path) != NULL)
		abort();
}

static void
try_answer(const char *data, size_t size)
{
	char body[HELPER_PACKET_MAX], text[HELPER_PACKET_MAX];
	struct helper_status status;
	struct helper_beats beats, again;
	struct ls_err err = { 0 };

	if (helper_answer_parse(data, size, body, sizeof(body), &err) != LS_OK) {
		for (const char *p = err.text; *p != '\0'; p++)
			if (*p < ' ' || *p > '~')
				abort();
		return;
	}
	(void)!helper_status_parse(body, "/mnt/shared", &status, &err);
	if (helper_beats_parse(body, &beats, &err) != LS_OK)
		return;
	(void)helper_beats_format(&beats, text, sizeof(text));
	if (helper_beats_parse(text, &again, &err) != LS_OK || again.count != beats.count)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size > 0 ? size : 1); /* no byte more than there are: a read beyond shows */

	if (copy == NULL || size > HELPER_PACKET_MAX) {
		free(copy);
		return 0;
	}
	if (size > 0)
		memcpy(copy, data, size);
	try_request(copy, size);
	try_answer(copy, size);
	free(copy);
	return 0;
}
