/* Output of other tools as people hand it in: read, joined, written as documents and read again. */
#include <stdlib.h>
#include <string.h>

#include "coordinator/import/import.h"
#include "proto/codec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

/* Whatever was read must fit the limits of the model: its own text decodes. */
static void
check_written(const struct results *doc)
{
	struct results back;
	struct ls_err err;
	size_t len;
	char *text = json_encode_struct(&results_desc, doc, false, &len);

	require(json_decode_struct(&results_desc, text, len, JSON_UNKNOWN_IGNORED, "import", &back, &err) == LS_OK);
	field_struct_fini(&results_desc, &back);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_set set = { 0 };
	struct ls_err err = { 0 };

	if (import_read("input", (const char *)data, size, &set, &err) != LS_OK) {
		require(strncmp(err.text, "input", 5) == 0);
		import_set_free(&set);
		return 0;
	}
	require(set.count > 0);
	for (size_t i = 0; i < set.count; i++)
		check_written(set.docs[i]);
	if (import_join(&set, &err) == LS_OK)
		check_written(set.docs[0]);
	else
		require(err.text[0] != '\0');
	import_set_free(&set);
	return 0;
}
