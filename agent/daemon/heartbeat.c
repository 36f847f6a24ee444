#include "agent/daemon/heartbeat.h"

#include <stdlib.h>

#include "agent/daemon/helper.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"

#define LOOK_NS    NS_PER_S
#define TIMEOUT_NS (5 * NS_PER_S)

struct heartbeat {
	struct loop *loop;
	const struct agent_config *config;
	void (*on_old)(const char *why, void *arg);
	void *arg;
	struct helper *helper; /* NULL: no run goes on */
	struct loop_timer *look;
	struct helper_beat worst;
	struct ls_mono read_at; /* 0: it was not read in this run */
	bool told_old, told_failure;
};

static int64_t
age_now(const struct heartbeat *h)
{
	return h->worst.age_ns + (ls_mono_now().ns - h->read_at.ns);
}

static void
judge(struct heartbeat *h)
{
	char age[32], dead[32], why[512];

	if (h->read_at.ns == 0 || h->told_old || age_now(h) < h->worst.dead_ns / 2)
		return;
	h->told_old = true;
	(void)snprintf(why, sizeof(why),
	    "o2cb's heartbeat in region %s was last written %s ago%s, at %s this node fences itself: the load is "
	    "stopped at half of that",
	    h->worst.region, units_format_duration(age_now(h), age, sizeof(age)),
	    h->told_failure ? " as far as the root helper could still tell" : "",
	    units_format_duration(h->worst.dead_ns, dead, sizeof(dead)));
	h->on_old(why, h->arg);
}

/* The region that has the least of its time left. */
static void
take(struct heartbeat *h, const struct helper_beats *beats)
{
	h->read_at = ls_mono_now();
	h->worst = beats->list[0];
	for (size_t i = 1; i < beats->count; i++) {
		const struct helper_beat *b = &beats->list[i];

		if (b->dead_ns - b->age_ns < h->worst.dead_ns - h->worst.age_ns)
			h->worst = *b;
	}
	h->told_failure = false;
}

static void
on_answer(const struct ls_err *err, const char *body, void *arg)
{
	struct heartbeat *h = arg;
	struct helper_beats beats;
	struct ls_err why = { 0 };
	char shown[1100];

	if (err != NULL)
		why = *err;
	else if (helper_beats_parse(body, &beats, &why) == LS_OK && beats.count > 0)
		take(h, &beats);
	if (why.rc != LS_OK && !h->told_failure)
		ls_log(LS_LOG_WARN, "nobody watches o2cb's heartbeat", "error=\"%s\"",
		    ls_log_escape(why.text, shown, sizeof(shown)));
	h->told_failure |= why.rc != LS_OK;
	judge(h);
	loop_timer_set(h->look, LOOK_NS);
}

static void
on_look(void *arg)
{
	struct heartbeat *h = arg;
	const struct helper_request request = { .verb = HELPER_HEARTBEAT };

	helper_ask(h->helper, &request, TIMEOUT_NS, on_answer, h);
}

struct heartbeat *
heartbeat_new(
    struct loop *loop, const struct agent_config *config, void (*on_old)(const char *why, void *arg), void *arg)
{
	if (!config->watch_heartbeat)
		return NULL;

	struct heartbeat *h = ls_calloc(1, sizeof(*h));

	*h = (struct heartbeat){ .loop = loop, .config = config, .on_old = on_old, .arg = arg };
	h->look = loop_timer_new(loop, on_look, h);
	return h;
}

void
heartbeat_begin(struct heartbeat *h)
{
	if (h == NULL || h->helper != NULL)
		return;
	h->helper = helper_new(h->loop, h->config->helper);
	h->read_at.ns = 0;
	h->told_old = h->told_failure = false;
	on_look(h);
}

void
heartbeat_end(struct heartbeat *h)
{
	if (h == NULL)
		return;
	loop_timer_cancel(h->look);
	helper_free(h->helper);
	h->helper = NULL;
	h->read_at.ns = 0;
}

void
heartbeat_now(const struct heartbeat *h, int64_t *age_ns, int64_t *dead_ns)
{
	bool known = h != NULL && h->read_at.ns != 0;

	*age_ns = known ? age_now(h) : LS_UNKNOWN_I64;
	*dead_ns = known ? h->worst.dead_ns : LS_UNKNOWN_I64;
}

void
heartbeat_free(struct heartbeat *h)
{
	if (h == NULL)
		return;
	heartbeat_end(h);
	loop_timer_free(h->look);
	free(h);
}
