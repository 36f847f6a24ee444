#include "coordinator/report/by_op.h"

#include <math.h>
#include <stdio.h>

#include "common/base/units.h"
#include "coordinator/report/html_int.h"
#include "coordinator/report/markdown_int.h"
#include "coordinator/report/text_int.h"
#include "proto/model/aggregate.h"

#define W_OP     7
#define W_NUMBER 10

/* One row: an operation of a node or of all. */
struct row {
	const char *op, *who;
	double mib_per_s, ops_per_s;
	const struct latency *latency, *service; /* service NULL: there is none */
};

static size_t
ops_done(const struct phase_result *phase)
{
	size_t n = 0;

	for (int op = 0; op < OP_COUNT; op++)
		n += by_op_get(&phase->aggregate.by_op, (enum op_kind)op) != NULL;
	return n;
}

bool
by_op_mixes(const struct phase_result *phase)
{
	return phase_result_mixes(phase);
}

struct rate
by_op_sum(const struct by_op *by_op)
{
	struct rate sum = { 0 };

	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);

		if (r == NULL)
			continue;
		sum.bytes_per_s += r->bytes_per_s;
		sum.ops_per_s += r->ops_per_s;
	}
	return sum;
}

const char *
by_op_rates(const struct phase_result *phase, char *buf, size_t len)
{
	char rate[48];
	size_t n = 0;

	buf[0] = '\0';
	for (int op = 0; op < OP_COUNT && n < len; op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		if (r != NULL)
			n += (size_t)snprintf(buf + n, len - n, "%s%s %s", n > 0 ? ", " : "", op_names[op],
			    isfinite(r->bytes_per_s) ? units_format_rate(r->bytes_per_s, rate, sizeof(rate)) : "n/a");
	}
	return buf;
}

static bool
has_service(const struct phase_result *phase)
{
	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		if (r != NULL && r->service_ns != NULL)
			return true;
	}
	return false;
}

static void
tell(struct sink *out, const char *who, enum op_kind op, const struct by_op *by_op,
    void (*print)(struct sink *, const struct row *))
{
	const struct op_result *r = by_op_get(by_op, op);

	if (r == NULL)
		return;
	print(out,
	    &(const struct row){ op_names[op], who, r->bytes > 0 ? r->bytes_per_s / units_mega() : (double)NAN,
		r->ops_per_s, &r->latency_ns, r->service_ns });
}

static void
rows(struct sink *out, const struct phase_result *phase, void (*print)(struct sink *, const struct row *))
{
	for (int op = 0; op < OP_COUNT; op++) {
		for (size_t n = 0; n < phase->nodes_count; n++)
			tell(out, phase->nodes[n].node, (enum op_kind)op, &phase->nodes[n].by_op, print);
		tell(out, "all", (enum op_kind)op, &phase->aggregate.by_op, print);
	}
}

static bool
wanted(const struct phase_result *phase)
{
	return phase->imported == NULL && (ops_done(phase) > 1 || has_service(phase));
}

static double
us(int64_t ns)
{
	return ns == LS_UNKNOWN_I64 ? (double)NAN : (double)ns / 1e3;
}

/* --- text ------------------------------------------------------------------------------------------------------------ */

static void
text_row(struct sink *out, const struct row *r)
{
	sink_printf(out, " %-*s", W_OP, r->op);
	text_name(out, r->who);
	text_cell(out, W_NUMBER, r->mib_per_s);
	text_cell(out, W_NUMBER, r->ops_per_s);
	text_cell(out, W_NUMBER, us(r->latency->p50));
	text_cell(out, W_NUMBER, us(r->latency->p99));
	text_cell(out, W_NUMBER, us(r->latency->max));
	if (r->service != NULL) {
		text_cell(out, W_NUMBER, us(r->service->p50));
		text_cell(out, W_NUMBER, us(r->service->p99));
	}
	sink_printf(out, "\n");
}

void
by_op_text(struct sink *out, const struct phase_result *phase)
{
	const char *const heads[] = { units_mega_rate(), "op/s", "p50 us", "p99 us", "max us" };

	if (!wanted(phase))
		return;
	sink_printf(out, " %-*s", W_OP, "by op");
	text_name(out, "");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		text_cell_word(out, W_NUMBER, heads[i]);
	if (has_service(phase)) {
		text_cell_word(out, W_NUMBER, "issue p50");
		text_cell_word(out, W_NUMBER, "p99 us");
	}
	sink_printf(out, "\n");
	rows(out, phase, text_row);
	if (has_service(phase))
		text_wrap(out, "   ",
		    "latency counts from the instant at which each operation was due; issue: from when it began");
}

/* --- Markdown -------------------------------------------------------------------------------------------------------- */

static void
markdown_row(struct sink *out, const struct row *r)
{
	sink_printf(out, "| %s | ", r->op);
	markdown_text(out, r->who);
	sink_printf(out, " |");
	markdown_cell(out, r->mib_per_s);
	markdown_cell(out, r->ops_per_s);
	markdown_cell(out, us(r->latency->p50));
	markdown_cell(out, us(r->latency->p99));
	markdown_cell(out, us(r->latency->max));
	markdown_cell(out, r->service != NULL ? us(r->service->p50) : (double)NAN);
	markdown_cell(out, r->service != NULL ? us(r->service->p99) : (double)NAN);
	sink_printf(out, "\n");
}

void
by_op_markdown(struct sink *out, const struct phase_result *phase)
{
	if (!wanted(phase))
		return;
	sink_printf(out,
	    "\n| by operation | node | %s | op/s | p50 us | p99 us | max us | from issue p50 us | p99 us |\n"
	    "| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
	    units_mega_rate());
	rows(out, phase, markdown_row);
}

/* --- HTML ------------------------------------------------------------------------------------------------------------ */

static void
html_row(struct sink *out, const struct row *r)
{
	sink_printf(out, "<tr><td>%s</td><td>", r->op);
	html_text(out, r->who);
	sink_printf(out, "</td>");
	html_cell(out, r->mib_per_s);
	html_cell(out, r->ops_per_s);
	html_cell(out, us(r->latency->p50));
	html_cell(out, us(r->latency->p99));
	html_cell(out, us(r->latency->max));
	html_cell(out, r->service != NULL ? us(r->service->p50) : (double)NAN);
	html_cell(out, r->service != NULL ? us(r->service->p99) : (double)NAN);
	sink_printf(out, "</tr>\n");
}

void
by_op_html(struct sink *out, const struct phase_result *phase)
{
	if (!wanted(phase))
		return;
	sink_printf(out,
	    "<h3>By operation</h3>\n<div "
	    "class=scroll><table><tr><th>operation</th><th>machine</th><th>%s</th><th>op/s</th>"
	    "<th>p50 us</th><th>p99 us</th><th>longest us</th><th>from issue, p50 us</th><th>p99 us</th></tr>\n",
	    units_mega_rate());
	rows(out, phase, html_row);
	sink_printf(out, "</table></div>\n");
}
