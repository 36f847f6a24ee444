/* The results document itself, indented, as lockstep-results/1 says. */
#include "coordinator/report/format.h"

#include <stdlib.h>

#include "proto/codec/json.h"

extern const struct report_format report_json;

static enum ls_rc
render_json(const struct results *results, struct sink *out, struct ls_err *err)
{
	size_t len;
	char *text = json_encode_struct(&results_desc, results, true, &len);

	(void)err;
	sink_add(out, text, len);
	sink_add(out, "\n", 1);
	free(text);
	return LS_OK;
}

const struct report_format report_json = {
	.name = "json",
	.extension = "json",
	.help = "the whole results document (schema lockstep-results/1)",
	.render = render_json,
};
