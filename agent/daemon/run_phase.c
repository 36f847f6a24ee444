/* A phase as the agent sees it: its numbers, from the mapping, while it runs and when it is over. */
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/daemon/device.h"
#include "agent/daemon/live_latency.h"
#include "agent/daemon/result.h"
#include "agent/daemon/run_int.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "proto/codec/json.h"
#include "proto/model/cluster.h"

#define TICK_NS           (250 * NS_PER_MS)
#define FSYNCED_TICK_NS   (50 * NS_PER_MS) /* of a phase whose node may be lost: what it had fsynced by then is told */
#define TOOL_OUTPUT_MAX   (4U << 20)       /* the runner sends less */
#define SAMPLE_UNSENT_MAX (256U << 10)     /* bytes that wait for the network: beyond, live samples are dropped */

static int64_t
timeval_ns(const struct timeval *tv)
{
	return (int64_t)tv->tv_sec * NS_PER_S + (int64_t)tv->tv_usec * NS_PER_US;
}

static int64_t
own_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return 0;
	return timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
}

void
phase_begin_arming(struct run *run, const struct msg_arm *arm)
{
	uint64_t mine = run->assign->node_index;

	run->attempt = ATTEMPT_BARRIER;
	run->workers = (uint32_t)arm->node_workers[mine];
	run->first_rank = 0;
	run->timed = arm->spec.time > 0;
	run->mixed = arm->spec.kind == PHASE_MIXED;
	run->tells_fsynced = run->workers > 0 && recovery_is(&arm->spec, RECOVERY_WRITE);
	run->fsynced_told = 0;
	run->tick_ns = run->tells_fsynced ? FSYNCED_TICK_NS : TICK_NS;
	for (uint64_t i = 0; i < mine; i++)
		run->first_rank += (uint64_t)LS_MAX(arm->node_workers[i], (int64_t)0);
	run->start = (struct ls_mono){ 0 };
	run->ticks = 0;
	sink_free(&run->tool_out);
	sink_free(&run->tool_err);
	stalls_reset(run->stalls, ls_mono_now());
	loop_timer_set(run->tick, run->tick_ns);
}

void
phase_note_start(struct run *run, struct ls_mono start)
{
	run->start = start;
}

void
phase_note_usage(struct run *run)
{
	run->device_known = device_read("/sys", run->device, &run->device_before);
	run->cpu_before_ns = own_cpu_ns();
	run->net_before = run->env.ports->net_bytes(run->env.arg);
}

void
phase_begin_running(struct run *run)
{
	run->attempt = ATTEMPT_RUNNING;
	run->ticks = 0;
	run->sampled = run->start;
	run->sampled_bytes = run->sampled_ops = 0;
	memset(run->sampled_apart, 0, sizeof(run->sampled_apart));
	/* workers of a phase with a time end together: when the first ended, what each had done is what it did */
	if (run->mixed)
		sampler_begin_apart(run->sampler, run->workers, run->start);
	else
		sampler_begin(run->sampler, run->workers, run->start, !run->timed);
	stalls_reset(run->stalls, ls_mono_now());
	loop_timer_set_at(run->tick, (struct ls_mono){ run->start.ns + run->tick_ns });

	free(run->last); /* what was said up to the barrier has been heard */
	run->last = NULL;
}

static bool
has_started(const struct run *run)
{
	struct shm_control *control = shm_map_control(run->map);

	return run->attempt == ATTEMPT_RUNNING &&
	    atomic_load_explicit(&control->decision, memory_order_acquire) == SHM_STARTED;
}

/* --- live --- */

static const char *
live_state(const struct run *run)
{
	if (run->state == NR_ARMING)
		return "preparing";
	return has_started(run) ? "running" : "armed";
}

static void
count_work(const struct run *run, struct live_node *live)
{
	for (uint32_t i = 0; i < run->workers; i++) {
		const struct shm_worker *w = shm_map_worker(run->map, i);
		live->bytes += atomic_load_explicit(&w->bytes, memory_order_relaxed);
		live->ops += atomic_load_explicit(&w->ops, memory_order_relaxed);
		live->workers_active += atomic_load_explicit(&w->state, memory_order_relaxed) == SHM_RUNNING;
	}
}

static void
count_apart(struct run *run, struct live_node *live, double s)
{
	static const enum op_kind ops[] = { OP_READ, OP_WRITE };

	live->by_op = ls_calloc(ARRAY_LEN(ops), sizeof(*live->by_op));
	live->by_op_count = ARRAY_LEN(ops);
	for (size_t o = 0; o < ARRAY_LEN(ops); o++) {
		struct live_op *to = &live->by_op[o], *before = &run->sampled_apart[o];

		*to = (struct live_op){ .op = (int)ops[o], .bytes_per_s = (double)NAN, .ops_per_s = (double)NAN };
		for (uint32_t i = 0; i < run->workers; i++) {
			const struct shm_worker *w = shm_map_worker(run->map, i);

			to->bytes += atomic_load_explicit(&w->op_bytes[ops[o]], memory_order_relaxed);
			to->ops += atomic_load_explicit(&w->op_ops[ops[o]], memory_order_relaxed);
		}
		if (s > 0) {
			to->bytes_per_s = (double)(to->bytes - before->bytes) / s;
			to->ops_per_s = (double)(to->ops - before->ops) / s;
		}
		*before = *to;
	}
}

static void
send_sample(struct run *run, struct ls_mono now)
{
	struct msg_sample sample = { .epoch = run->epoch };
	char *text = NULL;
	size_t len;
	struct ls_err err;

	field_struct_init(&live_node_desc, &sample.live);
	free(sample.live.node);
	free(sample.live.state);
	sample.live.node = ls_strdup(run->assign->node);
	sample.live.state = ls_strdup(live_state(run));
	sample.live.workers = run->workers;
	sample.at_ns = LS_UNKNOWN_I64;
	if (has_started(run)) {
		sample.at_ns = now.ns - run->start.ns;
		count_work(run, &sample.live);
		double s = (double)(now.ns - run->sampled.ns) / 1e9;
		if (run->mixed)
			count_apart(run, &sample.live, s);
		if (s > 0 && !run->mixed) {
			sample.live.bytes_per_s = (double)(sample.live.bytes - run->sampled_bytes) / s;
			sample.live.ops_per_s = (double)(sample.live.ops - run->sampled_ops) / s;
		}
		if (run->assign->job.abort_if != NULL)
			live_latency(
			    run->map, run->workers, now, &sample.live.latency_max_ns, &sample.live.latency_p99_ns);
		run->sampled = now;
		run->sampled_bytes = sample.live.bytes;
		run->sampled_ops = sample.live.ops;
	}
	uint64_t free_plus_one = atomic_load_explicit(&shm_map_control(run->map)->free_plus_one, memory_order_relaxed);
	if (free_plus_one > 0)
		sample.live.free_bytes = free_plus_one - 1;
	sample.live.stalls_count =
	    stalls_look(run->stalls, run->map, run->workers, runner_pid(run->runner), now, &sample.live.stalls);

	if (run->env.ports->unsent(run->env.arg) <= SAMPLE_UNSENT_MAX) {
		if (msg_encode(MSG_SAMPLE, &sample, &text, &len, &err))
			ls_log(LS_LOG_WARN, "a sample cannot be encoded", "run=%s error=\"%s\"", run_id(run), err.text);
		else
			run->env.ports->send(text, len, run->env.arg);
	}
	free(text);
	field_struct_fini(&live_node_desc, &sample.live);
}

/* Whatever waits for the network: nobody else knows it once this machine has lost its power. */
static void
tell_fsynced(struct run *run)
{
	uint64_t records;
	char *text = NULL;
	size_t len;
	struct ls_err err;

	if (!run->tells_fsynced || !has_started(run))
		return;
	records = atomic_load_explicit(&shm_map_worker(run->map, 0)->fsynced, memory_order_acquire);
	if (records == run->fsynced_told)
		return;
	const struct msg_fsynced said = { .epoch = run->epoch, .records = records };
	if (msg_encode(MSG_FSYNCED, &said, &text, &len, &err))
		ls_log(LS_LOG_ERROR, "a message cannot be encoded", "run=%s error=\"%s\"", run_id(run), err.text);
	else if (run->env.ports->send(text, len, run->env.arg))
		run->fsynced_told = records;
	free(text);
}

void
phase_reconnected(struct run *run)
{
	run->fsynced_told = 0;
}

void
phase_tick(void *arg)
{
	struct run *run = arg;

	/* Workers that are to leave a void or stopped attempt are watched, too: they may not come back from a call. */
	bool leaving = run->state == NR_VOIDING || run->state == NR_STOPPING || run->state == NR_KILLING;
	if (run->attempt == ATTEMPT_NONE && !leaving)
		return;
	struct ls_mono now = ls_mono_now();
	if (has_started(run))
		sampler_drain(run->sampler, now);
	tell_fsynced(run);
	if (run->ticks++ % (unsigned)(NS_PER_S / run->tick_ns) == 0)
		send_sample(run, now);
	loop_timer_set(run->tick, run->tick_ns);
}

void
phase_tool_output(struct run *run, const struct msg_tool_output *said)
{
	struct sink *s = said->error ? &run->tool_err : &run->tool_out;
	size_t len = strlen(said->data);

	if (run->has_epoch && epoch_equal(&said->epoch, &run->epoch) && s->len + len <= TOOL_OUTPUT_MAX)
		sink_add(s, said->data, len);
}

/* --- over --- */

void
phase_result(struct run *run, const struct msg_phase_done *done, const char *failure)
{
	if (run->attempt != ATTEMPT_RUNNING)
		return;

	tell_fsynced(run);

	struct device_io after, moved;
	struct result_input in = {
		.node = run->assign->node,
		.start = run->start,
		.now = ls_mono_now(),
		.map = run->map,
		.sampler = run->sampler,
		.workers = run->workers,
		.first_rank = run->first_rank,
		.started = has_started(run),
		.done = done,
		.tool_out = run->tool_out.text,
		.tool_err = run->tool_err.text,
		.failure = failure ? failure : run->stop_reason,
		.agent_cpu_ns = own_cpu_ns() - run->cpu_before_ns,
		.agent_net_bytes = run->env.ports->net_bytes(run->env.arg) - run->net_before,
	};
	if (run->device_known && device_read("/sys", run->device, &after)) {
		moved = device_delta(&run->device_before, &after);
		in.device = &moved;
	}

	struct node_result result;
	result_build(&in, &result);
	size_t len;
	char *document = json_encode_struct(&node_result_desc, &result, false, &len);
	ls_log(LS_LOG_INFO, "phase is over",
	    "run=%s phase=%llu repetition=%llu attempt=%llu state=%s bytes=%llu ops=%llu", run_id(run),
	    (unsigned long long)run->epoch.phase, (unsigned long long)run->epoch.repetition,
	    (unsigned long long)run->epoch.attempt, node_state_names[result.state], (unsigned long long)result.bytes,
	    (unsigned long long)result.ops);
	if (sampler_lost(run->sampler) > 0)
		ls_log(LS_LOG_WARN, "counter steps were lost: the series has straight lines there", "run=%s steps=%llu",
		    run_id(run), (unsigned long long)sampler_lost(run->sampler));
	field_struct_fini(&node_result_desc, &result);

	run->attempt = ATTEMPT_NONE;
	loop_timer_cancel(run->tick);
	run->env.ports->result(&run->epoch, document, len, run->env.arg);
}
