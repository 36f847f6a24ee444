#include "common/base/fsm.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/base/frame.h"

static const struct fsm_edge edges[] = { { 0, 0, 1, 10 }, { 0, 1, 2, 11 }, { 1, 0, 2, 12 } };
static const char *const names[] = { "a", "b", "c" };
static const struct fsm_def def = { "test", edges, ARRAY_LEN(edges), names, ARRAY_LEN(names), names, 2 };

static void
test_an_edge_is_found_by_state_and_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++)
		assert_ptr_equal(fsm_find(&def, edges[i].from, edges[i].event), &edges[i]);
	assert_null(fsm_find(&def, 1, 1));
	assert_null(fsm_find(&def, 2, 0));
	assert_null(fsm_find(&def, -1, 0));
}

static void
test_a_frames_length_is_big_endian(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 255, 256, 0x01020304, UINT32_MAX };
	uint8_t header[FRAME_HEADER_BYTES];

	(void)state;
	frame_header_put(header, 0x01020304);
	assert_memory_equal(header, "\1\2\3\4", 4);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		frame_header_put(header, lengths[i]);
		assert_int_equal(frame_header_get(header), lengths[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_edge_is_found_by_state_and_event),
		cmocka_unit_test(test_a_frames_length_is_big_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
