/* A results document as a file or a peer may hand it in: decoded, aggregated anew, written and read again. */
#include <stdlib.h>
#include <string.h>

#include "proto/codec/json.h"
#include "proto/codec/json_int.h"
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

/* What the quick way reads must be what the tree holds. */
static void
check_walk(const char *text, size_t len)
{
	const struct json_context context = { .what = "results" };
	struct results walked;
	struct results read;
	struct ls_err err;
	json_t *tree;
	char *one;
	char *other;

	if (json_text_check(text, len, VALUES_MAX, "results", &err) != LS_OK ||
	    !json_walk(&context, &results_desc, text, len, &walked))
		return;
	require(json_text_parse(text, len, VALUES_MAX, "results", &tree, &err) == LS_OK);
	require(json_tree_to_struct(&context, NULL, &results_desc, tree, &read, &err) == LS_OK);
	json_decref(tree);
	one = json_encode_struct(&results_desc, &walked, false, NULL);
	other = json_encode_struct(&results_desc, &read, false, NULL);
	require(strcmp(one, other) == 0);
	field_struct_fini(&results_desc, &walked);
	field_struct_fini(&results_desc, &read);
	free(one);
	free(other);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct results results;
	struct ls_err err = { 0 };

	check_walk((const char *)data, size);
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
