#include "proto/codec/msg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec/json_int.h"

#define SHOWN_TYPE_MAX 64

const char *const check_level_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_WARNING] = "warning",
	[CHECK_FAILED] = "failed",
	NULL,
};

const char *const lock_outcome_names[] = {
	[LOCK_UNTRIED] = "untried",
	[LOCK_HELD] = "held",
	[LOCK_REFUSED] = "refused",
	[LOCK_GRANTED] = "granted",
	[LOCK_MISSING] = "missing",
	[LOCK_OUTCOMES] = NULL,
};

const char *const done_outcome_names[] = {
	[DONE_OK] = "ok",
	[DONE_REFUSED] = "refused",
	[DONE_FAILED] = "failed",
	NULL,
};

/* clang-format off: the tables must be read in this order */
#define MSG_WITH_PARTS
#define MSG_BEGIN(ID, id, name, dirs, help) S_BEGIN(msg_##id, help)
#define MSG_END(ID, id)                     S_END(msg_##id)
#include "common/base/field_table.h"
#include "proto/codec/messages.def"
#include "common/base/field_undef.h"
#undef MSG_BEGIN
#undef MSG_END
#undef MSG_WITH_PARTS

#include "common/base/field_none.h"
#define MSG_BEGIN(ID, id, name, dirs, help) [MSG_##ID] = { MSG_##ID, name, dirs, &msg_##id##_desc, help },
#define MSG_END(ID, id)
static const struct msg_info infos[MSG_TYPE_COUNT] = {
#include "proto/codec/messages.def"
};
#undef MSG_BEGIN
#undef MSG_END
#include "common/base/field_undef.h"
/* clang-format on */

const struct msg_info *
msg_info(enum msg_type type)
{
	return &infos[type];
}

const struct msg_info *
msg_find(const char *name)
{
	for (size_t i = 0; i < MSG_TYPE_COUNT; i++)
		if (strcmp(infos[i].name, name) == 0)
			return &infos[i];
	return NULL;
}

static const char *
receiver_name(enum msg_direction to)
{
	switch (to) {
	case MSG_TO_COORDINATOR:
		return "the coordinator";
	case MSG_TO_AGENT:
		return "an agent";
	case MSG_TO_RUNNER:
		return "a runner";
	case MSG_TO_OPERATOR:
		return "an operator";
	case MSG_TO_ANY:
		return "anybody";
	}
	return "this receiver";
}

/* Which message a tree is, if it may come here; else NULL with the reason in err (not NULL). */
static const struct msg_info *
find_info(json_t *tree, enum msg_direction to, struct ls_err *err)
{
	const struct msg_info *info = NULL;
	json_t *type = json_object_get(tree, "type");
	const char *name = json_string_value(type);

	if (!json_is_object(tree))
		ls_err_set(err, LS_E_PROTO, "message: not an object");
	else if (name == NULL)
		ls_err_set(err, LS_E_PROTO, "message: %s", type == NULL ? "type: missing" : "type: must be a text");
	else if ((info = msg_find(name)) == NULL)
		ls_err_set(err, LS_E_NOTFOUND, "message: type: \"%.*s\" is not known", SHOWN_TYPE_MAX, name);
	else if (!(info->directions & (unsigned)to))
		ls_err_set(err, LS_E_PROTO, "%s: not a message for %s", name, receiver_name(to));
	else
		return info;
	return NULL;
}

static enum ls_rc
tree_to_msg(json_t *tree, enum msg_direction to, struct msg *out, struct ls_err *err)
{
	struct json_context context = { .unknown = JSON_UNKNOWN_IGNORED };
	const struct msg_info *info = find_info(tree, to, err);
	enum ls_rc rc;
	void *body;

	if (info == NULL)
		return err->rc;
	context.what = info->name;
	body = ls_calloc(1, info->desc->size);
	rc = json_tree_to_struct(&context, NULL, info->desc, tree, body, err);
	if (rc != LS_OK) {
		free(body);
		return rc;
	}
	*out = (struct msg){ .type = info->type, .body = body };
	return LS_OK;
}

enum ls_rc
msg_decode(const char *text, size_t len, enum msg_direction to, struct msg *out, struct ls_err *err)
{
	struct ls_err inner = { 0 };
	json_t *tree = NULL;
	enum ls_rc rc;

	rc = json_text_parse(text, len, JSON_VALUES_WIRE, "message", &tree, &inner);
	if (rc == LS_OK)
		rc = tree_to_msg(tree, to, out, &inner);
	json_decref(tree);
	if (rc == LS_OK)
		return LS_OK;
	/* whatever is wrong with it: the peer should not have sent it; what is merely unknown is told apart */
	return ls_err_set(err, rc == LS_E_NOTFOUND || rc == LS_E_NOMEM ? rc : LS_E_PROTO, "%s", inner.text);
}

enum ls_rc
msg_encode(enum msg_type type, const void *body, char **out, size_t *out_len, struct ls_err *err)
{
	const struct msg_info *info = &infos[type];
	struct sink s = { 0 };

	json_write_struct(&s, info->desc, body, info->name, false);
	if (s.len > MSG_FRAME_MAX) {
		size_t len = s.len;

		sink_free(&s);
		return ls_err_set(
		    err, LS_E_LIMIT, "%s: %zu bytes do not fit into a frame of %d", info->name, len, MSG_FRAME_MAX);
	}
	*out = s.text;
	*out_len = s.len;
	return LS_OK;
}

void
msg_fini(struct msg *msg)
{
	if (msg == NULL || msg->body == NULL)
		return;
	field_struct_fini(infos[msg->type].desc, msg->body);
	free(msg->body);
	msg->body = NULL;
}

void
msg_body_init(enum msg_type type, void *body)
{
	field_struct_init(infos[type].desc, body);
}

void
msg_body_fini(enum msg_type type, void *body)
{
	field_struct_fini(infos[type].desc, body);
}

bool
epoch_equal(const struct epoch *a, const struct epoch *b)
{
	const char *run_a = a->run != NULL ? a->run : "";
	const char *run_b = b->run != NULL ? b->run : "";

	return a->phase == b->phase && a->repetition == b->repetition && a->attempt == b->attempt &&
	    strcmp(run_a, run_b) == 0;
}

void
epoch_copy(struct epoch *to, const struct epoch *from)
{
	char *run = ls_strdup(from->run);

	free(to->run);
	*to = *from;
	to->run = run;
}
