#include "proto/codec/live.h"

#include <math.h>
#include <stdio.h>

#include "common/base/units.h"

void
live_node_keep_apart(struct live_node *node)
{
	if (node->by_op_count == 0)
		return;
	node->bytes = node->ops = LS_UNKNOWN_U64;
	node->bytes_per_s = node->ops_per_s = (double)NAN;
}

double
live_node_pace(const struct live_node *node)
{
	double ops = 0;

	if (node->by_op_count == 0)
		return isfinite(node->bytes_per_s) && node->bytes_per_s > 0 ? node->bytes_per_s : node->ops_per_s;
	for (size_t i = 0; i < node->by_op_count; i++)
		ops += node->by_op[i].ops_per_s;
	return ops;
}

static void
add(double *sum, double value)
{
	if (isfinite(value))
		*sum = isfinite(*sum) ? *sum + value : value;
}

struct live_totals
live_totals_of(const struct msg_run_event *event)
{
	const struct rate unknown = { (double)NAN, (double)NAN };
	struct live_totals t = { .rate = unknown };

	for (int op = 0; op < OP_COUNT; op++)
		t.by_op[op] = unknown;
	for (size_t n = 0; n < event->nodes_count; n++) {
		const struct live_node *node = &event->nodes[n];

		add(&t.rate.bytes_per_s, node->bytes_per_s);
		add(&t.rate.ops_per_s, node->ops_per_s);
		for (size_t i = 0; i < node->by_op_count; i++) {
			struct rate *r = &t.by_op[node->by_op[i].op];

			t.apart = true;
			add(&r->bytes_per_s, node->by_op[i].bytes_per_s);
			add(&r->ops_per_s, node->by_op[i].ops_per_s);
		}
	}
	if (t.apart) /* a node of which nothing is known yet does not make it a sum */
		t.rate = unknown;
	return t;
}

/* Appends one operation's rate; returns the new length. */
static size_t
append(char *buf, size_t len, size_t n, int op, double bytes_per_s)
{
	char rate[32];

	if (n >= len || !isfinite(bytes_per_s))
		return n;
	return n +
	    (size_t)snprintf(buf + n, len - n, "%s%s %s", n > 0 ? ", " : "", op_names[op],
		units_format_rate(bytes_per_s, rate, sizeof(rate)));
}

const char *
live_totals_text(const struct live_totals *totals, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int op = 0; op < OP_COUNT; op++)
		n = append(buf, len, n, op, totals->by_op[op].bytes_per_s);
	if (!totals->apart && isfinite(totals->rate.bytes_per_s))
		units_format_rate(totals->rate.bytes_per_s, buf, len);
	return buf;
}

const char *
live_node_text(const struct live_node *node, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < node->by_op_count; i++)
		n = append(buf, len, n, node->by_op[i].op, node->by_op[i].bytes_per_s);
	return buf;
}
