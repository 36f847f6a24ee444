#include "agent/helper/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper/heartbeat.h"
#include "agent/helper/remount.h"
#include "agent/helper/wire.h"
#include "common/base/log.h"

#define SILENT_MS 60000

/* --- requests -------------------------------------------------------------------------------------------------------- */

static enum ls_rc
tell_status(const struct helper_config *config, char *text, size_t size)
{
	int n = snprintf(text, size, "drop_caches %s\nheartbeat %s\n", config->drop_caches ? "yes" : "no",
	    config->heartbeat ? "yes" : "no");

	for (size_t i = 0; i < config->remount_count && n >= 0 && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "remount %s\n", config->remount[i]);
	return LS_OK;
}

static enum ls_rc
drop_caches(const struct helper_config *config, const char *file, struct ls_err *err)
{
	if (!config->drop_caches)
		return ls_err_set(err, LS_E_REFUSED, "drop_caches of helper.conf is no");

	int fd = open(file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", file);

	/* 3: the page cache, and dentries and inodes. What is dirty stays: who asks has flushed his volume before. */
	enum ls_rc rc = write(fd, "3\n", 2) == 2 ? LS_OK : ls_err_sys(err, errno, "%s: write", file);

	close(fd);
	if (rc == LS_OK)
		ls_log(LS_LOG_INFO, "caches dropped", NULL);
	return rc;
}

static enum ls_rc
tell_heartbeat(const struct helper_config *config, char *text, size_t size, struct ls_err *err)
{
	struct helper_beats beats;

	if (!config->heartbeat)
		return ls_err_set(err, LS_E_REFUSED, "heartbeat of helper.conf is no");

	enum ls_rc rc = heartbeat_read(config->sys, &beats, err);

	if (rc == LS_OK)
		(void)helper_beats_format(&beats, text, size);
	return rc;
}

size_t
helper_answer(
    const struct helper_config *config, const struct helper_machine *machine, const char *data, size_t len, char *buf)
{
	struct helper_request request;
	struct ls_err err = { 0 };
	char text[HELPER_PACKET_MAX - 16] = "";
	enum ls_rc rc = helper_request_parse(data, len, &request, &err);

	if (rc != LS_OK)
		return helper_answer_no(err.text, buf, HELPER_PACKET_MAX);
	ls_log(LS_LOG_DEBUG, "asked", "request=%d", (int)request.verb);
	switch (request.verb) {
	case HELPER_STATUS:
		rc = tell_status(config, text, sizeof(text));
		break;
	case HELPER_DROP_CACHES:
		rc = drop_caches(config, machine->drop_caches, &err);
		break;
	case HELPER_REMOUNT:
		rc = remount(config, request.path, machine->lock, &err);
		break;
	case HELPER_HEARTBEAT:
		rc = tell_heartbeat(config, text, sizeof(text), &err);
		break;
	case HELPER_VERB_COUNT:
		break;
	}
	if (rc != LS_OK)
		return helper_answer_no(err.text, buf, HELPER_PACKET_MAX);
	return helper_answer_ok(text[0] != '\0' ? text : NULL, buf, HELPER_PACKET_MAX);
}

/* --- the connection -------------------------------------------------------------------------------------------------- */

enum ls_rc
helper_check_peer(int fd, const char *user, struct ls_err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct passwd pw, *found = NULL;
	char text[4096];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return ls_err_sys(err, errno, "SO_PEERCRED");
	if (peer.uid == 0)
		return LS_OK;
	if (getpwnam_r(user, &pw, text, sizeof(text), &found) != 0 || found == NULL)
		return ls_err_set(err, LS_E_NOTFOUND, "there is no user %s (user of helper.conf)", user);
	if (peer.uid == pw.pw_uid)
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED, "uid %u is neither root nor %s", peer.uid, user);
}

/* The next packet; its length, 0: the other end has closed or was silent for too long. More than size: it was longer than allowed. */
static ssize_t
next_packet(int fd, char *buf, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int ready;

	do
		ready = poll(&p, 1, SILENT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready;
	do
		n = recv(fd, buf, size, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	return n;
}

enum ls_rc
helper_serve(int fd, const struct helper_config *config, const struct helper_machine *machine, struct ls_err *err)
{
	char request[HELPER_PATH_MAX + 64], answer[HELPER_PACKET_MAX];
	ssize_t n;

	while ((n = next_packet(fd, request, sizeof(request))) > 0) {
		size_t len = (size_t)n > sizeof(request)
		    ? helper_answer_no("the request is too long", answer, sizeof(answer))
		    : helper_answer(config, machine, request, (size_t)n, answer);

		if (send(fd, answer, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
			return ls_err_sys(err, errno, "send");
	}
	return n == 0 ? LS_OK : ls_err_sys(err, errno, "receive");
}
