#include "agent/runner/link.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/frame.h"
#include "common/base/mem.h"

#define READ_STEP 16384

struct link {
	int fd;
	uint8_t *buf; /* what was read and not yet taken */
	size_t len, size;
	bool closed;
};

struct link *
link_new(int fd)
{
	struct link *link = ls_calloc(1, sizeof(*link));

	link->fd = fd;
	return link;
}

void
link_free(struct link *link)
{
	if (link == NULL)
		return;
	close(link->fd);
	free(link->buf);
	free(link);
}

int
link_fd(const struct link *link)
{
	return link->fd;
}

/* One read; false when there is nothing now. */
static bool
read_some(struct link *link)
{
	if (link->size - link->len < READ_STEP) {
		link->size = link->len + 2 * READ_STEP;
		link->buf = ls_realloc(link->buf, link->size, 1);
	}

	ssize_t n = recv(link->fd, link->buf + link->len, link->size - link->len, MSG_DONTWAIT);

	if (n > 0)
		link->len += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		link->closed = true;
	return n > 0;
}

/* Takes the first len bytes out of the buffer. */
static void
consume(struct link *link, size_t len)
{
	link->len -= len;
	memmove(link->buf, link->buf + len, link->len);
}

enum link_got
link_next(struct link *link, struct msg *out, struct ls_err *err)
{
	for (;;) {
		size_t frame = link->len >= FRAME_HEADER_BYTES ? frame_header_get(link->buf) : 0;

		if (frame > MSG_FRAME_MAX) {
			ls_err_set(err, LS_E_LIMIT, "a frame of %zu bytes is longer than %d", frame, MSG_FRAME_MAX);
			return LINK_BAD;
		}
		if (link->len >= FRAME_HEADER_BYTES && link->len - FRAME_HEADER_BYTES >= frame) {
			const char *text = (const char *)link->buf + FRAME_HEADER_BYTES;
			enum ls_rc rc = msg_decode(text, frame, MSG_TO_RUNNER, out, err);

			consume(link, FRAME_HEADER_BYTES + frame);
			return rc == LS_OK ? LINK_MESSAGE : LINK_BAD;
		}
		if (link->closed)
			return LINK_CLOSED;
		if (!read_some(link) && !link->closed)
			return LINK_NOTHING;
	}
}

/* Waits until something can be sent again. */
static enum ls_rc
wait_writable(const struct link *link, int64_t deadline_ns, struct ls_err *err)
{
	struct pollfd pfd = { .fd = link->fd, .events = POLLOUT };
	int64_t left_ns = deadline_ns - ls_mono_now().ns;

	if (left_ns <= 0)
		return ls_err_set(err, LS_E_TIMEOUT, "the agent takes no messages");
	if (poll(&pfd, 1, (int)(left_ns / NS_PER_MS) + 1) < 0 && errno != EINTR)
		return ls_err_sys(err, errno, "poll");
	return LS_OK;
}

static enum ls_rc
send_all(const struct link *link, const void *data, size_t len, struct ls_err *err)
{
	const uint8_t *at = data;
	int64_t deadline_ns = ls_mono_now().ns + LINK_SEND_TIMEOUT_NS;

	while (len > 0) {
		ssize_t n = send(link->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET)
			return ls_err_set(err, LS_E_CLOSED, "the agent is gone");
		if (errno != EAGAIN && errno != EINTR)
			return ls_err_sys(err, errno, "send");

		enum ls_rc rc = wait_writable(link, deadline_ns, err);

		if (rc != LS_OK)
			return rc;
	}
	return LS_OK;
}

enum ls_rc
link_send(struct link *link, enum msg_type type, const void *body, struct ls_err *err)
{
	char *text = NULL;
	size_t len = 0;
	enum ls_rc rc = msg_encode(type, body, &text, &len, err);

	if (rc != LS_OK)
		return rc;

	/* One piece, so that the agent wakes up once. */
	uint8_t *frame = ls_malloc(FRAME_HEADER_BYTES + len);

	frame_header_put(frame, (uint32_t)len);
	memcpy(frame + FRAME_HEADER_BYTES, text, len);
	rc = send_all(link, frame, FRAME_HEADER_BYTES + len, err);
	free(frame);
	free(text);
	return rc;
}
