#include "coordinator/daemon/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/net/http.h"
#include "common/svc/svc.h"
#include "coordinator/daemon/certs.h"
#include "coordinator/daemon/collect.h"
#include "coordinator/daemon/history.h"
#include "coordinator/daemon/insist.h"
#include "coordinator/daemon/run.h"
#include "coordinator/daemon/session.h"
#include "coordinator/daemon/web.h"

#define SOCKET_MODE     0660
#define SESSIONS_EXTRA  256 /* connections beyond nodes and operators: those that have not said hello yet */
#define DESCRIPTORS_OWN (64 + 2 * HTTP_CONNECTIONS_MAX) /* store, logs, listeners, the loop; the web pages */

void
daemon_write(struct daemon *d, loop_fn work, loop_fn done, void *arg)
{
	if (d->stopping)
		done(arg);
	else
		offload_submit(d->writer, work, done, arg);
}

void
daemon_read(struct daemon *d, loop_fn work, loop_fn done, void *arg)
{
	if (d->stopping)
		done(arg);
	else
		offload_submit(d->reader, work, done, arg);
}

/* --- accepting ---------------------------------------------------------------------------------------------------------------- */

/* Connections at most: those that have not said hello yet come on top. */
static size_t
sessions_max(const struct daemon *d)
{
	return d->config->max_nodes + d->config->max_operators + SESSIONS_EXTRA;
}

static bool
is_full(const struct daemon *d)
{
	return d->session_count >= sessions_max(d);
}

/* Shells and old units give 1,024 descriptors. */
static void
raise_descriptors(const struct daemon *d)
{
	rlim_t wanted = sessions_max(d) + DESCRIPTORS_OWN;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = LS_MIN(wanted, limit.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted)
		ls_log(LS_LOG_INFO, "not enough descriptors for max_nodes", "have=%llu wanted=%llu",
		    (unsigned long long)limit.rlim_cur, (unsigned long long)wanted);
}

static void
accept_on(struct daemon *d, int fd, struct tls_ctx *tls)
{
	if (is_full(d)) {
		if (log_budget_take(&d->refusals, ls_mono_now()))
			ls_log(LS_LOG_WARN, "connection not accepted", "why=\"%zu connections are open\"",
			    d->session_count);
		close(fd);
		return;
	}
	/* Who may open the Unix socket has been let in by its mode. */
	if (tls != NULL && !session_make_room(d)) {
		if (log_budget_take(&d->refusals, ls_mono_now()))
			ls_log(LS_LOG_WARN, "connection not accepted", "why=\"%zu connections have not said hello\"",
			    d->pending_count);
		close(fd);
		return;
	}
	session_accept(d, fd, tls);
}

static void
on_tls(int fd, void *arg)
{
	struct daemon *d = arg;

	accept_on(d, fd, d->tls);
}

static void
on_unix(int fd, void *arg)
{
	accept_on(arg, fd, NULL);
}

static enum ls_rc
open_listeners(struct daemon *d, struct ls_err *err)
{
	const struct lockstepd_config *c = d->config;
	enum ls_rc rc = LS_OK;

	if (config_is_set(c->listen)) {
		rc = certs_open(d, err);
		if (rc == LS_OK)
			rc = listener_new(d->loop, c->listen, 0, on_tls, d, &d->tls_listener, err);
	}
	if (rc == LS_OK && config_is_set(c->socket)) {
		char *address = ls_asprintf("unix:%s", c->socket);

		rc = listener_new(d->loop, address, SOCKET_MODE, on_unix, d, &d->unix_listener, err);
		free(address);
	}
	return rc;
}

/* --- life ---------------------------------------------------------------------------------------------------------------------- */

static void
read_boot_id(char *out, size_t len)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	out[0] = '\0';
	if (f == NULL)
		return;
	if (fgets(out, (int)len, f) == NULL)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

static enum ls_rc
open_store(struct daemon *d, struct ls_err *err)
{
	enum ls_rc rc = store_open(d->config->store, STORE_WRITER, &d->store, err);

	if (rc == LS_OK)
		rc = store_open(d->config->store, STORE_READER, &d->store_reader, err);
	d->insist = insist_new();
	if (rc == LS_OK)
		rc = offload_new(d->loop, "store-write", &d->writer, err);
	if (rc == LS_OK)
		rc = offload_new(d->loop, "store-read", &d->reader, err);
	return rc;
}

enum ls_rc
server_open(const struct lockstepd_config *config, struct daemon **out, struct ls_err *err)
{
	struct daemon *d = ls_calloc(1, sizeof(*d));
	enum ls_rc rc;

	d->config = config;
	read_boot_id(d->boot_id, sizeof(d->boot_id));
	registry_init(&d->registry, config->max_nodes);
	raise_descriptors(d);
	rc = loop_new(&d->loop, err);
	if (rc == LS_OK)
		rc = open_store(d, err);
	if (rc == LS_OK) {
		d->collector = collector_new(d);
		rc = run_restore_all(d, err);
	}
	if (rc == LS_OK)
		history_new(d);
	if (rc == LS_OK)
		rc = open_listeners(d, err);
	if (rc == LS_OK)
		rc = web_new(d, &d->web, err);
	if (rc != LS_OK) {
		server_close(d);
		return rc;
	}
	*out = d;
	return LS_OK;
}

void
server_close(struct daemon *d)
{
	if (d == NULL)
		return;
	d->stopping = true;
	listener_free(d->tls_listener);
	listener_free(d->unix_listener);
	session_end_all(d);
	web_free(d->web);

	/* What was submitted is written if it can be; what is done then finds d->stopping and begins nothing. */
	if (d->insist != NULL)
		insist_give_up(d->insist);
	offload_free(d->writer);
	offload_free(d->reader);
	insist_free(d->insist);
	run_free_all(d);
	history_free(d->history);
	collector_free(d->collector);
	certs_close(d);
	loop_free(d->loop);
	registry_fini(&d->registry);
	store_close(d->store_reader);
	store_close(d->store);
	free(d);
}

static void
on_stop(void *arg)
{
	struct daemon *d = arg;

	ls_log(LS_LOG_INFO, "stopping", NULL);
	loop_stop(d->loop);
}

static void
on_reload(void *arg)
{
	certs_read_again(arg);
}

static void
say_ready(const struct daemon *d, int fd)
{
	char line[1024];
	const char *socket_path = d->unix_listener != NULL ? d->config->socket : "";
	int n = snprintf(line, sizeof(line), "listen=%s socket=%s web=%s\n",
	    d->tls_listener != NULL ? listener_address(d->tls_listener) : "", socket_path, web_address(d->web));

	ls_log(LS_LOG_INFO, "ready", "listen=%s socket=%s web=%s store=%s",
	    d->tls_listener != NULL ? listener_address(d->tls_listener) : "-",
	    socket_path[0] != '\0' ? socket_path : "-", d->web != NULL ? web_address(d->web) : "-", d->config->store);
	if (fd < 0)
		return;
	if (n > 0 && write(fd, line, (size_t)n) != n)
		ls_log(LS_LOG_WARN, "nobody reads the ready line", NULL);
	close(fd);
}

enum ls_rc
server_run(struct daemon *d, int ready_fd, struct ls_err *err)
{
	struct loop_signal *term = loop_signal_new(d->loop, SIGTERM, on_stop, d);
	struct loop_signal *interrupt = loop_signal_new(d->loop, SIGINT, on_stop, d);
	struct loop_signal *reload = loop_signal_new(d->loop, SIGHUP, on_reload, d);
	struct svc *svc = svc_new(d->loop);
	enum ls_rc rc;

	svc_die_with_parent();
	say_ready(d, ready_fd);
	svc_ready(svc, "serving");
	certs_watch(d);
	rc = loop_run(d->loop, err);
	svc_stopping(svc);
	svc_free(svc);
	loop_signal_free(reload);
	loop_signal_free(interrupt);
	loop_signal_free(term);
	return rc;
}
