/* A test that was run at many sizes, as iozone's -a does: file size by record size, coloured by rate. */
#include "coordinator/report/html_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/rows_int.h"

#define MIN_CELLS 4

struct sizes {
	uint64_t *items; /* ascending, each once */
	size_t count;
};

static void
sizes_add(struct sizes *sizes, uint64_t value)
{
	size_t at = 0;

	while (at < sizes->count && sizes->items[at] < value)
		at++;
	if (at < sizes->count && sizes->items[at] == value)
		return;
	sizes->items = ls_grow(sizes->items, sizes->count, sizeof(*sizes->items));
	memmove(&sizes->items[at + 1], &sizes->items[at], (sizes->count - at) * sizeof(*sizes->items));
	sizes->items[at] = value;
	sizes->count++;
}

/* A phase that has a place in the grid of that test. */
static bool
belongs(const struct phase_result *phase, const char *test)
{
	return strcmp(report_test(phase), test) == 0 && report_file_size(phase) != LS_UNKNOWN_U64 &&
	    report_record_size(phase) != LS_UNKNOWN_U64 &&
	    (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DATA) != 0;
}

static double
rate_of(const struct phase_result *phase)
{
	struct rate rate = report_rate(phase);

	return html_rate(phase, rate.bytes_per_s, rate.ops_per_s);
}

/* Mean over the repetitions, and a phase to link to. */
static double
cell_of(const struct results *results, const char *test, uint64_t file, uint64_t record, size_t *out_phase)
{
	double sum = 0;
	size_t count = 0;

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];

		if (!belongs(phase, test) || report_file_size(phase) != file || report_record_size(phase) != record ||
		    !isfinite(rate_of(phase)))
			continue;
		if (count == 0)
			*out_phase = p;
		sum += rate_of(phase);
		count++;
	}
	return count > 0 ? sum / (double)count : (double)NAN;
}

static void
cell(struct sink *out, double value, double max, size_t phase, bool linked)
{
	if (!isfinite(value)) {
		sink_printf(out, "<td></td>");
		return;
	}
	sink_printf(out, "<td style='background:rgba(58,125,226,%.2f)'>", max > 0 ? 0.6 * value / max : 0);
	if (linked)
		sink_printf(out, "<a href='#p%zu'>", phase);
	html_number(out, value);
	sink_printf(out, "%s</td>", linked ? "</a>" : "");
}

static void
table(struct sink *out, const struct results *results, const char *test, const struct sizes *files,
    const struct sizes *records, size_t cards)
{
	double max = 0;
	const char *unit = "";
	char text[32];

	for (size_t p = 0; p < results->phases_count; p++) {
		if (!belongs(&results->phases[p], test) || !isfinite(rate_of(&results->phases[p])))
			continue;
		max = fmax(max, rate_of(&results->phases[p]));
		unit = html_unit(&results->phases[p]);
	}
	sink_printf(out, "<h3>");
	html_text(out, test);
	sink_printf(out, ", %s</h3><div class=scroll><table class=heat><tr><th>file by record</th>", unit);
	for (size_t r = 0; r < records->count; r++)
		sink_printf(out, "<th>%s</th>", units_format_size(records->items[r], text, sizeof(text)));
	sink_printf(out, "</tr>\n");
	for (size_t f = 0; f < files->count; f++) {
		sink_printf(out, "<tr><td>%s</td>", units_format_size(files->items[f], text, sizeof(text)));
		for (size_t r = 0; r < records->count; r++) {
			size_t phase = 0;
			double value = cell_of(results, test, files->items[f], records->items[r], &phase);

			cell(out, value, max, phase, phase < cards);
		}
		sink_printf(out, "</tr>\n");
	}
	sink_printf(out, "</table></div>\n");
}

static bool
is_first_of_test(const struct results *results, size_t p)
{
	for (size_t q = 0; q < p; q++)
		if (strcmp(report_test(&results->phases[q]), report_test(&results->phases[p])) == 0)
			return false;
	return true;
}

static bool
is_grid(const struct results *results, const char *test, struct sizes *files, struct sizes *records)
{
	for (size_t p = 0; p < results->phases_count; p++) {
		if (!belongs(&results->phases[p], test))
			continue;
		sizes_add(files, report_file_size(&results->phases[p]));
		sizes_add(records, report_record_size(&results->phases[p]));
	}
	return files->count * records->count >= MIN_CELLS;
}

void
html_grids(struct sink *out, const struct results *results, size_t cards)
{
	bool any = false;

	for (size_t p = 0; p < results->phases_count; p++) {
		const char *test = report_test(&results->phases[p]);
		struct sizes files = { 0 };
		struct sizes records = { 0 };

		if (is_first_of_test(results, p) && is_grid(results, test, &files, &records)) {
			if (!any)
				sink_printf(out,
				    "<section class=card><h2>By file size and record size</h2>\n"
				    "<p class=soft>all machines together; the darker, the faster</p>\n");
			any = true;
			table(out, results, test, &files, &records, cards);
		}
		free(files.items);
		free(records.items);
	}
	if (any)
		sink_printf(out, "</section>\n");
}
