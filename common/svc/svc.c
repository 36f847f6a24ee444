#include "common/svc/svc.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "common/base/env.h"
#include "common/base/mem.h"

struct svc {
	struct loop_timer *watchdog; /* NULL: none asked for */
	int64_t rhythm_ns;
};

void
svc_die_with_parent(void)
{
	const char *wanted = ls_env("LOCKSTEP_DIE_WITH_PARENT");

	if (wanted == NULL)
		return;
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0UL, 0UL, 0UL);
	if (getppid() != (pid_t)strtol(wanted, NULL, 10))
		raise(SIGTERM); /* it was gone before we asked */
}

static void
on_watchdog(void *arg)
{
	struct svc *svc = arg;

	sd_notify(0, "WATCHDOG=1");
	loop_timer_set(svc->watchdog, svc->rhythm_ns);
}

struct svc *
svc_new(struct loop *loop)
{
	struct svc *svc = ls_calloc(1, sizeof(*svc));
	uint64_t usec = 0;

	if (sd_watchdog_enabled(0, &usec) <= 0 || usec == 0 || usec > INT64_MAX / NS_PER_US)
		return svc;
	svc->rhythm_ns = (int64_t)usec * NS_PER_US / 2; /* sd_watchdog_enabled(3) recommends half */
	svc->watchdog = loop_timer_new(loop, on_watchdog, svc);
	loop_timer_set(svc->watchdog, 0);
	return svc;
}

void
svc_ready(struct svc *svc, const char *status)
{
	(void)svc;
	sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void
svc_stopping(struct svc *svc)
{
	(void)svc;
	sd_notify(0, "STOPPING=1");
}

void
svc_free(struct svc *svc)
{
	if (svc == NULL)
		return;
	loop_timer_free(svc->watchdog);
	free(svc);
}
