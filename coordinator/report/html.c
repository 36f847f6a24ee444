#include "coordinator/report/html_int.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/text_int.h"

void
html_text(struct sink *out, const char *text)
{
	if (text == NULL || text[0] == '\0')
		text = "n/a";
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			sink_add(out, " ", 1);
		else if (strchr("&<>\"'", *text) != NULL)
			sink_printf(out, "&#%d;", *text);
		else
			sink_add(out, text, 1);
	}
}

void
html_json_text(struct sink *out, const char *text)
{
	sink_add(out, "\"", 1);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f || strchr("\"\\<>&'", c) != NULL)
			sink_printf(out, "\\u%04x", (unsigned)c);
		else
			sink_add(out, text, 1);
	}
	sink_add(out, "\"", 1);
}

void
html_number(struct sink *out, double value)
{
	char digits[64];

	sink_printf(out, "%s", text_number(value, digits, sizeof(digits)));
}

void
html_cell(struct sink *out, double value)
{
	sink_printf(out, "<td>");
	html_number(out, value);
	sink_printf(out, "</td>");
}

bool
html_in_bytes(const struct phase_result *phase)
{
	return report_in_bytes(phase);
}

const char *
html_unit(const struct phase_result *phase)
{
	return html_in_bytes(phase) ? units_mega_rate() : "op/s";
}

double
html_rate(const struct phase_result *phase, double bytes_per_s, double ops_per_s)
{
	return html_in_bytes(phase) ? bytes_per_s / units_mega() : ops_per_s;
}

void
html_phase_name(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	html_text(out, phase->name);
	if (results->run.job.repeat > 1)
		sink_printf(out, " <span class=soft>(%" PRIu64 " of %" PRIu64 ")</span>", phase->repetition + 1,
		    results->run.job.repeat);
}

void
html_page_head(struct sink *out, const char *title)
{
	sink_printf(out,
	    "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
	    "<meta name=viewport content='width=device-width,initial-scale=1'>\n"
	    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
	    "script-src 'unsafe-inline'; img-src data:\">\n<title>");
	html_text(out, title);
	sink_printf(out, " - lockstep</title>\n<style>\n");
	sink_add(out, html_page_css, strlen(html_page_css));
	sink_printf(out, "</style></head><body>\n");
}
