#include "coordinator/report/csv_int.h"

#include <string.h>

void
csv_field(struct sink *out, const char *text)
{
	if (text == NULL)
		return;
	if (text[0] != '\0' && strchr("=+-@", text[0]) != NULL && strlen(text) > 1)
		sink_add(out, "'", 1);
	if (strpbrk(text, ",\"\r\n") == NULL) {
		sink_add(out, text, strlen(text));
		return;
	}
	sink_add(out, "\"", 1);
	for (const char *p = text; *p != '\0'; p++)
		sink_add(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
	sink_add(out, "\"", 1);
}
