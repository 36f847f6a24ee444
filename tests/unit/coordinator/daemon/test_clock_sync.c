#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "coordinator/daemon/clock_sync.h"

#define AHEAD (3600 * NS_PER_S)

/* The pong of a node whose clock is AHEAD, half a round trip after the ping. */
static struct msg_pong
answer(const struct msg_ping *ping, int64_t rtt_ns)
{
	return (struct msg_pong){ .seq = ping->seq,
		.t0 = ping->t0,
		.t1 = ping->t0 + rtt_ns / 2 + AHEAD,
		.t2 = ping->t0 + rtt_ns / 2 + AHEAD };
}

static enum clock_sync_next
exchange(struct clock_sync *cs, int64_t at_ns, int64_t rtt_ns)
{
	struct msg_ping ping = clock_sync_ping(cs, (struct ls_mono){ at_ns });
	struct msg_pong pong = answer(&ping, rtt_ns);
	enum clock_sync_next next = CLOCK_SYNC_IDLE;

	assert_int_equal(clock_sync_pong(cs, &pong, (struct ls_mono){ at_ns + rtt_ns }, &next, NULL), LS_OK);
	return next;
}

static void
test_offset_of_a_clock_hours_ahead(void **state)
{
	struct clock_sync cs = { 0 };
	struct node_clock c;

	(void)state;
	clock_sync_fill(&cs, (struct ls_mono){ 0 }, &c);
	assert_true(c.offset_ns == LS_UNKNOWN_I64 && c.uncertainty_ns == LS_UNKNOWN_I64 && c.rtt_ns == LS_UNKNOWN_I64);
	for (int i = 0; i < 8; i++)
		assert_int_equal(exchange(&cs, 1000000 + i * 200000, 100000), CLOCK_SYNC_IDLE);
	clock_sync_fill(&cs, (struct ls_mono){ 2600000 }, &c);
	assert_in_range(c.offset_ns, AHEAD - 50000, AHEAD + 50000);
	assert_in_range(c.uncertainty_ns, 1, 60000);
	assert_int_equal(c.rtt_ns, 100000);
}

static void
test_a_burst_goes_on_by_itself_and_ends(void **state)
{
	struct clock_sync cs = { 0 };
	int64_t at = 1000000;

	(void)state;
	clock_sync_begin_burst(&cs, CLOCK_SYNC_BURST);
	for (int i = 0; i < CLOCK_SYNC_BURST - 1; i++, at += 1000)
		assert_int_equal(exchange(&cs, at, 500), CLOCK_SYNC_PING);
	assert_int_equal(exchange(&cs, at, 500), CLOCK_SYNC_BURST_DONE);
	assert_int_equal(exchange(&cs, at + 1000, 500), CLOCK_SYNC_IDLE);
}

static void
test_pongs_that_answer_nothing_are_refused(void **state)
{
	struct clock_sync cs = { 0 };
	enum clock_sync_next next;
	struct msg_ping ping = clock_sync_ping(&cs, (struct ls_mono){ 1000 });
	struct msg_pong good = answer(&ping, 100), bad;

	(void)state;
	bad = good;
	bad.seq = 99;
	assert_int_equal(clock_sync_pong(&cs, &bad, (struct ls_mono){ 1100 }, &next, NULL), LS_E_PROTO);
	bad = good;
	bad.t0 = 999;
	assert_int_equal(clock_sync_pong(&cs, &bad, (struct ls_mono){ 1100 }, &next, NULL), LS_E_PROTO);
	bad.seq = 0;
	assert_int_equal(clock_sync_pong(&cs, &bad, (struct ls_mono){ 1100 }, &next, NULL), LS_E_PROTO);
	assert_int_equal(clock_sync_pong(&cs, &good, (struct ls_mono){ 1100 }, &next, NULL), LS_OK);
	assert_int_equal(
	    clock_sync_pong(&cs, &good, (struct ls_mono){ 1200 }, &next, NULL), LS_E_PROTO); /* once more */
}

static void
test_a_clock_that_goes_back_is_left_out(void **state)
{
	struct clock_sync cs = { 0 };
	enum clock_sync_next next;
	struct node_clock c;
	struct msg_ping ping = clock_sync_ping(&cs, (struct ls_mono){ 1000 });
	struct msg_pong pong = answer(&ping, 100);

	(void)state;
	pong.t2 = pong.t1 - 1;
	assert_int_equal(clock_sync_pong(&cs, &pong, (struct ls_mono){ 1100 }, &next, NULL), LS_OK);
	clock_sync_fill(&cs, (struct ls_mono){ 1100 }, &c);
	assert_true(c.offset_ns == LS_UNKNOWN_I64);
}

static void
test_a_dropped_connection_keeps_the_window_a_new_agent_does_not(void **state)
{
	struct clock_sync cs = { 0 };
	enum clock_sync_next next;
	struct msg_ping ping;
	struct msg_pong pong;

	(void)state;
	exchange(&cs, 1000, 100);
	ping = clock_sync_ping(&cs, (struct ls_mono){ 2000 });
	pong = answer(&ping, 100);
	clock_sync_begin_burst(&cs, CLOCK_SYNC_BURST);
	clock_sync_disconnected(&cs);
	assert_int_equal(cs.burst_left, 0);
	assert_int_equal(clock_sync_pong(&cs, &pong, (struct ls_mono){ 2100 }, &next, NULL), LS_E_PROTO);
	assert_int_equal(cs.fit.count, 1);
	clock_sync_reset(&cs);
	assert_int_equal(cs.fit.count, 0);
	assert_true(clock_sync_ping(&cs, (struct ls_mono){ 3000 }).seq > ping.seq);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offset_of_a_clock_hours_ahead),
		cmocka_unit_test(test_a_burst_goes_on_by_itself_and_ends),
		cmocka_unit_test(test_pongs_that_answer_nothing_are_refused),
		cmocka_unit_test(test_a_clock_that_goes_back_is_left_out),
		cmocka_unit_test(test_a_dropped_connection_keeps_the_window_a_new_agent_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
