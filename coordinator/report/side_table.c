#include "coordinator/report/side_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"

const side_table_fn side_tables[SIDE_TABLES] = { side_recovery, side_contention };

void
side_table_fini(struct side_table *table)
{
	sink_free(&table->said);
	free(table->rows);
}

void
side_tables_each(const struct phase_result *phase, void (*put)(void *arg, const struct side_table *table), void *arg)
{
	for (size_t i = 0; i < SIDE_TABLES; i++) {
		struct side_table table;

		if (!side_tables[i](phase, &table))
			continue;
		put(arg, &table);
		side_table_fini(&table);
	}
}

const char *
side_cell(const struct side_column *column, const struct side_value *value, char *buf, size_t len)
{
	char number[32];

	if (!value->known)
		snprintf(buf, len, "-");
	else if (strcmp(column->unit, "bool") == 0)
		snprintf(buf, len, "%s", value->value > 0 ? "yes" : "no");
	else if (strcmp(column->unit, "ns") == 0 &&
	    value->value >= 60e9) /* in a few columns, and to be held against others */
		snprintf(buf, len, "%.1f s", value->value / 1e9);
	else if (strcmp(column->unit, "ns") == 0)
		units_format_duration((int64_t)value->value, buf, len);
	else if (strcmp(column->unit, "B/s") == 0)
		units_format_rate(value->value, buf, len);
	else if (strcmp(column->unit, "op/s") == 0)
		snprintf(buf, len, "%s op/s", units_format_count(value->value, number, sizeof(number)));
	else if (strcmp(column->unit, "x") == 0)
		snprintf(buf, len, "%.2f", value->value);
	else
		snprintf(buf, len, "%.0f", value->value);
	return buf;
}
