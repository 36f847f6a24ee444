/* Any bytes as a message. What is accepted comes back the same from its own encoding. */
#include <stdlib.h>
#include <string.h>

#include "proto/codec/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL, *again = NULL;
	size_t len = 0, again_len = 0;
	struct msg msg, back;
	struct ls_err err = { 0 };

	if (msg_decode((const char *)data, size, MSG_TO_ANY, &msg, &err) != LS_OK) {
		require(err.text[0] != '\0');
		return 0;
	}
	if (msg_encode(msg.type, msg.body, &text, &len, &err) == LS_OK) {
		require(msg_decode(text, len, MSG_TO_ANY, &back, &err) == LS_OK);
		require(back.type == msg.type);
		require(msg_encode(back.type, back.body, &again, &again_len, &err) == LS_OK);
		require(len == again_len && memcmp(text, again, len) == 0);
		msg_fini(&back);
	}
	free(text);
	free(again);
	msg_fini(&msg);
	return 0;
}
