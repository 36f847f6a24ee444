/*
 * Delays between attempts to reconnect.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/base/defs.h"
#include "common/net/backoff.h"

static void
test_delays_double_up_to_ten_seconds_with_jitter(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct backoff b = { .rng = seed };
		int64_t full = 100 * NS_PER_MS;
		for (int i = 0; i < 100; i++) {
			int64_t delay = backoff_next(&b);
			if (delay < full / 2 || delay > full)
				fail_msg("seed %d, try %d: %lld", (int)seed, i, (long long)delay);
			full = LS_MIN(2 * full, 10 * NS_PER_S);
		}
		backoff_reset(&b);
		assert_in_range(backoff_next(&b), 50 * NS_PER_MS, 100 * NS_PER_MS);
	}
}

static void
test_delays_are_spread(void **state)
{
	unsigned buckets[10] = { 0 };

	(void)state;
	/* neighbouring seeds, as processes that start together may have */
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct backoff b = { .rng = seed, .tries = 20 };
		backoff_next(&b);
		int64_t over = backoff_next(&b) - 5 * NS_PER_S;
		buckets[LS_MIN(over / (NS_PER_S / 2), 9)]++;
	}
	for (size_t i = 0; i < ARRAY_LEN(buckets); i++)
		if (buckets[i] < 50 || buckets[i] > 200)
			fail_msg("bucket %zu has %u of 1000", i, buckets[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delays_double_up_to_ten_seconds_with_jitter),
		cmocka_unit_test(test_delays_are_spread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
