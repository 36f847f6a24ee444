/* A results document as a file or a peer may hand it in: decoded, aggregated anew, written and read again. */
#include <stdlib.h>
#include <string.h>

#include "proto/codec/json.h"
#include "proto/model/aggregate.h"
#include "proto/model/results.h"

#define VALUES_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
check_written(const struct results *results)
{
	struct results back;
	struct ls_err err;
	size_t len, again_len;
	char *text = json_encode_struct(&results_desc, results, false, &len), *again;

	require(json_decode_struct(&results_desc, text, len, JSON_UNKNOWN_IGNORED, "results", &back, &err) == LS_OK);
	again = json_encode_struct(&results_desc, &back, false, &again_len);
	require(len == again_len && memcmp(text, again, len) == 0);
	field_struct_fini(&results_desc, &back);
	free(text);
	free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct results results;
	struct ls_err err = { 0 };

	if (json_decode_struct_max(&results_desc, (const char *)data, size, JSON_UNKNOWN_IGNORED, VALUES_MAX, "results",
		&results, &err) != LS_OK) {
		require(err.text[0] != '\0');
		return 0;
	}
	check_written(&results);
	for (size_t i = 0; i < results.phases_count; i++) {
		struct phase_result *phase = &results.phases[i];

		for (size_t j = 0; j < phase->nodes_count; j++)
			node_result_derive(&phase->nodes[j]);
		if (phase_result_aggregate(phase, &results.run.job, &err) != LS_OK)
			require(err.text[0] != '\0');
	}
	field_struct_fini(&results_desc, &results);
	return 0;
}
