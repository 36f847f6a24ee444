/*
 * Plays N agents over real TLS in one process, without I/O: what a coordinator costs, and how far its barrier reaches.
 *
 * usage: swarm HOST:PORT AGENTS PKI_DIR
 *
 * PKI_DIR is a CA of `lockstep pki`; certificates of the agents a0001 ... are issued there once and found again. Commands come on stdin,
 * a line each: "kill PERCENT" (so many agents go and do not come back), "quit" (as end of file). What happens goes to stdout, a JSON
 * object a line. Phases last as long as their `time` says, others 50 ms.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/net/backoff.h"
#include "common/net/conn.h"
#include "common/net/loop.h"
#include "common/pki/pki.h"
#include "common/stat/hist.h"
#include "proto/codec/json.h"
#include "proto/codec/msg.h"

#define PHASE_NS        (50 * NS_PER_MS)
#define SAMPLE_NS       NS_PER_S
#define PART_BYTES      65536
#define DIALS_AT_ONCE   64
#define DIAL_PACE_NS    NS_PER_MS
#define FIRST_BURST     8
#define SERIES_STEP_NS  (100 * NS_PER_MS)
#define OPS_PER_STEP    100
#define OP_BYTES        4096
#define LATENCY_SAMPLES 1000

struct swarm;

struct agent {
	struct swarm *swarm;
	char name[16];
	struct tls_ctx *tls;
	struct conn *conn;
	bool dead, up;
	struct backoff backoff;
	struct loop_timer *timer; /* next attempt to connect */
	struct loop_timer *phase; /* end of the phase */
	struct loop_timer *sample;
	unsigned pongs;
	char run[64];
	struct epoch epoch;
	char *last; /* the last state message, repeated after a reconnect */
	size_t last_len;
	int64_t start_ns, began_ns;
	bool waiting, running; /* go came; commit came */
	uint64_t done_ops;
	char *spooled; /* a result that is not acknowledged */
	size_t spooled_len;
	struct epoch spooled_epoch;
	size_t acks;
};

/* What one barrier looked like from the other side. */
struct barrier_seen {
	size_t armed, committed, missed;
	int64_t armed_last, commit_first, commit_last, least_left;
};

struct swarm {
	struct loop *loop;
	const char *address, *pki;
	struct agent *agents;
	size_t count, dialed, up, ready, alive;
	struct loop_timer *pace;
	struct loop_fd *input;
	struct ls_mono began;
	bool welcomed_told, ready_told;

	/* All get the same text: decoded once. */
	char *arm_text;
	size_t arm_len;
	struct msg arm;
	int64_t phase_ns;
	uint64_t workers;

	struct barrier_seen seen;
	size_t results_acked;
	uint64_t frames, reconnects;
};

/* --- what goes out ------------------------------------------------------------------------------------------------------ */

static void
agent_send(struct agent *a, enum msg_type type, const void *body, bool is_state)
{
	char *text = NULL;
	size_t len = 0;
	struct ls_err err;

	if (msg_encode(type, body, &text, &len, &err) != LS_OK) {
		fprintf(stderr, "swarm: %s\n", err.text);
		return;
	}
	if (a->conn != NULL)
		conn_send(a->conn, text, len);
	if (!is_state) {
		free(text);
		return;
	}
	free(a->last);
	a->last = text;
	a->last_len = len;
}

static void
send_hello(struct agent *a)
{
	struct msg_hello m = {
		.protocol = MSG_PROTOCOL_MAJOR,
		.protocol_minor = MSG_PROTOCOL_MINOR,
		.version = (char *)(uintptr_t)lockstep_version,
		.build = (char *)(uintptr_t)lockstep_build,
		.name = a->name,
		.instance = a->name,
		.run = a->run[0] != '\0' ? a->run : NULL,
	};

	agent_send(a, MSG_HELLO, &m, false);
}

static void
send_facts(struct agent *a)
{
	struct msg_facts m;

	msg_body_init(MSG_FACTS, &m);
	free(m.facts.hostname);
	m.facts.hostname = ls_strdup(a->name);
	m.facts.cpus = 2;
	m.facts.memory_bytes = 1ULL << 30;
	agent_send(a, MSG_FACTS, &m, false);
	msg_body_fini(MSG_FACTS, &m);
}

static void
send_parts(struct agent *a)
{
	size_t parts = (a->spooled_len + PART_BYTES - 1) / PART_BYTES;

	a->acks = parts;
	for (size_t i = 0; i < parts; i++) {
		size_t len = LS_MIN(a->spooled_len - i * PART_BYTES, (size_t)PART_BYTES);
		struct msg_result_part m = { .epoch = a->spooled_epoch, .part = i, .parts = parts };

		m.data = ls_strndup(a->spooled + i * PART_BYTES, len);
		agent_send(a, MSG_RESULT_PART, &m, false);
		free(m.data);
	}
}

/* --- a result ------------------------------------------------------------------------------------------------------------- */

static void
fill_latency(struct latency *out)
{
	struct hist *h = ls_malloc(sizeof(*h));

	hist_reset(h);
	for (uint64_t i = 0; i < LATENCY_SAMPLES; i++)
		hist_record(h, 50000 + i * i);
	latency_from_hist(h, out);
	free(h);
}

static void
fill_worker(struct worker_result *w, uint64_t rank, int64_t ran_ns, uint64_t ops)
{
	field_struct_init(&worker_result_desc, w);
	w->rank = rank;
	w->first_op_ns = w->start_ns = 1000 + (int64_t)rank;
	w->end_ns = ran_ns;
	w->ops = ops;
	w->bytes = ops * OP_BYTES;
	w->cpu.user_ns = w->cpu.system_ns = ran_ns / 10;
}

/* steps of 100 ms with work in each, a worker or more, a histogram: as large as a real one. */
static void
make_result(struct agent *a, size_t index)
{
	int64_t ran_ns = LS_MAX(ls_mono_now().ns - a->start_ns, NS_PER_MS);
	size_t steps = (size_t)((ran_ns + SERIES_STEP_NS - 1) / SERIES_STEP_NS);
	uint64_t workers = a->swarm->workers, ops = steps * OPS_PER_STEP * workers;
	struct node_result r;

	field_struct_init(&node_result_desc, &r);
	free(r.node);
	r.node = ls_strdup(a->name);
	r.state = NODE_DONE;
	r.ops = ops;
	r.bytes = ops * OP_BYTES;
	r.start_ns = 1000;
	r.end_ns = ran_ns;
	r.series.interval_ns = SERIES_STEP_NS;
	r.series.bytes_count = r.series.ops_count = steps;
	r.series.bytes = ls_calloc(steps, sizeof(*r.series.bytes));
	r.series.ops = ls_calloc(steps, sizeof(*r.series.ops));
	for (size_t i = 0; i < steps; i++) {
		r.series.ops[i] = (int64_t)(OPS_PER_STEP * workers);
		r.series.bytes[i] = r.series.ops[i] * OP_BYTES;
	}
	r.workers = ls_calloc(workers, sizeof(*r.workers));
	r.workers_count = workers;
	for (uint64_t i = 0; i < workers; i++)
		fill_worker(&r.workers[i], index * workers + i, ran_ns, steps * OPS_PER_STEP);

	struct op_result *op = ls_calloc(1, sizeof(*op));
	field_struct_init(&op_result_desc, op);
	op->ops = ops;
	op->bytes = r.bytes;
	fill_latency(&op->latency_ns);
	*by_op_slot(&r.by_op, OP_WRITE) = op;
	free(a->spooled);
	a->spooled = json_encode_struct(&node_result_desc, &r, false, &a->spooled_len);
	epoch_copy(&a->spooled_epoch, &a->epoch);
	field_struct_fini(&node_result_desc, &r);
}

static void
end_phase(struct agent *a)
{
	if (!a->running)
		return;
	a->running = false;
	loop_timer_cancel(a->phase);
	loop_timer_cancel(a->sample);
	make_result(a, (size_t)(a - a->swarm->agents));
	free(a->last);
	a->last = NULL;
	if (a->up)
		send_parts(a);
}

static void
on_phase_over(void *arg)
{
	end_phase(arg);
}

static void
on_sample(void *arg)
{
	struct agent *a = arg;
	struct msg_sample m = { .epoch = a->epoch };

	a->done_ops += OPS_PER_STEP * 10;
	m.live.node = a->name;
	m.live.state = (char *)(uintptr_t) "running";
	m.live.ops = a->done_ops;
	m.live.bytes = a->done_ops * OP_BYTES;
	m.live.ops_per_s = OPS_PER_STEP * 10;
	m.live.bytes_per_s = OPS_PER_STEP * 10 * OP_BYTES;
	m.live.workers = m.live.workers_active = a->swarm->workers;
	agent_send(a, MSG_SAMPLE, &m, false);
	loop_timer_set(a->sample, SAMPLE_NS);
}

/* --- what comes in --------------------------------------------------------------------------------------------------------- */

static void
tell_barrier(struct swarm *s)
{
	struct barrier_seen *b = &s->seen;

	printf("{\"event\":\"barrier\",\"committed\":%zu,\"missed\":%zu,\"armed_to_commit_ns\":%" PRId64
	       ",\"commit_skew_ns\":%" PRId64 ",\"least_left_ns\":%" PRId64 "}\n",
	    b->committed, b->missed, b->commit_first - b->armed_last, b->commit_last - b->commit_first, b->least_left);
	*b = (struct barrier_seen){ 0 };
}

static void
on_welcome(struct agent *a, struct msg *m)
{
	struct swarm *s = a->swarm;

	(void)m;
	a->up = true;
	backoff_reset(&a->backoff);
	s->up++;
	send_facts(a);
	if (a->spooled != NULL)
		send_parts(a);
	if (a->last != NULL)
		conn_send(a->conn, a->last, a->last_len);
	if (s->up < s->alive)
		return;
	printf("{\"event\":\"welcomed\",\"agents\":%zu,\"after_ns\":%" PRId64 ",\"reconnects\":%" PRIu64 "}\n", s->up,
	    ls_mono_now().ns - s->began.ns, s->reconnects);
}

static void
on_ping(struct agent *a, struct msg *m, struct ls_mono received)
{
	struct msg_ping *ping = m->body;
	struct msg_pong pong = { .seq = ping->seq, .t0 = ping->t0, .t1 = received.ns, .t2 = ls_mono_now().ns };

	agent_send(a, MSG_PONG, &pong, false);
	if (++a->pongs != FIRST_BURST)
		return;
	if (++a->swarm->ready < a->swarm->alive)
		return;
	printf("{\"event\":\"ready\",\"agents\":%zu,\"after_ns\":%" PRId64 "}\n", a->swarm->ready,
	    ls_mono_now().ns - a->swarm->began.ns);
}

static void
on_assign(struct agent *a, struct msg *m)
{
	struct msg_assign *assign = m->body;
	struct msg_prepared prepared;

	snprintf(a->run, sizeof(a->run), "%s", assign->run);
	msg_body_init(MSG_PREPARED, &prepared);
	free(prepared.run);
	prepared.run = ls_strdup(a->run);
	prepared.volume.fs_type = ls_strdup("ocfs2");
	prepared.volume.fs_id = ls_strdup("1:2");
	prepared.volume.total_bytes = 1ULL << 40;
	prepared.volume.free_bytes = 1ULL << 39;
	agent_send(a, MSG_PREPARED, &prepared, true);
	msg_body_fini(MSG_PREPARED, &prepared);
}

static void
on_verify(struct agent *a)
{
	struct msg_volume_verified m = { .run = a->run };

	agent_send(a, MSG_VOLUME_VERIFIED, &m, true);
}

static void
on_arm(struct agent *a, struct msg *m)
{
	struct msg_arm *arm = m->body;
	struct msg_armed armed = { 0 };
	struct swarm *s = a->swarm;

	a->waiting = a->running = false;
	loop_timer_cancel(a->phase);
	loop_timer_cancel(a->sample);
	epoch_copy(&a->epoch, &arm->epoch);
	s->phase_ns = arm->spec.time > 0 ? arm->spec.time : PHASE_NS;
	s->workers = arm->node_workers_count > 0 ? LS_MAX((uint64_t)arm->node_workers[0], 1U) : 1;
	armed.epoch = a->epoch;
	agent_send(a, MSG_ARMED, &armed, true);
	s->seen.armed++;
	s->seen.armed_last = ls_mono_now().ns;
}

static void
on_go(struct agent *a, struct msg *m)
{
	struct msg_go *go = m->body;
	struct msg_set set = { .epoch = a->epoch };

	a->start_ns = go->start_ns;
	a->waiting = true;
	agent_send(a, MSG_SET, &set, true);
}

static void
on_commit(struct agent *a, struct ls_mono received)
{
	struct swarm *s = a->swarm;
	struct barrier_seen *b = &s->seen;
	int64_t left = a->start_ns - received.ns;

	if (!a->waiting)
		return;
	a->waiting = false;
	if (b->committed + b->missed == 0) {
		b->commit_first = received.ns;
		b->least_left = left;
	}
	b->commit_last = LS_MAX(b->commit_last, received.ns);
	b->least_left = LS_MIN(b->least_left, left);
	if (left < 0) {
		struct msg_missed missed = { .epoch = a->epoch, .reason = (char *)(uintptr_t) "commit late" };

		b->missed++;
		agent_send(a, MSG_MISSED, &missed, true);
	} else {
		b->committed++;
		a->running = true;
		a->done_ops = 0;
		loop_timer_set_at(a->phase, (struct ls_mono){ a->start_ns + s->phase_ns });
		loop_timer_set_at(a->sample, (struct ls_mono){ a->start_ns + SAMPLE_NS });
	}
	if (b->committed + b->missed >= s->up)
		tell_barrier(s);
}

static void
on_void(struct agent *a)
{
	struct msg_voided m = { .epoch = a->epoch };

	a->waiting = a->running = false;
	loop_timer_cancel(a->phase);
	loop_timer_cancel(a->sample);
	agent_send(a, MSG_VOIDED, &m, true);
}

static void
on_ack(struct agent *a)
{
	struct swarm *s = a->swarm;

	if (a->acks == 0 || --a->acks > 0)
		return;
	free(a->spooled);
	a->spooled = NULL;
	if (++s->results_acked % s->alive == 0)
		printf("{\"event\":\"acked\",\"results\":%zu}\n", s->results_acked);
}

static void
on_abort(struct agent *a)
{
	struct msg_aborted m = { .run = a->run };

	end_phase(a);
	a->waiting = false;
	agent_send(a, MSG_ABORTED, &m, true);
}

static void
on_finish(struct agent *a, struct msg *m)
{
	struct msg_finish *finish = m->body;
	struct msg_finished finished = { .run = finish->run };

	agent_send(a, MSG_FINISHED, &finished, false);
	a->run[0] = '\0';
	free(a->last);
	a->last = NULL;
}

static enum ls_rc
take(struct agent *a, struct msg *m, struct ls_mono received, struct ls_err *err)
{
	const char *text;

	if (m->type == MSG_WELCOME)
		on_welcome(a, m);
	else if (m->type == MSG_PING)
		on_ping(a, m, received);
	else if (m->type == MSG_ASSIGN)
		on_assign(a, m);
	else if (m->type == MSG_VERIFY_VOLUME)
		on_verify(a);
	else if (m->type == MSG_ARM)
		on_arm(a, m);
	else if (m->type == MSG_GO)
		on_go(a, m);
	else if (m->type == MSG_COMMIT)
		on_commit(a, received);
	else if (m->type == MSG_VOID)
		on_void(a);
	else if (m->type == MSG_ACK)
		on_ack(a);
	else if (m->type == MSG_ABORT)
		on_abort(a);
	else if (m->type == MSG_FINISH)
		on_finish(a, m);
	else {
		text = m->type == MSG_ERROR ? ((struct msg_error *)m->body)->text : "unexpected message";
		fprintf(stderr, "swarm: %s: %s\n", a->name, text);
		return ls_err_set(err, LS_E_PROTO, "%s", text);
	}
	return LS_OK;
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct agent *a = arg;
	struct swarm *s = a->swarm;
	struct msg m = { 0 };
	enum ls_rc rc;

	(void)conn;
	s->frames++;
	if (s->arm_text != NULL && len == s->arm_len && memcmp(s->arm_text, data, len) == 0)
		return take(a, &s->arm, received, err);
	rc = msg_decode((const char *)data, len, MSG_TO_AGENT, &m, err);
	if (rc != LS_OK)
		return rc;
	rc = take(a, &m, received, err);
	if (rc == LS_OK && m.type == MSG_ARM) {
		free(s->arm_text);
		msg_fini(&s->arm);
		s->arm_text = ls_strndup((const char *)data, len);
		s->arm_len = len;
		s->arm = m;
		return rc;
	}
	msg_fini(&m);
	return rc;
}

/* --- connections -------------------------------------------------------------------------------------------------------------- */

static void
on_open(struct conn *conn, void *arg)
{
	(void)conn;
	send_hello(arg);
}

static void
went_down(struct agent *a, const char *why)
{
	struct swarm *s = a->swarm;

	a->conn = NULL;
	if (a->up)
		s->up--;
	else
		fprintf(stderr, "swarm: %s: %s\n", a->name, why);
	if (a->pongs >= FIRST_BURST)
		s->ready--;
	a->up = false;
	a->pongs = 0;
	if (a->dead)
		return;
	s->reconnects++;
	loop_timer_set(a->timer, backoff_next(&a->backoff));
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	(void)conn;
	went_down(arg, why->text);
}

static void
dial(void *arg)
{
	static const struct conn_events events = { on_open, on_frame, on_close };
	const struct conn_config config = { .frame_max = MSG_FRAME_MAX, .handshake_timeout_ns = 60 * NS_PER_S };
	struct agent *a = arg;
	struct ls_err err = { 0 };

	if (conn_dial(a->swarm->loop, a->swarm->address, a->tls, &config, &events, a, &a->conn, &err) != LS_OK)
		went_down(a, err.text);
}

/* All at once would only fill this process's own queues: a few a millisecond are a storm, too. */
static void
dial_more(void *arg)
{
	struct swarm *s = arg;

	for (int i = 0; i < DIALS_AT_ONCE && s->dialed < s->count; i++)
		dial(&s->agents[s->dialed++]);
	if (s->dialed < s->count)
		loop_timer_set(s->pace, DIAL_PACE_NS);
}

/* --- control -------------------------------------------------------------------------------------------------------------------- */

static void
kill_some(struct swarm *s, size_t percent)
{
	size_t wanted = s->count * percent / 100;

	for (size_t i = s->count; i > 0 && wanted > 0; i--) {
		struct agent *a = &s->agents[i - 1];

		if (a->dead)
			continue;
		a->dead = true;
		a->running = a->waiting = false;
		loop_timer_cancel(a->timer);
		loop_timer_cancel(a->phase);
		loop_timer_cancel(a->sample);
		if (a->conn != NULL) {
			conn_drop(a->conn);
			went_down(a, "killed");
		}
		s->alive--;
		wanted--;
	}
	printf("{\"event\":\"killed\",\"alive\":%zu}\n", s->alive);
}

static void
on_input(void *arg)
{
	struct swarm *s = arg;
	char text[128];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text) - 1);

	if (n <= 0 || strncmp(text, "quit", 4) == 0) {
		loop_stop(s->loop);
		return;
	}
	text[n] = '\0';
	if (strncmp(text, "kill ", 5) == 0)
		kill_some(s, (size_t)strtoul(text + 5, NULL, 10));
}

/* --- making ----------------------------------------------------------------------------------------------------------------------- */

static enum ls_rc
make_agent(struct swarm *s, size_t i, struct ls_err *err)
{
	struct agent *a = &s->agents[i];
	struct identity id = { .role = ROLE_AGENT };
	char *ca = ls_asprintf("%s/ca.crt", s->pki), *cert = NULL, *key = NULL;
	enum ls_rc rc = LS_OK;

	a->swarm = s;
	snprintf(a->name, sizeof(a->name), "a%04u", (unsigned)(i + 1) % 10000);
	snprintf(id.name, sizeof(id.name), "%s", a->name);
	cert = ls_asprintf("%s/agent-%s.crt", s->pki, a->name);
	key = ls_asprintf("%s/agent-%s.key", s->pki, a->name);
	if (access(cert, R_OK) != 0)
		rc = pki_issue(s->pki, &id, 30, false, err);
	if (rc == LS_OK) {
		const struct tls_files files = { .ca = ca, .cert = cert, .key = key };

		rc = tls_ctx_new(TLS_CLIENT, &files, MSG_ALPN, &a->tls, err);
	}
	free(ca);
	free(cert);
	free(key);
	a->backoff.rng = i * 2654435761U + 1;
	a->timer = loop_timer_new(s->loop, dial, a);
	a->phase = loop_timer_new(s->loop, on_phase_over, a);
	a->sample = loop_timer_new(s->loop, on_sample, a);
	return rc;
}

static void
free_agent(struct agent *a)
{
	conn_drop(a->conn);
	loop_timer_free(a->timer);
	loop_timer_free(a->phase);
	loop_timer_free(a->sample);
	tls_ctx_free(a->tls);
	free(a->epoch.run);
	free(a->spooled_epoch.run);
	free(a->spooled);
	free(a->last);
}

static void
raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		perror("swarm: RLIMIT_NOFILE");
}

int
main(int argc, char **argv)
{
	struct swarm s = { 0 };
	struct ls_err err = { 0 };
	enum ls_rc rc;

	if (argc != 4) {
		fputs("usage: swarm HOST:PORT AGENTS PKI_DIR\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	raise_descriptors();
	ls_log_init("swarm", LS_LOG_WARN);
	s.address = argv[1];
	s.count = s.alive = (size_t)strtoul(argv[2], NULL, 10);
	s.pki = argv[3];
	s.agents = ls_calloc(s.count, sizeof(*s.agents));
	rc = loop_new(&s.loop, &err);
	for (size_t i = 0; rc == LS_OK && i < s.count; i++)
		rc = make_agent(&s, i, &err);
	if (rc != LS_OK) {
		fprintf(stderr, "swarm: %s\n", err.text);
		return 1;
	}
	puts("{\"event\":\"made\"}");
	s.pace = loop_timer_new(s.loop, dial_more, &s);
	s.input = loop_fd_new(s.loop, STDIN_FILENO, on_input, &s);
	s.began = ls_mono_now();
	loop_timer_set(s.pace, 0);
	rc = loop_run(s.loop, &err);

	for (size_t i = 0; i < s.count; i++)
		free_agent(&s.agents[i]);
	free(s.agents);
	free(s.arm_text);
	msg_fini(&s.arm);
	loop_fd_free(s.input);
	loop_timer_free(s.pace);
	loop_free(s.loop);
	return rc == LS_OK ? 0 : 1;
}
