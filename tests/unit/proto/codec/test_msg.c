/* Messages: the table, who may receive what, and that random contents of every type survive the way there and back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "proto/codec/json.h"
#include "proto/codec/msg.h"

#define ROUNDS 30

/* --- random contents by field table --- */

static uint64_t
next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t
below(uint64_t *seed, uint64_t n)
{
	return next_random(seed) % n;
}

static char *
random_text(uint64_t *seed, int64_t max)
{
	static const char *const pieces[] = { "a", "Z", " ", "\"", "\\", "/", "\n", "\x01", "\x7f", "\xc3\xa4",
		"\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd", "null", "0" };
	struct sink s = { 0 };
	uint64_t n = below(seed, 12);

	sink_printf(&s, "%s", "");
	for (uint64_t i = 0; i < n; i++) {
		const char *piece = pieces[below(seed, ARRAY_LEN(pieces))];

		if (max == 0 || s.len + strlen(piece) <= (size_t)max)
			sink_printf(&s, "%s", piece);
	}
	return s.text;
}

static int64_t
random_integer(uint64_t *seed, const struct field_desc *field)
{
	bool is_unsigned = field->kind == FIELD_U64 || field->kind == FIELD_SIZE;
	bool any = field->min == 0 && field->max == 0;
	int64_t min = any ? (is_unsigned ? 0 : INT64_MIN + 1) : LS_MAX(field->min, INT64_MIN + 1);
	int64_t max = any ? INT64_MAX : field->max;
	uint64_t span = (uint64_t)max - (uint64_t)min;

	switch (below(seed, 4)) {
	case 0:
		return min;
	case 1:
		return max;
	default:
		return (
		    int64_t)((uint64_t)min + (span == UINT64_MAX ? next_random(seed) : next_random(seed) % (span + 1)));
	}
}

static double
random_number(uint64_t *seed)
{
	uint64_t bits = next_random(seed);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return isfinite(value) ? value : (double)(int64_t)bits;
}

static void fill(uint64_t *seed, const struct struct_desc *desc, void *obj);

static void
fill_list(uint64_t *seed, const struct field_desc *field, void *obj)
{
	void **items = (void **)(void *)((char *)obj + field->offset);
	size_t *count = (size_t *)(void *)((char *)obj + field->count_offset);
	size_t size = field->kind == FIELD_STRUCT_LIST ? field->sub->size : 2 * sizeof(uint64_t);

	*count = below(seed, field->max > 0 ? (uint64_t)LS_MIN(field->max, 3) + 1 : 4);
	*items = *count > 0 ? ls_calloc(*count, size) : NULL;
	for (size_t i = 0; i < *count; i++) {
		if (field->kind == FIELD_STR_LIST)
			((char **)*items)[i] = random_text(seed, 0);
		else if (field->kind == FIELD_I64_LIST)
			((int64_t *)*items)[i] = (int64_t)next_random(seed);
		else if (field->kind == FIELD_STRUCT_LIST)
			fill(seed, field->sub, (char *)*items + i * size);
		else
			for (size_t j = 0; j < 2; j++)
				((uint64_t *)*items)[2 * i + j] = next_random(seed) >> 1;
	}
}

static void
fill_field(uint64_t *seed, const struct field_desc *field, void *obj)
{
	bool null = (field->flags & FIELD_NULLABLE) && below(seed, 3) == 0;
	void *p = (char *)obj + field->offset;
	int names = 0;

	switch (field->kind) {
	case FIELD_BOOL:
		*(bool *)p = below(seed, 2) == 1;
		break;
	case FIELD_I64:
	case FIELD_DURATION:
		*(int64_t *)p = null ? LS_UNKNOWN_I64 : random_integer(seed, field);
		break;
	case FIELD_U64:
	case FIELD_SIZE:
		*(uint64_t *)p = null ? LS_UNKNOWN_U64 : (uint64_t)random_integer(seed, field);
		break;
	case FIELD_F64:
		*(double *)p = null ? (double)NAN : random_number(seed);
		break;
	case FIELD_ENUM:
		while (field->names[names] != NULL)
			names++;
		*(int *)p = (int)below(seed, (uint64_t)names);
		break;
	case FIELD_STR:
		*(char **)p = null ? NULL : random_text(seed, field->max);
		break;
	case FIELD_STRUCT:
		fill(seed, field->sub, p);
		break;
	case FIELD_STRUCT_PTR:
		*(void **)p = NULL;
		if (below(seed, 2) == 0) {
			*(void **)p = ls_calloc(1, field->sub->size);
			fill(seed, field->sub, *(void **)p);
		}
		break;
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		fill_list(seed, field, obj);
		break;
	case FIELD_KIND_COUNT:
		break;
	}
}

/* What does not apply to a phase's kind is not written and comes back as the default. */
static void
set_default(const struct field_desc *field, void *obj)
{
	const struct struct_desc one = { .fields = field, .field_count = 1 };

	field_struct_fini(&one, obj);
	field_struct_init(&one, obj);
}

static void
fill(uint64_t *seed, const struct struct_desc *desc, void *obj)
{
	for (size_t i = 0; i < desc->field_count; i++)
		fill_field(seed, &desc->fields[i], obj);
	for (size_t i = 0; i < desc->field_count && desc == &phase_desc; i++)
		if (!phase_field_applies(&desc->fields[i], (enum phase_kind)((struct phase *)obj)->kind))
			set_default(&desc->fields[i], obj);
}

/* --- equality by field table --- */

static bool same(const struct struct_desc *desc, const void *a, const void *b);

static bool
same_list(const struct field_desc *field, const void *a, const void *b)
{
	size_t na = *(const size_t *)(const void *)((const char *)a + field->count_offset);
	size_t nb = *(const size_t *)(const void *)((const char *)b + field->count_offset);
	const void *x = *(void *const *)(const void *)((const char *)a + field->offset);
	const void *y = *(void *const *)(const void *)((const char *)b + field->offset);

	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++) {
		if (field->kind == FIELD_STR_LIST && strcmp(((char *const *)x)[i], ((char *const *)y)[i]) != 0)
			return false;
		if (field->kind == FIELD_STRUCT_LIST &&
		    !same(field->sub, (const char *)x + i * field->sub->size, (const char *)y + i * field->sub->size))
			return false;
	}
	if (field->kind == FIELD_I64_LIST)
		return na == 0 || memcmp(x, y, na * sizeof(int64_t)) == 0;
	if (field->kind == FIELD_U64_PAIRS)
		return na == 0 || memcmp(x, y, na * 2 * sizeof(uint64_t)) == 0;
	return true;
}

static bool
same_field(const struct field_desc *field, const void *a, const void *b)
{
	const void *p = (const char *)a + field->offset, *q = (const char *)b + field->offset;
	const char *s, *t;
	double x, y;

	switch (field->kind) {
	case FIELD_BOOL:
		return *(const bool *)p == *(const bool *)q;
	case FIELD_I64:
	case FIELD_DURATION:
	case FIELD_U64:
	case FIELD_SIZE:
		return *(const int64_t *)p == *(const int64_t *)q;
	case FIELD_F64:
		x = *(const double *)p;
		y = *(const double *)q;
		return (isnan(x) && isnan(y)) || (x <= y && x >= y);
	case FIELD_ENUM:
		return *(const int *)p == *(const int *)q;
	case FIELD_STR:
		s = *(char *const *)p;
		t = *(char *const *)q;
		return s == NULL || t == NULL ? s == t : strcmp(s, t) == 0;
	case FIELD_STRUCT:
		return same(field->sub, p, q);
	case FIELD_STRUCT_PTR:
		if (*(void *const *)p == NULL || *(void *const *)q == NULL)
			return *(void *const *)p == *(void *const *)q;
		return same(field->sub, *(void *const *)p, *(void *const *)q);
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		return same_list(field, a, b);
	case FIELD_KIND_COUNT:
		break;
	}
	return false;
}

static bool
same(const struct struct_desc *desc, const void *a, const void *b)
{
	for (size_t i = 0; i < desc->field_count; i++)
		if (!same_field(&desc->fields[i], a, b))
			return false;
	return true;
}

/* --- tests --- */

static void
check_round_trip(const struct msg_info *info, uint64_t seed)
{
	uint64_t random = seed;
	void *body = ls_calloc(1, info->desc->size);
	struct ls_err err = { 0 };
	struct msg back;
	char *text, *again;
	size_t len, again_len;

	fill(&random, info->desc, body);
	if (msg_encode(info->type, body, &text, &len, &err) != LS_OK)
		fail_msg("%s seed %llu: %s", info->name, (unsigned long long)seed, err.text);
	for (size_t i = 0; i < len; i++)
		assert_in_range((unsigned char)text[i], 0x20, 0x7e);
	if (msg_decode(text, len, MSG_TO_ANY, &back, &err) != LS_OK)
		fail_msg("%s seed %llu: %s\n%s", info->name, (unsigned long long)seed, err.text, text);
	assert_int_equal(back.type, info->type);
	if (!same(info->desc, body, back.body))
		fail_msg("%s seed %llu: came back different\n%s", info->name, (unsigned long long)seed, text);
	assert_int_equal(msg_encode(back.type, back.body, &again, &again_len, &err), LS_OK);
	assert_int_equal(len, again_len);
	assert_string_equal(text, again);

	free(text);
	free(again);
	msg_fini(&back);
	msg_body_fini(info->type, body);
	free(body);
}

static void
test_random_contents_survive(void **state)
{
	(void)state;
	for (int type = 0; type < MSG_TYPE_COUNT; type++)
		for (uint64_t round = 0; round < ROUNDS; round++)
			check_round_trip(msg_info((enum msg_type)type), round * 1000 + (uint64_t)type);
}

static void
test_random_results_survive(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		uint64_t random = seed;
		struct results a = { 0 }, b;
		struct ls_err err;
		char *text;
		size_t len;

		fill(&random, &results_desc, &a);
		text = json_encode_struct(&results_desc, &a, seed % 2 == 0, &len);
		if (json_decode_struct(&results_desc, text, len, JSON_UNKNOWN_IGNORED, "results", &b, &err) != LS_OK)
			fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
		assert_true(same(&results_desc, &a, &b));
		free(text);
		field_struct_fini(&results_desc, &a);
		field_struct_fini(&results_desc, &b);
	}
}

static void
test_table_is_whole(void **state)
{
	(void)state;
	for (int i = 0; i < MSG_TYPE_COUNT; i++) {
		const struct msg_info *info = msg_info((enum msg_type)i);

		assert_int_equal(info->type, i);
		assert_ptr_equal(msg_find(info->name), info);
		assert_true(info->directions != 0 && (info->directions & ~(unsigned)MSG_TO_ANY) == 0);
		assert_null(field_find(info->desc, "type")); /* it is the message's own */
	}
	assert_null(msg_find("no-such-message"));
}

struct decode_case {
	const char *name;
	const char *text;
	enum msg_direction to;
	enum ls_rc rc;
	const char *error;
};

static const struct decode_case decode_cases[] = {
	{ "good", "{\"type\":\"ping\",\"seq\":1,\"t0\":2}", MSG_TO_AGENT, LS_OK, "" },
	{ "type last", "{\"seq\":1,\"t0\":2,\"type\":\"ping\"}", MSG_TO_AGENT, LS_OK, "" },
	{ "newer fields", "{\"type\":\"ping\",\"seq\":1,\"t0\":2,\"t9\":[{}]}", MSG_TO_AGENT, LS_OK, "" },
	{ "wrong way", "{\"type\":\"ping\",\"seq\":1,\"t0\":2}", MSG_TO_COORDINATOR, LS_E_PROTO,
	    "ping: not a message for the coordinator" },
	{ "to nobody here", "{\"type\":\"commit\",\"epoch\":{\"run\":\"x\"}}", MSG_TO_RUNNER, LS_E_PROTO,
	    "commit: not a message for a runner" },
	{ "unknown", "{\"type\":\"teapot\"}", MSG_TO_AGENT, LS_E_NOTFOUND, "message: type: \"teapot\" is not known" },
	{ "no type", "{}", MSG_TO_AGENT, LS_E_PROTO, "message: type: missing" },
	{ "type no text", "{\"type\":5}", MSG_TO_AGENT, LS_E_PROTO, "message: type: must be a text" },
	{ "no object", "[1]", MSG_TO_AGENT, LS_E_PROTO, "message: not an object" },
	{ "no JSON", "GET / HTTP/1.1", MSG_TO_AGENT, LS_E_PROTO,
	    "message: line 1 column 3: '[' or '{' expected near 'GET'" },
	{ "missing", "{\"type\":\"ping\",\"seq\":1}", MSG_TO_AGENT, LS_E_PROTO, "ping: t0: missing" },
	{ "missing inside", "{\"type\":\"commit\",\"epoch\":{}}", MSG_TO_AGENT, LS_E_PROTO,
	    "commit: epoch.run: missing" },
	{ "wrong kind", "{\"type\":\"ping\",\"seq\":\"1\",\"t0\":2}", MSG_TO_AGENT, LS_E_PROTO,
	    "ping: seq: must be an integer, not a text" },
	{ "out of limits", "{\"type\":\"ping\",\"seq\":-1,\"t0\":2}", MSG_TO_AGENT, LS_E_PROTO,
	    "ping: seq: -1 is below the least allowed, 0" },
	{ "duplicate", "{\"type\":\"ping\",\"type\":\"pong\"}", MSG_TO_AGENT, LS_E_PROTO,
	    "message: line 1 column 21: duplicate object key near '\"type\"'" },
	{ "deep inside", "{\"type\":\"arm\",\"epoch\":{\"run\":\"x\"},\"spec\":{\"kind\":\"dance\"}}", MSG_TO_AGENT,
	    LS_E_PROTO, "arm: spec.kind: \"dance\" is none of write, rewrite, read, ..." },
};

/* Equal; or, where wanted ends with "...", equal so far: a list of kinds grows. */
static bool
text_fits(const char *got, const char *wanted)
{
	size_t n = strlen(wanted);

	if (n > 3 && strcmp(wanted + n - 3, "...") == 0)
		return strncmp(got, wanted, n - 3) == 0;
	return strcmp(got, wanted) == 0;
}

static void
test_decoding_checks_type_receiver_and_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(decode_cases); i++) {
		const struct decode_case *c = &decode_cases[i];
		struct ls_err err = { 0 };
		struct msg msg = { 0 };
		enum ls_rc rc = msg_decode(c->text, strlen(c->text), c->to, &msg, &err);

		if (rc != c->rc || !text_fits(err.text, c->error))
			fail_msg("%s: got %d \"%s\", wanted %d \"%s\"", c->name, rc, err.text, c->rc, c->error);
		assert_true((rc == LS_OK) == (msg.body != NULL));
		msg_fini(&msg);
		assert_null(msg.body);
		rc = msg_decode(c->text, strlen(c->text), c->to, &msg, NULL);
		assert_int_equal(rc, c->rc);
		msg_fini(&msg);
	}
}

static void
test_too_many_values_are_refused_early(void **state)
{
	struct sink s = { 0 };
	struct ls_err err;
	struct msg msg;

	(void)state;
	sink_printf(&s, "{\"type\":\"ping\",\"seq\":1,\"t0\":2,\"x\":[");
	while (s.len < MSG_FRAME_MAX - 8)
		sink_add(&s, "{},", 3);
	sink_printf(&s, "{}]}");
	assert_int_equal(msg_decode(s.text, s.len, MSG_TO_AGENT, &msg, &err), LS_E_PROTO);
	assert_non_null(strstr(err.text, "more than 300000 values"));
	sink_free(&s);
}

static void
test_what_does_not_fit_into_a_frame(void **state)
{
	struct msg_result_part part;
	struct ls_err err;
	char *text = NULL;
	size_t len = 0;

	(void)state;
	msg_body_init(MSG_RESULT_PART, &part);
	free(part.data);
	part.data = ls_calloc(1, MSG_FRAME_MAX + 1);
	memset(part.data, 'x', MSG_FRAME_MAX);
	assert_int_equal(msg_encode(MSG_RESULT_PART, &part, &text, &len, &err), LS_E_LIMIT);
	assert_non_null(strstr(err.text, "result-part: "));
	assert_null(text);
	msg_body_fini(MSG_RESULT_PART, &part);
}

static void
test_epochs(void **state)
{
	char run[] = "r1", other[] = "r2";
	struct epoch a = { .run = run, .phase = 1, .repetition = 2, .attempt = 3 }, b = a, copy = { 0 };

	(void)state;
	assert_true(epoch_equal(&a, &b));
	b.run = other;
	assert_false(epoch_equal(&a, &b));
	b = a;
	b.attempt = 4;
	assert_false(epoch_equal(&a, &b));
	b = a;
	b.phase = 0;
	assert_false(epoch_equal(&a, &b));
	b = a;
	b.repetition = 0;
	assert_false(epoch_equal(&a, &b));
	assert_false(epoch_equal(&a, &copy));

	epoch_copy(&copy, &a);
	assert_true(epoch_equal(&a, &copy) && copy.run != a.run);
	epoch_copy(&copy, &copy);
	assert_true(epoch_equal(&a, &copy));
	field_struct_fini(&epoch_desc, &copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_contents_survive),
		cmocka_unit_test(test_random_results_survive),
		cmocka_unit_test(test_table_is_whole),
		cmocka_unit_test(test_decoding_checks_type_receiver_and_fields),
		cmocka_unit_test(test_too_many_values_are_refused_early),
		cmocka_unit_test(test_what_does_not_fit_into_a_frame),
		cmocka_unit_test(test_epochs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
