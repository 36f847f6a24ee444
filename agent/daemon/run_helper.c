/* What a run has the root helper do: asked before anything begins, and before phases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/limits.h"
#include "agent/daemon/run_int.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#define STATUS_WAIT_NS (5 * NS_PER_S)
#define WORK_WAIT_NS   (600 * NS_PER_S) /* a cluster file system may take its time for both halves of a remount */

static bool
wants_heartbeat(const struct run *run)
{
	return run->assign->job.abort_if != NULL && run->assign->job.abort_if->heartbeat_age > 0;
}

static void
on_heartbeat(const struct ls_err *err, const char *body, void *arg)
{
	struct run *run = arg;

	(void)body;
	if (run->state != NR_STARTING)
		return;
	if (err != NULL)
		run_refuse(run, err->text);
	else
		run_send_assign(run);
}

static void
ask_heartbeat(struct run *run)
{
	const struct helper_request request = { .verb = HELPER_HEARTBEAT };

	if (wants_heartbeat(run))
		helper_ask(run->helper, &request, STATUS_WAIT_NS, on_heartbeat, run);
	else
		run_send_assign(run);
}

static void
on_status(const struct ls_err *err, const char *body, void *arg)
{
	struct run *run = arg;
	struct helper_status status;
	struct ls_err why;

	if (run->state != NR_STARTING)
		return;
	if (err != NULL) {
		run_refuse(run, err->text);
	} else if (helper_status_parse(body, NULL, &status, &why) != LS_OK) {
		run_refuse(run, why.text);
	} else if (run->assign->need_drop && !status.drop_caches) {
		run_refuse(run,
		    "caches drop: the root helper of this node does not allow it (key \"drop_caches\" in helper.conf)");
	} else {
		free(run->helper_status);
		run->helper_status = ls_strdup(body);
		ask_heartbeat(run);
	}
}

void
run_ask_helper(struct run *run)
{
	const struct helper_request request = { .verb = HELPER_STATUS };
	bool caches = run->assign->need_drop || run->assign->need_remount;

	if (!caches && !wants_heartbeat(run)) {
		run_send_assign(run);
		return;
	}
	run->helper = helper_new(run->env.loop, run->env.config->helper);
	if (caches)
		helper_ask(run->helper, &request, STATUS_WAIT_NS, on_status, run);
	else
		ask_heartbeat(run);
}

bool
run_check_mount(struct run *run, const struct msg_prepared *prepared)
{
	struct helper_status status = { 0 };
	char why[1024];

	free(run->mount_point);
	run->mount_point = ls_strdup(prepared->volume.mount_point);
	if (!run->assign->need_remount)
		return true;
	if (run->mount_point != NULL && run->helper_status != NULL &&
	    helper_status_parse(run->helper_status, run->mount_point, &status, NULL) == LS_OK && status.remount)
		return true;
	(void)snprintf(why, sizeof(why),
	    "caches remount: the root helper of this node does not allow it for %.512s (key \"remount\" in "
	    "helper.conf)",
	    run->mount_point != NULL ? run->mount_point : "a volume whose mount point is not known");
	run_refuse(run, why);
	return false;
}

/* --- before a phase --------------------------------------------------------------------------------------------------- */

static void
tell_runner(struct run *run, const char *error)
{
	char *text = ls_strdup(error);
	const struct msg_uncached body = { .epoch = run->uncache_epoch, .error = text };

	runner_send(run->runner, MSG_UNCACHED, &body);
	free(text);
}

static void
on_emptied(const struct ls_err *err, const char *body, void *arg)
{
	struct run *run = arg;
	char shown[1100];

	(void)body;
	run->remounting = run->uncaching = false;
	ls_log(err == NULL ? LS_LOG_INFO : LS_LOG_WARN, err == NULL ? "caches are empty" : "caches were not emptied",
	    "run=%s error=\"%s\"", run_id(run), err == NULL ? "" : ls_log_escape(err->text, shown, sizeof(shown)));
	tell_runner(run, err == NULL ? NULL : err->text);
	if (run->clean_later) {
		run->clean_later = false;
		run_act(run, NA_CLEAN, NULL);
	}
}

void
run_uncache(struct run *run, const struct msg_uncache *asked, bool wanted)
{
	struct helper_request request = { .verb = asked->how == CACHES_REMOUNT ? HELPER_REMOUNT : HELPER_DROP_CACHES };
	struct ls_err err;

	epoch_copy(&run->uncache_epoch, &asked->epoch);
	if (!wanted || run->helper == NULL || helper_is_asked(run->helper)) {
		tell_runner(run, "it is not wanted any more");
		return;
	}
	/* Not what the runner says decides, but this node's own configuration. */
	if (limits_caches(run->env.config, (enum phase_caches)asked->how, &err) != LS_OK) {
		tell_runner(run, err.text);
		return;
	}
	(void)snprintf(request.path, sizeof(request.path), "%s",
	    request.verb == HELPER_REMOUNT && run->mount_point != NULL ? run->mount_point : "");
	run->uncaching = true;
	run->remounting = request.verb == HELPER_REMOUNT;
	helper_ask(run->helper, &request, WORK_WAIT_NS, on_emptied, run);
}
