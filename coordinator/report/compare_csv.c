/*
 * One ratio a row. Values are bytes/s, operations/s or ns as the unit says, at full precision; what is not known is empty. Geometric means
 * stand behind the rows that they are over, with the name "*geometric mean*", and at the end those over all tests, "*all*".
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "coordinator/report/compare_int.h"
#include "coordinator/report/csv_int.h"

#define MEAN      "*geometric mean*"
#define ALL_TESTS "*all*"

static void
number(struct sink *out, double value)
{
	if (isfinite(value))
		sink_printf(out, "%.15g", value);
	sink_printf(out, ",");
}

static void
integer(struct sink *out, uint64_t value)
{
	if (value != LS_UNKNOWN_U64)
		sink_printf(out, "%" PRIu64, value);
	sink_printf(out, ",");
}

static void
text(struct sink *out, const char *value)
{
	csv_field(out, value);
	sink_printf(out, ",");
}

static void
ratio_row(struct sink *out, const struct comparison *c, const struct compare_row *row, const struct compare_ratio *r)
{
	const struct compare_value *of = &row->values[r->of];
	const struct compare_value *to = &row->values[r->to];

	text(out, row->test);
	text(out, row->name);
	integer(out, row->file_size);
	integer(out, row->record_size);
	integer(out, row->processes);
	text(out, c->metric);
	text(out, row->unit);
	text(out, c->groups[r->of].label);
	text(out, c->groups[r->to].label);
	number(out, of->value);
	number(out, to->value);
	integer(out, of->samples);
	integer(out, to->samples);
	number(out, r->ratio);
	number(out, r->low);
	number(out, r->high);
	csv_field(out, compare_verdict_names[r->verdict]);
	sink_printf(out, "\r\n");
}

/* test NULL: over all rows. */
static void
mean_rows(struct sink *out, const struct comparison *c, const char *test)
{
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_mean *mean = compare_mean_of(c, test, i);

		if (mean == NULL)
			continue;
		text(out, test == NULL ? ALL_TESTS : test);
		sink_printf(out, MEAN ",,,,");
		text(out, c->metric);
		sink_printf(out, ",");
		text(out, c->groups[mean->of].label);
		text(out, c->groups[mean->to].label);
		sink_printf(out, ",,,,");
		number(out, mean->ratio);
		sink_printf(out, ",,\r\n");
	}
}

void
compare_csv(const struct comparison *c, struct sink *out)
{
	sink_printf(out,
	    "test,name,file_size_bytes,record_size_bytes,processes,metric,unit,of,to,of_value,to_value,of_samples,to_"
	    "samples,"
	    "ratio,ratio_low,ratio_high,verdict\r\n");
	for (size_t r = 0; r < c->rows_count; r++) {
		if (!compare_is_first_of_test(c, r))
			continue;
		for (size_t q = r; q < c->rows_count; q++)
			for (size_t i = 0; i < c->rows[q].ratios_count && strcmp(c->rows[q].test, c->rows[r].test) == 0;
			     i++)
				ratio_row(out, c, &c->rows[q], &c->rows[q].ratios[i]);
		mean_rows(out, c, c->rows[r].test);
	}
	if (c->rows_count > 0)
		mean_rows(out, c, NULL);
}
