#include "coordinator/cli/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/env.h"
#include "common/base/env.h"
#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/pki/pki.h"
#include "coordinator/cli/files.h"
#include "proto/model/tool.h"

extern char **environ;

#define CERT_DAYS     2
#define READY_WAIT_MS 10000
#define STORE_WAIT_NS (10 * NS_PER_S)
#define STOP_WAIT_NS  (15 * NS_PER_S)
#define LOG_LINES     12

struct child {
	char name[32]; /* also of its files in the directory */
	pid_t pid;     /* 0: not started or already reaped */
	int status;
};

struct local {
	char *dir;      /* all but the store */
	char *programs; /* where lockstepd and lockstep-agent are */
	char *address;  /* unix: */
	char listen[128];
	int lock;
	struct child *children; /* the first is lockstepd */
	size_t count;
};

/* --- where things are --------------------------------------------------------------------------------------------- */

/* The programs stand beside this one, be it in build/bin or where it is installed. */
static enum ls_rc
find_programs(struct local *local, struct ls_err *err)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return ls_err_sys(err, errno, "/proc/self/exe");
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';

	const char *const folders[] = { "", "/../sbin", "/../libexec/lockstep", NULL };
	for (size_t i = 0; folders[i] != NULL; i++) {
		char *folder = ls_asprintf("%s%s", self, folders[i]);
		char *program = ls_asprintf("%s/lockstepd", folder);
		bool there = access(program, X_OK) == 0;

		free(program);
		if (there) {
			local->programs = folder;
			return LS_OK;
		}
		free(folder);
	}
	return ls_err_set(err, LS_E_NOTFOUND, "lockstepd is not beside this program in %s", self);
}

static bool
is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0' || top[len - 1] == '/');
}

/* A private directory, not below the path under test. A socket's path is short, so the shortest places come first. */
static enum ls_rc
make_dir(struct local *local, const char *path, struct ls_err *err)
{
	const char *const places[] = { ls_env("XDG_RUNTIME_DIR"), ls_env("TMPDIR"), "/tmp", "/var/tmp",
		ls_env("HOME") };
	int error = ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (places[i] == NULL || places[i][0] != '/' || strlen(places[i]) > 60)
			continue;
		char *real = realpath(places[i], NULL);
		bool usable = real != NULL && !is_below(real, path);

		free(real);
		if (!usable)
			continue;
		char *dir = ls_asprintf("%s/lockstep-XXXXXX", places[i]);
		if (mkdtemp(dir) != NULL) {
			local->dir = dir;
			return LS_OK;
		}
		error = errno;
		free(dir);
	}
	return ls_err_sys(err, error, "no temporary directory outside of %s", path);
}

static enum ls_rc
make_parents(const char *path, struct ls_err *err)
{
	char *copy = ls_strdup(path);
	enum ls_rc rc = LS_OK;

	for (char *p = copy + 1; rc == LS_OK; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char was = *p;

		*p = '\0';
		if (mkdir(copy, 0700) != 0 && errno != EEXIST)
			rc = ls_err_sys(err, errno, "%s", copy);
		*p = was;
		if (was == '\0')
			break;
	}
	free(copy);
	return rc;
}

/* One local run at a time uses the store: a lock beside it says so before lockstepd is started in vain. */
static enum ls_rc
lock_store(struct local *local, const char *store, struct ls_err *err)
{
	char *file = ls_asprintf("%s/local.lock", store);
	struct ls_mono until = { ls_mono_now().ns + STORE_WAIT_NS };
	bool told = false;
	enum ls_rc rc = LS_OK;

	local->lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (local->lock < 0)
		rc = ls_err_sys(err, errno, "%s", file);
	while (rc == LS_OK && flock(local->lock, LOCK_EX | LOCK_NB) != 0) {
		struct ls_mono now = ls_mono_now();

		if (errno != EWOULDBLOCK)
			rc = ls_err_sys(err, errno, "%s: flock", file);
		else if (now.ns > until.ns)
			rc = ls_err_set(err, LS_E_STATE,
			    "another local run uses the store %s; wait for its end, or set XDG_STATE_HOME to another "
			    "directory",
			    store);
		else if (!told)
			fprintf(stderr, "waiting for another local run to end\n");
		told = true;
		ls_mono_sleep_until((struct ls_mono){ now.ns + 50 * NS_PER_MS });
	}
	free(file);
	return rc;
}

static enum ls_rc
make_store(struct local *local, char **out, struct ls_err *err)
{
	const char *state = ls_env("XDG_STATE_HOME");
	const char *home = ls_env("HOME");
	char *store;

	if (state != NULL && state[0] == '/')
		store = ls_asprintf("%s/lockstep", state);
	else if (home != NULL && home[0] == '/')
		store = ls_asprintf("%s/.local/state/lockstep", home);
	else
		return ls_err_set(err, LS_E_STATE, "no place for results: neither XDG_STATE_HOME nor HOME is set");
	enum ls_rc rc = make_parents(store, err);
	if (rc == LS_OK)
		rc = lock_store(local, store, err);
	if (rc != LS_OK) {
		free(store);
		return rc;
	}
	*out = store;
	return LS_OK;
}

static enum ls_rc
make_pki(const struct local *local, struct ls_err *err)
{
	char *dir = ls_asprintf("%s/pki", local->dir);
	struct identity id = { .role = ROLE_COORDINATOR, .name = "local" };
	enum ls_rc rc = pki_init(dir, "lockstep local run", CERT_DAYS, err);

	if (rc == LS_OK)
		rc = pki_issue(dir, &id, CERT_DAYS, false, err);
	id.role = ROLE_AGENT;
	for (size_t i = 1; rc == LS_OK && i < local->count; i++) {
		snprintf(id.name, sizeof(id.name), "%s", local->children[i].name);
		rc = pki_issue(dir, &id, CERT_DAYS, false, err);
	}
	free(dir);
	return rc;
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

/*
 * A session of its own keeps Ctrl-C on the terminal away from the child: the command decides what it means. ready: end of a
 * pipe that the child keeps, or -1.
 */
static enum ls_rc
spawn(struct local *local, struct child *child, const char *program, char *const argv[], int ready, struct ls_err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	char *log = ls_asprintf("%s/%s.log", local->dir, child->name);
	char *path = ls_asprintf("%s/%s", local->programs, program);

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	if (ready >= 0)
		posix_spawn_file_actions_adddup2(&actions, ready, 3);
	int error = posix_spawn(&child->pid, path, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (error != 0) {
		child->pid = 0;
		ls_err_sys(err, error, "%s", path);
	}
	free(log);
	free(path);
	return error != 0 ? LS_E_SYS : LS_OK;
}

static enum ls_rc
write_config(const struct local *local, const struct child *child, const struct sink *text, struct ls_err *err)
{
	char *path = ls_asprintf("%s/%s.conf", local->dir, child->name);
	enum ls_rc rc = file_write(path, text->text, text->len, err);

	free(path);
	return rc;
}

/* The daemon writes one line "... listen=ADDRESS ..." once it listens; end of file means that it gave up. */
static enum ls_rc
read_ready(struct local *local, int fd, struct ls_err *err)
{
	char line[512] = "";
	size_t len = 0;

	while (strchr(line, '\n') == NULL && len < sizeof(line) - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int n = poll(&p, 1, READY_WAIT_MS);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ls_err_set(err, LS_E_TIMEOUT, "lockstepd did not get ready within 10 s");
		ssize_t got = read(fd, line + len, sizeof(line) - 1 - len);
		if (got <= 0)
			return ls_err_set(err, LS_E_STATE, "lockstepd ended before it was ready");
		len += (size_t)got;
		line[len] = '\0';
	}

	const char *listen = strstr(line, "listen=");
	if (listen == NULL)
		return ls_err_set(err, LS_E_PROTO, "lockstepd does not say where it listens");
	listen += strlen("listen=");
	snprintf(local->listen, sizeof(local->listen), "%.*s", (int)strcspn(listen, " \n"), listen);
	return LS_OK;
}

static enum ls_rc
start_daemon(struct local *local, const char *store, struct ls_err *err)
{
	struct child *child = &local->children[0];
	struct sink text = { 0 };
	int ready[2];

	sink_printf(&text,
	    "[lockstepd]\nlisten = 127.0.0.1:0\nsocket = %s/lockstepd.sock\nstore = %s\nca = %s/pki/ca.crt\n"
	    "cert = %s/pki/coordinator-local.crt\nkey = %s/pki/coordinator-local.key\n",
	    local->dir, store, local->dir, local->dir, local->dir);
	enum ls_rc rc = write_config(local, child, &text, err);
	sink_free(&text);
	if (rc != LS_OK)
		return rc;
	if (pipe2(ready, O_CLOEXEC) != 0)
		return ls_err_sys(err, errno, "pipe");

	char *config = ls_asprintf("%s/%s.conf", local->dir, child->name);
	char *const argv[] = { (char[]){ "lockstepd" }, (char[]){ "--config" }, config, (char[]){ "--ready-fd" },
		(char[]){ "3" }, NULL };
	rc = spawn(local, child, "lockstepd", argv, ready[1], err);
	close(ready[1]);
	if (rc == LS_OK)
		rc = read_ready(local, ready[0], err);
	close(ready[0]);
	free(config);
	return rc;
}

/* External programs that the caller's PATH has: in a local run they may be used, as the caller could start them anyway. */
static void
name_tools(struct sink *config)
{
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		const struct tool_info *tool = tool_info((enum tool_kind)i);
		/* bonnie++ is often where only root's PATH looks */
		char *dirs =
		    ls_asprintf("%s:/usr/sbin:/sbin", ls_env("PATH") != NULL ? ls_env("PATH") : "/usr/bin:/bin");
		char *rest = dirs;

		for (char *dir; (dir = strsep(&rest, ":")) != NULL;) {
			char *path = ls_asprintf("%s/%s", dir, tool->name);
			bool found = dir[0] == '/' && strpbrk(path, "\n\r;#") == NULL && access(path, X_OK) == 0;

			if (found)
				sink_printf(config, "%s = %s\n", tool->key, path);
			free(path);
			if (found)
				break;
		}
		free(dirs);
	}
}

static enum ls_rc
start_agent(struct local *local, struct child *child, const char *path, struct ls_err *err)
{
	struct sink text = { 0 };
	char *spool = ls_asprintf("%s/%s", local->dir, child->name);
	enum ls_rc rc = LS_OK;

	if (mkdir(spool, 0700) != 0)
		rc = ls_err_sys(err, errno, "%s", spool);
	sink_printf(&text,
	    "[agent]\ncoordinator = %s\nca = %s/pki/ca.crt\ncert = %s/pki/agent-%s.crt\nkey = %s/pki/agent-%s.key\n"
	    "spool = %s\nallow = %s\n",
	    local->listen, local->dir, local->dir, child->name, local->dir, child->name, spool, path);
	name_tools(&text);
	if (rc == LS_OK)
		rc = write_config(local, child, &text, err);
	sink_free(&text);
	free(spool);
	if (rc != LS_OK)
		return rc;

	char *config = ls_asprintf("%s/%s.conf", local->dir, child->name);
	char *const argv[] = { (char[]){ "lockstep-agent" }, (char[]){ "--config" }, config, NULL };
	rc = spawn(local, child, "lockstep-agent", argv, -1, err);
	free(config);
	return rc;
}

enum ls_rc
local_start(size_t count, const char *path, struct local **out, struct ls_err *err)
{
	struct local *local = ls_calloc(1, sizeof(*local));
	char *store = NULL;
	char self[24];

	local->lock = -1;
	local->count = count + 1;
	local->children = ls_calloc(local->count, sizeof(*local->children));
	snprintf(local->children[0].name, sizeof(local->children[0].name), "lockstepd");
	for (size_t i = 1; i < local->count; i++)
		snprintf(local->children[i].name, sizeof(local->children[i].name), "node%zu", i);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the command has one thread */
	setenv("LOCKSTEP_DIE_WITH_PARENT", self, 1);

	enum ls_rc rc = find_programs(local, err);
	if (rc == LS_OK)
		rc = make_dir(local, path, err);
	if (rc == LS_OK)
		rc = make_store(local, &store, err);
	if (rc == LS_OK)
		rc = make_pki(local, err);
	if (rc == LS_OK)
		rc = start_daemon(local, store, err);
	for (size_t i = 1; rc == LS_OK && i < local->count; i++)
		rc = start_agent(local, &local->children[i], path, err);
	free(store);
	if (rc != LS_OK) {
		ls_err_wrap(err, "local run");
		local_stop(local, true);
		return rc;
	}
	local->address = ls_asprintf("unix:%s/lockstepd.sock", local->dir);
	*out = local;
	return LS_OK;
}

const char *
local_address(const struct local *local)
{
	return local->address;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static bool
reap(struct child *child)
{
	int status;

	if (child->pid == 0)
		return true;
	pid_t got = waitpid(child->pid, &status, WNOHANG);
	if (got == 0)
		return false;
	child->status = got == child->pid ? status : 0;
	child->pid = 0;
	return true;
}

bool
local_child_ended(void *arg)
{
	struct local *local = arg;
	bool ended = false;

	for (size_t i = 0; i < local->count; i++)
		ended |= reap(&local->children[i]);
	return ended;
}

static void
signal_all(struct local *local, int signum)
{
	for (size_t i = 0; i < local->count; i++)
		if (local->children[i].pid > 0)
			kill(local->children[i].pid, signum);
}

/* Are all ended before that instant? They need a few milliseconds, so that it is enough to look now and then. */
static bool
wait_all(struct local *local, struct ls_mono until)
{
	for (;;) {
		bool all = true;

		for (size_t i = 0; i < local->count; i++)
			all &= reap(&local->children[i]);
		if (all)
			return true;
		struct ls_mono now = ls_mono_now();
		if (now.ns > until.ns)
			return false;
		ls_mono_sleep_until((struct ls_mono){ now.ns + NS_PER_MS });
	}
}

static void
show_log(const struct local *local, const struct child *child)
{
	char *path = ls_asprintf("%s/%s.log", local->dir, child->name);
	char *text = NULL;
	size_t len = 0;

	if (file_read(path, &text, &len, NULL) == LS_OK && len > 0) {
		const char *from = text + len;
		int lines = 0;

		while (from > text && lines <= LOG_LINES)
			lines += *--from == '\n' && from + 1 < text + len;
		fprintf(stderr, "--- end of the log of %s\n%s%s", child->name, lines > LOG_LINES ? from + 1 : from,
		    text[len - 1] == '\n' ? "" : "\n");
	}
	free(text);
	free(path);
}

void
local_stop(struct local *local, bool show_logs)
{
	if (local == NULL)
		return;
	signal_all(local, SIGTERM);
	if (!wait_all(local, (struct ls_mono){ ls_mono_now().ns + STOP_WAIT_NS })) {
		signal_all(local, SIGKILL);
		wait_all(local, (struct ls_mono){ ls_mono_now().ns + 2 * NS_PER_S });
	}
	for (size_t i = 0; show_logs && local->dir != NULL && i < local->count; i++)
		show_log(local, &local->children[i]);
	if (local->dir != NULL)
		file_remove_tree(local->dir);
	if (local->lock >= 0)
		close(local->lock);
	free(local->children);
	free(local->programs);
	free(local->address);
	free(local->dir);
	free(local);
}
