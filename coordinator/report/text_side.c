/* Side tables in the text report. */
#include "coordinator/report/side_table.h"
#include "coordinator/report/text_int.h"

enum { W_CELL = 10, W_WIDE = 14, WIDE_MAX = 5 }; /* a name and eight of them, or five wide ones, fit into a line */

static void
put(void *arg, const struct side_table *t)
{
	struct sink *out = arg;
	int width = t->column_count > WIDE_MAX ? W_CELL : W_WIDE;
	char cell[48];

	text_wrap(out, "   ", "%s", t->said.text);
	sink_printf(out, " ");
	text_name(out, "node");
	for (size_t c = 0; c < t->column_count; c++)
		text_cell_word(out, width, t->columns[c].title);
	sink_printf(out, "\n");
	for (size_t n = 0; n < t->row_count; n++) {
		sink_printf(out, " ");
		text_name(out, t->rows[n].node);
		for (size_t c = 0; c < t->column_count; c++)
			text_cell_word(
			    out, width, side_cell(&t->columns[c], &t->rows[n].values[c], cell, sizeof(cell)));
		sink_printf(out, "\n");
	}
	if (t->note != NULL)
		text_wrap(out, "   ", "%s", t->note);
}

void
text_side_tables(struct sink *out, const struct phase_result *phase)
{
	side_tables_each(phase, put, out);
}
