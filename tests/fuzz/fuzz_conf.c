/* Configuration files. What was read is printed and must be read again to the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/conf.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const sample_level_names[] = { "error", "info", "debug", NULL };

#include "common/base/field_decl.h"
#include "tests/unit/common/conf/sample.def"
#include "common/base/field_undef.h"

#include "common/base/field_table.h"
#include "tests/unit/common/conf/sample.def"
#include "common/base/field_undef.h"

static enum ls_rc
read_text(char *text, size_t size, struct sample *out)
{
	struct ls_err err;
	FILE *in = fmemopen(text, size, "r");

	if (in == NULL)
		return LS_E_SYS;
	field_struct_init(&sample_desc, out);
	enum ls_rc rc = conf_read(in, "fuzz", "sample", &sample_desc, out, NULL, &err);
	fclose(in);
	if (rc != LS_OK) {
		if (err.rc != rc || err.text[0] == '\0')
			abort();
		field_struct_fini(&sample_desc, out);
	}
	return rc;
}

static char *
print_text(const struct sample *s, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		abort();
	conf_print("sample", &sample_desc, s, false, out);
	fclose(out);
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample s, again;
	char *text = malloc(size > 0 ? size : 1);
	size_t first_len, second_len;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	if (size == 0 || read_text(text, size, &s) != LS_OK) {
		free(text);
		return 0;
	}
	char *first = print_text(&s, &first_len);
	if (read_text(first, first_len, &again) != LS_OK)
		abort();
	char *second = print_text(&again, &second_len);
	if (first_len != second_len || memcmp(first, second, first_len) != 0)
		abort();
	field_struct_fini(&sample_desc, &s);
	field_struct_fini(&sample_desc, &again);
	free(first);
	free(second);
	free(text);
	return 0;
}
