#include "coordinator/daemon/store/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec/json.h"

#include "common/base/field_table.h"
#include "coordinator/daemon/store/records.def"
#include "common/base/field_undef.h"

enum ls_rc
record_decode(const struct struct_desc *desc, const char *text, const char *what, void *obj, struct ls_err *err)
{
	if (text == NULL || text[0] == '\0') {
		field_struct_init(desc, obj);
		return LS_OK;
	}
	return json_decode_struct(desc, text, strlen(text), JSON_UNKNOWN_IGNORED, what, obj, err);
}

enum ls_rc
record_read_result(struct store *store, const char *run, uint64_t phase, uint64_t repetition, uint64_t attempt,
    const char *node, struct node_result *out, struct ls_err *err)
{
	char *text = NULL;
	size_t len = 0;
	enum ls_rc rc = store_get_result(store, run, phase, repetition, attempt, node, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	rc = json_decode_struct_max(
	    &node_result_desc, text, len, JSON_UNKNOWN_IGNORED, JSON_VALUES_WIRE, "result", out, err);
	free(text);
	return rc;
}
