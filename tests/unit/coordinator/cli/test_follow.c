/* The client and the following of a run, against a scripted lockstepd in a child process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/frame.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/follow.h"

#define LINES_MAX 12

/* A line of a script: JSON is sent; "<type" waits for a message of that type; "!term" sends SIGTERM to the parent. */
struct script {
	const char *name;
	const char *lines[LINES_MAX];
	enum ls_rc rc;
	enum run_state state;
	bool ended;
	const char *text; /* part of the error or of the last text, or NULL */
};

#define HELLO        "<hello", "{\"type\":\"welcome\",\"version\":\"1\",\"build\":\"b\"}", "<watch"
#define EVENT        "{\"type\":\"run-event\",\"run\":\"r1\","
#define DONE_OK_LINE "{\"type\":\"done\"}"

static const struct script scripts[] = {
	{ "a run finishes",
	    { HELLO, EVENT "\"state\":\"running\",\"progress\":0.5,\"nodes\":[{\"node\":\"a\"}]}",
		EVENT "\"state\":\"finished\",\"end\":true}", DONE_OK_LINE },
	    LS_OK, RUN_FINISHED, true, NULL },
	{ "a run fails; done repeats it",
	    { HELLO, EVENT "\"state\":\"failed\",\"end\":true,\"text\":\"disk full\"}",
		"{\"type\":\"done\",\"outcome\":\"failed\",\"text\":\"disk full\"}" },
	    LS_OK, RUN_FAILED, true, "disk full" },
	{ "refused at once", { HELLO, "{\"type\":\"done\",\"outcome\":\"refused\",\"text\":\"no nodes\"}" }, LS_OK,
	    RUN_REFUSED, true, "no nodes" },
	{ "refused after it was queued",
	    { HELLO, "{\"type\":\"submitted\",\"run\":\"r1\",\"ahead\":2}",
		EVENT "\"state\":\"refused\",\"end\":true,\"text\":\"not one volume\"}",
		"{\"type\":\"done\",\"outcome\":\"refused\",\"text\":\"not one volume\"}" },
	    LS_OK, RUN_REFUSED, true, "not one volume" },
	{ "the daemon cannot", { HELLO, "{\"type\":\"done\",\"outcome\":\"failed\",\"text\":\"store is gone\"}" },
	    LS_E_STATE, RUN_QUEUED, false, "store is gone" },
	{ "the connection is lost", { HELLO, EVENT "\"state\":\"running\"}" }, LS_E_CLOSED, RUN_RUNNING, false,
	    "connection" },
	{ "a protocol error", { HELLO, "{\"type\":\"error\",\"text\":\"too chatty\"}" }, LS_E_PROTO, RUN_QUEUED, false,
	    "too chatty" },
	{ "unknown types are from newer daemons",
	    { HELLO, "{\"type\":\"horoscope\",\"text\":\"good\"}", EVENT "\"state\":\"finished\",\"end\":true}",
		DONE_OK_LINE },
	    LS_OK, RUN_FINISHED, true, NULL },
	{ "SIGTERM aborts",
	    { HELLO, EVENT "\"state\":\"running\"}", "!term", "<abort",
		EVENT "\"state\":\"aborted\",\"end\":true,\"text\":\"told to\"}", DONE_OK_LINE },
	    LS_OK, RUN_ABORTED, true, "told to" },
	{ "SIGTERM before the run has an id",
	    { HELLO, "!term", "{\"type\":\"submitted\",\"run\":\"r1\"}", "<abort",
		EVENT "\"state\":\"aborted\",\"end\":true}", DONE_OK_LINE },
	    LS_OK, RUN_ABORTED, true, NULL },
};

static void
read_all(int fd, void *to, size_t len)
{
	for (size_t have = 0; have < len;) {
		ssize_t n = read(fd, (char *)to + have, len - have);

		if (n <= 0)
			_exit(2);
		have += (size_t)n;
	}
}

static void
expect_type(int fd, const char *type)
{
	uint8_t header[FRAME_HEADER_BYTES];
	char text[4096];
	char want[64];

	read_all(fd, header, sizeof(header));
	uint32_t len = frame_header_get(header);
	if (len >= sizeof(text))
		_exit(3);
	read_all(fd, text, len);
	text[len] = '\0';
	snprintf(want, sizeof(want), "\"type\":\"%s\"", type);
	if (strstr(text, want) == NULL)
		_exit(4);
}

static void
send_text(int fd, const char *text)
{
	uint8_t header[FRAME_HEADER_BYTES];

	frame_header_put(header, (uint32_t)strlen(text));
	if (write(fd, header, sizeof(header)) != sizeof(header) || write(fd, text, strlen(text)) < 0)
		_exit(5);
}

static void
play(int listener, const struct script *script)
{
	int fd = accept(listener, NULL, NULL);

	alarm(20);
	for (size_t i = 0; i < LINES_MAX && script->lines[i] != NULL; i++) {
		if (script->lines[i][0] == '<')
			expect_type(fd, script->lines[i] + 1);
		else if (script->lines[i][0] == '!')
			kill(getppid(), SIGTERM);
		else
			send_text(fd, script->lines[i]);
	}
	_exit(0);
}

static int
listen_at(struct sockaddr_un *address)
{
	static unsigned number;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	snprintf(address->sun_path, sizeof(address->sun_path), "/tmp/lockstep-follow-%d-%u", (int)getpid(), number++);
	unlink(address->sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static enum ls_rc
follow(const char *path, struct follow_result *result, struct ls_err *err)
{
	const struct follow_options options = { .style = LIVE_QUIET };
	char address[200];
	const struct cli cli = { .server = address };
	struct client *client;
	struct msg_watch watch;

	snprintf(address, sizeof(address), "unix:%s", path);
	enum ls_rc rc = client_open(&cli, NULL, &client, err);
	if (rc != LS_OK)
		return rc;
	msg_body_init(MSG_WATCH, &watch);
	rc = client_send(client, MSG_WATCH, &watch, err);
	msg_body_fini(MSG_WATCH, &watch);
	if (rc == LS_OK)
		rc = follow_run(client, &options, result, err);
	client_close(client);
	return rc;
}

static void
check_script(const struct script *script)
{
	struct follow_result result = { 0 };
	struct sockaddr_un address;
	struct ls_err err = { 0 };
	int status;
	int listener = listen_at(&address);

	follow_block_signals(true); /* as before a local run: a signal that comes early must not be lost */
	pid_t pid = fork();
	if (pid == 0)
		play(listener, script);
	enum ls_rc rc = follow(address.sun_path, &result, &err);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(listener);
	unlink(address.sun_path);

	const char *text = rc == LS_OK ? result.text : err.text;
	if (rc != script->rc || result.state != script->state || result.ended != script->ended)
		fail_msg("%s: %s, state %s, ended %d: %s", script->name, ls_rc_name(rc),
		    field_enum_name(run_state_names, (int)result.state), result.ended, text);
	if (script->text != NULL && strstr(text, script->text) == NULL)
		fail_msg("%s: text \"%s\"", script->name, text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s: the script did not get what it waited for, status %d", script->name, status);
}

static void
test_runs_are_followed_to_their_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		check_script(&scripts[i]);
}

static void
test_nobody_there_says_what_to_do(void **state)
{
	const struct cli cli = { .server = "unix:/tmp/lockstep-no-such-socket" };
	struct client *client;
	struct ls_err err;

	(void)state;
	assert_int_equal(client_open(&cli, NULL, &client, &err), LS_E_CLOSED);
	assert_non_null(strstr(err.text, "lockstep-no-such-socket"));
	assert_non_null(strstr(err.text, "is lockstepd running?"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_are_followed_to_their_end),
		cmocka_unit_test(test_nobody_there_says_what_to_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
