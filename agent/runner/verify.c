#include "agent/runner/verify.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct verify {
	struct msg request;
	const struct msg_verify_volume *body;
	bool *seen;
	char **missing; /* borrowed names */
	int64_t deadline_ns;
};

struct verify *
verify_new(struct msg *request, int64_t now_ns)
{
	struct verify *v = ls_calloc(1, sizeof(*v));

	v->request = *request;
	v->body = v->request.body;
	*request = (struct msg){ 0 };
	v->seen = ls_calloc(v->body->tokens_count + 1, sizeof(*v->seen));
	v->missing = ls_calloc(v->body->tokens_count + 1, sizeof(*v->missing));
	v->deadline_ns = v->body->timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + v->body->timeout_ns;
	return v;
}

void
verify_free(struct verify *v)
{
	if (v == NULL)
		return;
	msg_fini(&v->request);
	free(v->seen);
	free(v->missing);
	free(v);
}

bool
verify_look(struct verify *v, const struct rundir *rd, int64_t now_ns)
{
	bool all = true;

	for (size_t i = 0; i < v->body->tokens_count; i++) {
		const struct volume_token *token = &v->body->tokens[i];

		if (!v->seen[i])
			v->seen[i] = rundir_token_seen(rd, token->node, token->token);
		all = all && v->seen[i];
	}
	return all || now_ns >= v->deadline_ns;
}

char **
verify_missing(struct verify *v, size_t *out_count)
{
	size_t n = 0;

	for (size_t i = 0; i < v->body->tokens_count; i++)
		if (!v->seen[i])
			v->missing[n++] = v->body->tokens[i].node;
	*out_count = n;
	return v->missing;
}

const char *
verify_first_seen(const struct verify *v)
{
	return v->body->tokens_count > 0 && v->seen[0] ? v->body->tokens[0].node : NULL;
}
