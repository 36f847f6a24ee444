#include "proto/codec/msg.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "proto/codec/schema_int.h"

char *
msg_schema(const char *id, const char *title)
{
	char *names[MSG_TYPE_COUNT];
	struct schema w;

	schema_begin(&w, JSON_SCHEMA_WIRE, id, title);
	schema_text(&w, "description", "One message: the JSON object of a frame. Unknown members are ignored.");
	for (int i = 0; i < MSG_TYPE_COUNT; i++) {
		names[i] = ls_asprintf("message-%s", msg_info((enum msg_type)i)->name);
		schema_need(&w, msg_info((enum msg_type)i)->desc);
	}
	schema_one_of(&w, names, MSG_TYPE_COUNT);
	schema_object(&w, "$defs");
	for (int i = 0; i < MSG_TYPE_COUNT; i++) {
		schema_object(&w, names[i]);
		schema_body(&w, msg_info((enum msg_type)i)->desc, msg_info((enum msg_type)i)->name, false);
		schema_end(&w);
		free(names[i]);
	}
	schema_needed(&w);
	schema_end(&w);
	return schema_finish(&w);
}
