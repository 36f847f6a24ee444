/* Sends a document in parts, and no faster than the operator reads. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/operator.h"

#define PART_BYTES  (192U << 10)
#define PENDING_MAX (4U << 20)
#define RETRY_NS    (2 * NS_PER_MS)

struct document {
	struct session *session;
	struct loop_timer *timer;
	char *text;
	size_t len, sent;
	uint64_t part, parts;
};

void
document_free(struct document *doc)
{
	if (doc == NULL)
		return;
	loop_timer_free(doc->timer);
	free(doc->text);
	free(doc);
}

static void
free_later(void *arg)
{
	document_free(arg);
}

static void
send_part(struct document *doc)
{
	size_t n = LS_MIN(doc->len - doc->sent, (size_t)PART_BYTES);
	struct msg_document_part m = { .part = doc->part, .parts = doc->parts };

	m.data = ls_strndup(doc->text + doc->sent, n);
	session_send(doc->session, MSG_DOCUMENT_PART, &m);
	free(m.data);
	doc->sent += n;
	doc->part++;
}

static void
send_more(void *arg)
{
	struct document *doc = arg;
	struct session *s = doc->session;

	if (s->conn == NULL)
		return;
	while (doc->part < doc->parts && conn_output_pending(s->conn) < PENDING_MAX)
		send_part(doc);
	if (doc->part < doc->parts) {
		loop_timer_set(doc->timer, RETRY_NS);
		return;
	}
	s->document = NULL;
	loop_defer(s->daemon->loop, free_later, doc);
	operator_done(s, DONE_OK, NULL);
}

void
document_send(struct session *s, char *text, size_t len)
{
	struct document *doc = ls_calloc(1, sizeof(*doc));

	doc->session = s;
	doc->timer = loop_timer_new(s->daemon->loop, send_more, doc);
	doc->text = text;
	doc->len = len;
	doc->parts = LS_MAX((len + PART_BYTES - 1) / PART_BYTES, 1);
	s->document = doc;
	send_more(doc);
}
