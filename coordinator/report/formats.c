#include "coordinator/report/format.h"

#include <string.h>

extern const struct report_format report_text;
extern const struct report_format report_json;
extern const struct report_format report_csv;
extern const struct report_format report_markdown;
extern const struct report_format report_html;
extern const struct report_format report_bonnie;
extern const struct report_format report_bonnie_csv;
extern const struct report_format report_iozone;
extern const struct report_format report_iozone_excel;
extern const struct report_format report_crystaldiskmark;
extern const struct report_format report_scale;
extern const struct report_format report_xlsx;
extern const struct report_format report_openmetrics;
extern const struct report_format report_fio;
extern const struct report_format report_tool_output;

const struct report_format *const report_formats[] = {
	&report_text,
	&report_json,
	&report_csv,
	&report_markdown,
	&report_html,
	&report_bonnie,
	&report_bonnie_csv,
	&report_iozone,
	&report_iozone_excel,
	&report_crystaldiskmark,
	&report_scale,
	&report_xlsx,
	&report_openmetrics,
	&report_fio,
	&report_tool_output,
	NULL,
};

const struct report_format *
report_format_find(const char *name)
{
	for (size_t i = 0; report_formats[i] != NULL; i++)
		if (strcmp(report_formats[i]->name, name) == 0)
			return report_formats[i];
	return NULL;
}
