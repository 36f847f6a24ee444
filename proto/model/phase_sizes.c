/* Sizes of operations by shares: "4KiB:60/64KiB:40". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "proto/model/phase_int.h"

#define WEIGHT_MAX 1000000

static enum ls_rc
parse_weight(const char *text, uint64_t *out, struct ls_err *err)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < 1 || value > WEIGHT_MAX)
		return ls_err_set(
		    err, LS_E_INVALID, "record_sizes: \"%s\" is no share, a number of 1 to %d", text, WEIGHT_MAX);
	*out = value;
	return LS_OK;
}

/* "64KiB:40", or "64KiB" for a share of 1; text is cut. */
static enum ls_rc
parse_one(char *text, struct phase_size *out, struct ls_err *err)
{
	char *colon = strchr(text, ':');
	struct ls_err why;

	out->weight = 1;
	if (colon != NULL) {
		*colon = '\0';
		enum ls_rc rc = parse_weight(colon + 1, &out->weight, err);
		if (rc != LS_OK)
			return rc;
	}
	if (units_parse_size(text, &out->bytes, &why) != LS_OK)
		return ls_err_set(err, LS_E_INVALID, "record_sizes: %s", why.text);
	return LS_OK;
}

enum ls_rc
phase_parse_sizes(const struct phase *phase, struct phase_size *out, size_t *out_count, struct ls_err *err)
{
	char text[PHASE_SIZES_TEXT + 1];
	char *rest = text, *one;
	size_t n = 0;

	*out_count = 0;
	if (phase->record_sizes == NULL || phase->record_sizes[0] == '\0')
		return LS_OK;
	if (strlen(phase->record_sizes) > PHASE_SIZES_TEXT)
		return ls_err_set(err, LS_E_RANGE, "record_sizes: longer than %d bytes", PHASE_SIZES_TEXT);
	strcpy(text, phase->record_sizes);
	while ((one = strsep(&rest, "/")) != NULL) {
		if (n == PHASE_SIZES_MAX)
			return ls_err_set(err, LS_E_RANGE, "record_sizes: more than %d sizes", PHASE_SIZES_MAX);
		enum ls_rc rc = parse_one(one, &out[n], err);
		if (rc != LS_OK)
			return rc;
		if (out[n].bytes < 1 || out[n].bytes > phase->record_size)
			return ls_err_set(err, LS_E_RANGE,
			    "record_sizes: %" PRIu64 " bytes are not 1 to record_size, %" PRIu64, out[n].bytes,
			    phase->record_size);
		n++;
	}
	*out_count = n;
	return LS_OK;
}

enum ls_rc
phase_validate_sizes(const struct phase *phase, struct ls_err *err)
{
	struct phase_size sizes[PHASE_SIZES_MAX];
	size_t count;
	enum ls_rc rc = phase_parse_sizes(phase, sizes, &count, err);
	bool blocks = phase_verifies(phase) || phase->duplicate > 0;
	uint64_t align = blocks ? PHASE_BLOCK_BYTES : phase->direct ? 512 : 1;

	for (size_t i = 0; rc == LS_OK && i < count; i++)
		if (sizes[i].bytes % align != 0)
			rc = ls_err_set(err, LS_E_INVALID,
			    "record_sizes: %" PRIu64 " is not a multiple of %" PRIu64 ", which %s needs",
			    sizes[i].bytes, align, blocks ? "verify or duplicate" : "direct");
	return rc;
}
