/*
 * Starts of phases in virtual time, where the truth is known: the coordinator's part is the real one (clock_sync, clockfit, barrier,
 * start_clock), nodes and links are played. Monotonic clocks lie hours apart, drift by 500 ppm, stand still while a machine is suspended;
 * links have jitter, stalls and a direction that is slow. What counts was begun by all, and when they began differs from what is claimed
 * by the stated uncertainty at most, in each of thousands of cases. A case that fails names its seed.
 *
 * Wall clocks do not come in: none of these functions takes a struct ls_wall, and the compiler does not let it pass for another. That they
 * may be stepped is played with whole programs (tests/system/test_clocks.py).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/barrier.h"
#include "coordinator/daemon/clock_sync.h"
#include "coordinator/daemon/start_clock.h"
#include "proto/model/aggregate.h"
#include "tests/unit/coordinator/daemon/start_profiles.h"

#define NODES  4
#define PHASES 3
#define EVENTS 512 /* under way at a time */
#define NEVER  INT64_MIN

/* --- clocks and nodes --------------------------------------------------------------------------------------------------------- */

struct node {
	int64_t at; /* true time that its clock was last advanced to; true time is the coordinator's monotonic clock */
	int64_t mono; /* its clock then */
	int64_t part; /* and billionths of a ns, so that no rounding hides in it */
	int64_t rate_ppb;
	int64_t asleep_until; /* suspended: its clock stands still, and nothing is handled */
	struct range up, down;
	int64_t up_free, down_free; /* nothing overtakes on a link ... */
	int64_t busy_until;         /* ... or in an agent */

	struct clock_sync sync; /* what the coordinator keeps of it */
	uint64_t answered;      /* the last ping that was */
	struct start_clock clock;

	uint64_t attempt; /* of the arm that it knows */
	int64_t start;    /* on its own clock; NEVER: no go */
	int64_t late_limit;
	bool committed, started, missed;
	int64_t began_at, began_mono; /* first operation: in truth, and by its own clock */
};

enum kind {
	TO_NODE_PING,
	TO_NODE_ARM,
	TO_NODE_GO,
	TO_NODE_COMMIT,
	NODE_ANSWERS,
	NODE_WAKES,
	NODE_WORKED,
	NODE_SLEEPS,
	TO_COORD_PONG,
	TO_COORD_ARMED,
	TO_COORD_SET,
	TO_COORD_MISSED,
	TO_COORD_DONE,
	HEARTBEAT,
	TOO_LATE,
};

struct event {
	int64_t at;
	uint64_t order; /* of those at one instant: the order in which they were made */
	enum kind kind;
	size_t node;
	uint64_t attempt;
	int64_t value; /* go: the instant; sleeps: for how long */
	int64_t late_limit;
	struct msg_ping ping;
	struct msg_pong pong;
};

enum stage { ARMING, SETTING, RUNNING, OVER };

struct sim {
	const struct profile *profile;
	uint64_t seed, random;
	int64_t now;
	struct node nodes[NODES];
	struct event events[EVENTS];
	size_t count;
	uint64_t order;

	enum stage stage;
	struct barrier barrier;
	uint64_t attempt; /* over all phases, so that none is like another */
	unsigned attempts_of_phase;
	bool done[NODES];
	int64_t heartbeat_ns, work_ns;
	bool slept; /* in this phase */

	struct totals *totals;
};

struct totals {
	long cases, phases, voids, failed, in_doubt_range, stepped, warned;
	int64_t worst_skew, worst_wrong;
};

static uint64_t
draw(struct sim *s)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return s->random * 2685821657736338717ULL;
}

static int64_t
between(struct sim *s, struct range r)
{
	return r.low + (r.high > r.low ? (int64_t)(draw(s) % (uint64_t)(r.high - r.low + 1)) : 0);
}

static void
fail_case(const struct sim *s, const char *what, size_t node, int64_t a, int64_t b)
{
	fail_msg("%s, seed %llu, at %lld ns: %s (node %zu: %lld, %lld)", s->profile->name, (unsigned long long)s->seed,
	    (long long)s->now, what, node, (long long)a, (long long)b);
}

/* Its clock goes on to the present. NTP changes its rate now and then. */
static int64_t
clock_of(struct sim *s, struct node *n)
{
	int64_t passed, part;

	n->at = LS_MAX(n->at, LS_MIN(n->asleep_until, s->now)); /* it stood still */
	passed = s->now - n->at;
	part = n->part + passed % S * n->rate_ppb;
	n->mono += passed + passed / S * n->rate_ppb + part / S;
	n->part = part % S;
	n->at = s->now;
	if (!s->profile->full_drift && draw(s) % 16 == 0)
		n->rate_ppb = between(s, (struct range){ -CLOCKFIT_DRIFT_MAX_PPB, CLOCKFIT_DRIFT_MAX_PPB });
	return n->mono;
}

/* --- events ------------------------------------------------------------------------------------------------------------------- */

static void
put(struct sim *s, struct event e)
{
	assert_true(s->count < EVENTS);
	s->events[s->count++] = e;
}

static void
plan(struct sim *s, int64_t at, struct event e)
{
	e.at = at;
	e.order = s->order++;
	put(s, e);
}

static struct event
take(struct sim *s)
{
	size_t first = 0;
	struct event e;

	for (size_t i = 1; i < s->count; i++)
		if (s->events[i].at < s->events[first].at ||
		    (s->events[i].at == s->events[first].at && s->events[i].order < s->events[first].order))
			first = i;
	e = s->events[first];
	s->events[first] = s->events[--s->count];
	return e;
}

static int64_t
on_the_way(struct sim *s, struct range usual)
{
	int64_t ns = between(s, usual);

	return s->profile->stall_one_in > 0 && draw(s) % s->profile->stall_one_in == 0 ? ns + s->profile->stall_ns : ns;
}

static void
to_node(struct sim *s, struct event e)
{
	struct node *n = &s->nodes[e.node];
	int64_t there = s->now + on_the_way(s, n->down);

	if (e.kind == TO_NODE_GO && e.node > 0)
		there += s->profile->go_extra_ns;
	n->down_free = LS_MAX(n->down_free, there);
	plan(s, n->down_free, e);
}

static void
to_coord(struct sim *s, int64_t sent_at, struct event e)
{
	struct node *n = &s->nodes[e.node];

	int64_t there = sent_at + on_the_way(s, n->up);

	n->up_free = LS_MAX(n->up_free, there);
	plan(s, n->up_free, e);
}

/* --- the coordinator, as run_phase.c does it ---------------------------------------------------------------------------------- */

static void
send_ping(struct sim *s, size_t i)
{
	to_node(s,
	    (struct event){ .kind = TO_NODE_PING,
		.node = i,
		.ping = clock_sync_ping(&s->nodes[i].sync, (struct ls_mono){ s->now }) });
}

static void
begin_attempt(struct sim *s)
{
	s->stage = ARMING;
	s->attempt++;
	barrier_begin(&s->barrier, NULL);
	memset(s->done, 0, sizeof(s->done));
	for (size_t i = 0; i < NODES; i++) {
		s->nodes[i].clock.known = false;
		to_node(s, (struct event){ .kind = TO_NODE_ARM, .node = i, .attempt = s->attempt });
	}
}

static void
void_attempt(struct sim *s)
{
	s->totals->voids++;
	barrier_was_late(&s->barrier);
	if (++s->attempts_of_phase < BARRIER_ATTEMPTS_MAX) {
		begin_attempt(s);
		return;
	}
	if (!s->profile->may_fail)
		fail_case(s, "no common start", 0, s->attempts_of_phase, barrier_lead_ns(&s->barrier));
	s->totals->failed++;
	s->stage = OVER;
}

static void
begin_bursts(struct sim *s)
{
	for (size_t i = barrier_next_burst(&s->barrier); i != BARRIER_NOBODY; i = barrier_next_burst(&s->barrier)) {
		clock_sync_begin_burst(&s->nodes[i].sync, barrier_burst(&s->barrier));
		send_ping(s, i);
	}
}

static void
go(struct sim *s)
{
	struct barrier *b = &s->barrier;

	s->stage = SETTING;
	b->start.ns = s->now + barrier_lead_ns(b);
	for (size_t i = 0; i < NODES; i++) {
		struct clock_estimate e;

		assert_int_equal(clockfit_estimate(&s->nodes[i].sync.fit, b->start, &e), LS_OK);
		start_clock_told(&s->nodes[i].clock, &e);
		to_node(s,
		    (struct event){ .kind = TO_NODE_GO,
			.node = i,
			.attempt = s->attempt,
			.late_limit = barrier_late_limit_ns(s->attempts_of_phase),
			.value = clockfit_to_remote(&e, b->start).ns });
	}
	plan(s, b->start.ns - barrier_margin_ns(b), (struct event){ .kind = TOO_LATE, .attempt = s->attempt });
}

static void
on_measured(struct sim *s, size_t i)
{
	struct clock_estimate e;

	if (s->stage != ARMING || !tally_given(&s->barrier.armed, i))
		return;
	assert_int_equal(clockfit_estimate(&s->nodes[i].sync.fit, (struct ls_mono){ s->now }, &e), LS_OK);
	barrier_measured(&s->barrier, i, LS_MAX(e.rtt_ns, s->nodes[i].sync.burst_worst_ns));
	begin_bursts(s);
	if (barrier_ready(&s->barrier))
		go(s);
}

static void
on_pong(struct sim *s, const struct event *e)
{
	struct node *n = &s->nodes[e->node];
	enum clock_sync_next next = CLOCK_SYNC_IDLE;
	struct clock_estimate later;
	struct ls_err err = { 0 };

	if (clock_sync_pong(&n->sync, &e->pong, (struct ls_mono){ s->now }, &next, &err) != LS_OK)
		fail_case(s, err.text, e->node, (int64_t)e->pong.seq, (int64_t)n->sync.seq);
	n->answered = e->pong.seq;
	if (next == CLOCK_SYNC_PING)
		send_ping(s, e->node);
	if (s->stage == RUNNING && clockfit_estimate(&n->sync.fit, s->barrier.start, &later) == LS_OK)
		start_clock_learn(&n->clock, &later);
	if (next == CLOCK_SYNC_BURST_DONE)
		on_measured(s, e->node);
}

static void
on_set(struct sim *s, size_t i)
{
	if (s->stage != SETTING || !barrier_set(&s->barrier, i))
		return;
	switch (barrier_judge(&s->barrier, (struct ls_mono){ s->now })) {
	case BARRIER_WAIT:
		return;
	case BARRIER_LATE:
		void_attempt(s);
		return;
	case BARRIER_COMMIT:
		break;
	}
	s->stage = RUNNING;
	for (size_t k = 0; k < NODES; k++)
		to_node(s, (struct event){ .kind = TO_NODE_COMMIT, .node = k, .attempt = s->attempt });
}

/* --- what is claimed, against the truth ----------------------------------------------------------------------------------------- */

struct spread {
	int64_t low, high;
};

static void
spread_add(struct spread *r, int64_t x)
{
	r->low = LS_MIN(r->low, x);
	r->high = LS_MAX(r->high, x);
}

/*
 * The phase as the report has it: the start skew is that of the claimed times, and a reader is warned where the clocks are known badly for
 * so short a phase.
 */
static void
check_report(const struct sim *s, const int64_t *began, int64_t skew, int64_t doubt)
{
	struct phase_result phase;
	struct job job;
	bool wanted = (double)doubt > 0.005 * (double)s->work_ns, found = false;

	field_struct_init(&phase_result_desc, &phase);
	field_struct_init(&job_desc, &job);
	phase.kind = phase.spec.kind = PHASE_READ;
	phase.start_skew_uncertainty_ns = doubt;
	phase.nodes = ls_calloc(NODES, sizeof(*phase.nodes));
	for (phase.nodes_count = 0; phase.nodes_count < NODES; phase.nodes_count++) {
		struct node_result *n = &phase.nodes[phase.nodes_count];

		field_struct_init(&node_result_desc, n);
		free(n->node);
		n->node = ls_asprintf("n%zu", phase.nodes_count);
		n->bytes = n->ops = 1000;
		n->start_ns = began[phase.nodes_count];
		n->end_ns = s->work_ns;
	}
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	if (phase.start_skew_ns != skew)
		fail_case(s, "another start skew in the report", 0, phase.start_skew_ns, skew);
	for (size_t i = 0; i < phase.warnings_count; i++)
		found = found || strstr(phase.warnings[i], "clock uncertainty of") != NULL;
	if (wanted != found &&
	    llabs((long long)(doubt - s->work_ns / 200)) > MS) /* the phase's length has the skew in it */
		fail_case(s, "the warning about clocks is not as it must be", 0, doubt, s->work_ns);
	s->totals->warned += found;
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

static void
check_phase(struct sim *s)
{
	struct spread claimed = { INT64_MAX, INT64_MIN }, truth = claimed;
	struct skew_doubt doubt = { 0 };
	int64_t wrong, stated, began[NODES];

	for (size_t i = 0; i < NODES; i++) {
		struct node *n = &s->nodes[i];
		int64_t really = n->began_at - s->barrier.start.ns;

		began[i] = n->began_mono - n->start + start_clock_correction_ns(&n->clock);

		if (n->attempt != s->attempt || !n->started)
			fail_case(
			    s, "an attempt counts that this node did not start", i, (int64_t)n->attempt, n->started);
		if (llabs((long long)(began[i] - really)) > n->clock.better.uncertainty_ns)
			fail_case(s, "began, by its clock and in truth, further apart than its uncertainty", i,
			    began[i], really);
		spread_add(&claimed, began[i]);
		spread_add(&truth, really);
		skew_doubt_add(&doubt, &n->clock);
		s->totals->stepped += n->clock.stepped;
	}
	stated = skew_doubt_ns(&doubt);
	wrong = llabs((long long)((claimed.high - claimed.low) - (truth.high - truth.low)));
	if (wrong > stated)
		fail_case(s, "the start skew is wrong by more than is stated", 0, wrong, stated);
	check_report(s, began, claimed.high - claimed.low, stated);
	s->totals->phases++;
	s->totals->in_doubt_range += stated >= s->profile->doubt_low && stated <= s->profile->doubt_high;
	s->totals->worst_skew = LS_MAX(s->totals->worst_skew, truth.high - truth.low);
	s->totals->worst_wrong = LS_MAX(s->totals->worst_wrong, wrong);
}

static void
on_done(struct sim *s, size_t i)
{
	if (s->stage != RUNNING)
		return;
	s->done[i] = true;
	for (size_t k = 0; k < NODES; k++)
		if (!s->done[k])
			return;
	check_phase(s);
	barrier_has_begun(&s->barrier);
	s->stage = OVER;
}

/* --- a node, as agent and engine do it -------------------------------------------------------------------------------------------- */

/* When its own clock shows that instant, as far as its present rate tells; an event that comes too early looks again. */
static int64_t
when(struct sim *s, size_t i, int64_t own)
{
	return s->now + LS_MAX(own - clock_of(s, &s->nodes[i]), (int64_t)1);
}

/* Held for a while by a busy agent, and answered then, one after the other. */
static void
on_ping(struct sim *s, const struct event *e)
{
	struct node *n = &s->nodes[e->node];
	struct event answer = { .kind = NODE_ANSWERS, .node = e->node };
	struct range hold = draw(s) % 8 == 0 ? (struct range){ 0, 5 * MS } : (struct range){ 1 * US, 60 * US };
	int64_t ready = s->now + between(s, hold);

	answer.pong = (struct msg_pong){ .seq = e->ping.seq, .t0 = e->ping.t0, .t1 = clock_of(s, n) };
	n->busy_until = LS_MAX(n->busy_until, ready);
	plan(s, n->busy_until, answer);
}

static void
on_answer(struct sim *s, const struct event *e)
{
	struct event pong = *e;

	pong.kind = TO_COORD_PONG;
	pong.pong.t2 = clock_of(s, &s->nodes[e->node]);
	to_coord(s, s->now, pong);
}

static void
on_arm(struct sim *s, const struct event *e)
{
	struct node *n = &s->nodes[e->node];

	n->attempt = e->attempt;
	n->start = NEVER;
	n->committed = n->started = n->missed = false;
	to_coord(s, s->now + between(s, (struct range){ 0, 300 * MS }),
	    (struct event){ .kind = TO_COORD_ARMED, .node = e->node, .attempt = e->attempt });
}

static void
on_go(struct sim *s, const struct event *e)
{
	struct node *n = &s->nodes[e->node];

	if (n->attempt != e->attempt)
		return;
	if (clock_of(s, n) >= e->value) {
		n->missed = true;
		to_coord(s, s->now, (struct event){ .kind = TO_COORD_MISSED, .node = e->node, .attempt = e->attempt });
		return;
	}
	n->start = e->value;
	n->late_limit = e->late_limit;
	to_coord(s, s->now, (struct event){ .kind = TO_COORD_SET, .node = e->node, .attempt = e->attempt });
	plan(s, when(s, e->node, n->start),
	    (struct event){ .kind = NODE_WAKES, .node = e->node, .attempt = e->attempt });
}

/* The decision of agent/engine/start.c. */
static void
on_wake(struct sim *s, const struct event *e)
{
	struct node *n = &s->nodes[e->node];
	int64_t late;

	if (n->attempt != e->attempt || n->started || n->missed)
		return;
	if (clock_of(s, n) < n->start) {
		plan(s, when(s, e->node, n->start), *e);
		return;
	}
	if (e->value == 0 && (late = between(s, s->profile->wake)) > 0) { /* its turn comes later */
		struct event again = *e;

		again.value = 1;
		plan(s, s->now + late, again);
		return;
	}
	if (!n->committed || n->mono - n->start > n->late_limit) {
		n->missed = true;
		to_coord(s, s->now, (struct event){ .kind = TO_COORD_MISSED, .node = e->node, .attempt = e->attempt });
		return;
	}
	n->started = true;
	n->began_at = s->now;
	n->began_mono = n->mono;
	plan(s, when(s, e->node, n->start + s->work_ns),
	    (struct event){ .kind = NODE_WORKED, .node = e->node, .attempt = e->attempt });
}

static void
on_work_done(struct sim *s, const struct event *e)
{
	struct node *n = &s->nodes[e->node];

	if (n->attempt != e->attempt)
		return;
	if (clock_of(s, n) < n->start + s->work_ns)
		plan(s, when(s, e->node, n->start + s->work_ns), *e);
	else
		to_coord(s, s->now, (struct event){ .kind = TO_COORD_DONE, .node = e->node, .attempt = e->attempt });
}

/* --- a case ------------------------------------------------------------------------------------------------------------------------ */

static void
sleep_once(struct sim *s)
{
	struct range when_it = { 0, s->work_ns };
	int64_t at;

	if (s->profile->suspend.high == 0 || s->slept || s->stage != SETTING)
		return;
	s->slept = true;
	if (s->profile->around_start)
		when_it = draw(s) % 2 == 0 ? (struct range){ -2 * MS, 2 * MS } : (struct range){ -1 * S, 1 * S };
	at = s->barrier.start.ns + between(s, when_it);
	plan(s, LS_MAX(s->now, at),
	    (struct event){ .kind = NODE_SLEEPS, .node = 1, .value = between(s, s->profile->suspend) });
}

static void
handle(struct sim *s, const struct event *e)
{
	bool stale = e->attempt != s->attempt;

	switch (e->kind) {
	case TO_NODE_PING:
		on_ping(s, e);
		break;
	case TO_NODE_ARM:
		on_arm(s, e);
		break;
	case TO_NODE_GO:
		on_go(s, e);
		break;
	case TO_NODE_COMMIT:
		if (s->nodes[e->node].attempt == e->attempt)
			s->nodes[e->node].committed = true;
		break;
	case NODE_ANSWERS:
		on_answer(s, e);
		break;
	case NODE_WAKES:
		on_wake(s, e);
		break;
	case NODE_WORKED:
		on_work_done(s, e);
		break;
	case NODE_SLEEPS:
		(void)clock_of(s, &s->nodes[e->node]);
		s->nodes[e->node].asleep_until = s->now + e->value;
		break;
	case TO_COORD_PONG:
		on_pong(s, e);
		break;
	case TO_COORD_ARMED:
		if (!stale && s->stage == ARMING && barrier_armed(&s->barrier, e->node))
			begin_bursts(s);
		break;
	case TO_COORD_SET:
		if (!stale)
			on_set(s, e->node);
		break;
	case TO_COORD_MISSED:
		if (!stale && (s->stage == SETTING || s->stage == RUNNING))
			void_attempt(s);
		break;
	case TO_COORD_DONE:
		if (!stale)
			on_done(s, e->node);
		break;
	case HEARTBEAT:
		/* after three without an answer the connection would be ended, which is not played here */
		if (s->nodes[e->node].sync.burst_left == 0 &&
		    s->nodes[e->node].sync.seq - s->nodes[e->node].answered < 4)
			send_ping(s, e->node);
		plan(s, s->now + s->heartbeat_ns, *e);
		break;
	case TOO_LATE:
		if (!stale && s->stage == SETTING)
			void_attempt(s);
		break;
	}
}

/* Everything but what is on its way can happen to a suspended machine only when it goes on. */
static bool
must_wait(const struct sim *s, const struct event *e)
{
	return e->kind <= NODE_WORKED && s->nodes[e->node].asleep_until > e->at;
}

static void
play_until(struct sim *s, int64_t end)
{
	while (s->stage != OVER || s->now < end) {
		struct event e = take(s);

		if (s->stage == OVER && e.at > end) {
			put(s, e);
			s->now = end;
			return;
		}
		if (must_wait(s, &e)) {
			e.at = s->nodes[e.node].asleep_until;
			put(s, e);
			continue;
		}
		s->now = LS_MAX(s->now, e.at);
		handle(s, &e);
		sleep_once(s);
	}
}

static void
set_up(struct sim *s, const struct profile *p, uint64_t seed, struct totals *totals)
{
	*s = (struct sim){
		.profile = p, .seed = seed, .random = seed * 0x9e3779b97f4a7c15ULL + 1, .totals = totals, .stage = OVER
	};
	s->now = between(s, (struct range){ 0, 1000000 * S });
	s->heartbeat_ns = between(s, (struct range){ 500 * MS, 2 * S });
	for (size_t i = 0; i < NODES; i++) {
		struct node *n = &s->nodes[i];
		bool quiet = i == 0 || (i > 1 && draw(s) % 2 == 0);

		n->at = s->now;
		n->mono = between(s, (struct range){ 0, 1000000 * S });
		n->rate_ppb = p->full_drift
		    ? (draw(s) % 2 == 0 ? 1 : -1) * CLOCKFIT_DRIFT_MAX_PPB
		    : between(s, (struct range){ -CLOCKFIT_DRIFT_MAX_PPB, CLOCKFIT_DRIFT_MAX_PPB });
		n->start = NEVER;
		n->up = quiet ? (struct range)QUIET : p->up;
		n->down = quiet ? (struct range)QUIET : p->down;
		clock_sync_begin_burst(&n->sync, CLOCK_SYNC_BURST);
		send_ping(s, i);
		plan(s, s->now + s->heartbeat_ns, (struct event){ .kind = HEARTBEAT, .node = i });
	}
	barrier_init(&s->barrier, NODES);
}

/* Clocks that are known to no more than 0.5 % of a phase of seven seconds, and phases that are no longer. */
static bool
must_warn(const struct profile *p)
{
	return p->doubt_low > 35 * MS;
}

static void
play_case(const struct profile *p, uint64_t seed, struct totals *totals)
{
	struct sim *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	set_up(s, p, seed, totals);
	for (int phase = 0; phase < PHASES; phase++) {
		play_until(s, s->now + between(s, (struct range){ 0, 20 * S })); /* heartbeats alone */
		s->work_ns = between(s, (struct range){ 4 * S, must_warn(p) ? 7 * S : 20 * S });
		s->attempts_of_phase = 0;
		s->slept = false;
		begin_attempt(s);
		play_until(s, s->now);
	}
	totals->cases++;
	barrier_fini(&s->barrier);
	free(s);
}

#define CASES 400

static void
test_what_is_claimed_of_a_start_covers_the_truth(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(profiles); p++) {
		struct totals t = { 0 };

		for (uint64_t seed = 1; seed <= CASES; seed++)
			play_case(&profiles[p], seed, &t);
		print_message("%s: %ld cases, %ld phases counted, %ld attempts void, %ld without a start, skew to %lld "
			      "us, wrong by %lld us\n",
		    profiles[p].name, t.cases, t.phases, t.voids, t.failed, (long long)(t.worst_skew / US),
		    (long long)(t.worst_wrong / US));
		/* Against a claim so wide that it says nothing, and against a run that never comes to a start. */
		if (t.phases < CASES * PHASES * 8 / 10)
			fail_msg("%s: only %ld of %d phases had a start", profiles[p].name, t.phases, CASES * PHASES);
		if (profiles[p].doubt_high > 0 && t.in_doubt_range < t.phases * 9 / 10)
			fail_msg("%s: the uncertainty is of the size it must have in %ld of %ld phases only",
			    profiles[p].name, t.in_doubt_range, t.phases);
		if (must_warn(&profiles[p]) && t.warned < t.phases)
			fail_msg(
			    "%s: %ld of %ld phases have a warning about clocks", profiles[p].name, t.warned, t.phases);
		if (profiles[p].suspend.high > 0 && t.stepped == 0)
			fail_msg("%s: no suspended machine was ever noticed", profiles[p].name);
		if (profiles[p].suspend.high == 0 && t.stepped > 0)
			fail_msg("%s: a clock that never stood still is said to have", profiles[p].name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_claimed_of_a_start_covers_the_truth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
