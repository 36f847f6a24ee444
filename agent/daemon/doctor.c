#include "agent/daemon/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/daemon/agent.h"
#include "agent/daemon/allow.h"
#include "agent/daemon/doctor_int.h"
#include "agent/daemon/facts.h"
#include "agent/daemon/pidfile.h"
#include "common/base/pathname.h"
#include "common/base/units.h"
#include "common/conf/conf.h"
#include "common/pki/identity.h"

#define EXIT_USAGE      2
#define LOOK_LIMIT_NS   (10 * NS_PER_S)
#define DAY_S           86400
#define SOON_DAYS       30
#define SPOOL_LEAST     (64ULL << 20)
#define SPOOL_ENOUGH    (1ULL << 30)
#define FILES_ENOUGH    65536 /* as the unit has it */
#define KERNEL_MAJOR    5     /* io_uring, openat2: what Debian 11 and RHEL 9 have is well above */
#define KERNEL_MINOR    6
#define TIMESTAMP_CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define URING_SWITCH    "/proc/sys/kernel/io_uring_disabled"

static const char *const finding_names[] = {
	[FINDING_OK] = "ok",
	[FINDING_WARNING] = "warning",
	[FINDING_FAILED] = "failed",
};

void
doctor_say(struct doctor *d, enum finding finding, const char *check, const char *advice, const char *fmt, ...)
{
	va_list ap;

	d->count[finding]++;
	if (d->quiet && finding != FINDING_FAILED)
		return;
	printf("%-7s  %-13s  ", finding_names[finding], check);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (advice != NULL)
		printf("%-7s  %-13s  -> %s\n", "", "", advice);
	(void)fflush(stdout);
}

/* --- what is configured ---------------------------------------------------------------------------------------------------- */

static void
check_config(struct doctor *d)
{
	struct ls_err err;

	if (agent_config_check(d->config, &err) != LS_OK)
		doctor_say(d, FINDING_FAILED, "configuration",
		    "mend agent.conf; lockstep-agent --print-config explains each key", "%s", err.text);
	else
		doctor_say(d, FINDING_OK, "configuration", NULL, "every key is well-formed");
}

/* Is that directory on a mount of its own? By the text of mountinfo: no path is looked up. */
static bool
is_on_a_mount(const char *dir)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], mount[4096];
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line, "%*s %*s %*s %*s %4095s", mount) == 1 && strcmp(mount, "/") != 0 &&
		    pathname_lies_below(mount, dir);
	if (f != NULL)
		(void)fclose(f);
	return found;
}

static void
check_allow(struct doctor *d)
{
	const struct agent_config *c = d->config;

	if (c->allow_count == 0)
		doctor_say(d, FINDING_WARNING, "allow", "name a directory on the volume: allow = /mnt/volume/bench",
		    "no directory is allowed: this node refuses every run");
	for (size_t i = 0; i < c->allow_count; i++) {
		const char *fault = pathname_fault(c->allow[i]);

		if (fault != NULL)
			doctor_say(d, FINDING_FAILED, "allow", "write it in full, as in allow = /mnt/volume/bench",
			    "%s: %s", c->allow[i], fault);
		else if (!is_on_a_mount(c->allow[i]))
			doctor_say(d, FINDING_WARNING, "allow", "is the volume mounted? mount | grep it",
			    "%s lies on the root file system, by the list of mounts", c->allow[i]);
		else
			doctor_say(d, FINDING_OK, "allow", NULL, "%s lies on a mounted file system", c->allow[i]);
	}
}

static void
check_program(struct doctor *d, const char *key, const char *path)
{
	char text[96];

	if (path[0] == '\0')
		return;
	if (access(path, X_OK) == 0)
		doctor_say(d, FINDING_OK, key, NULL, "%s can be started", path);
	else
		doctor_say(d, FINDING_FAILED, key, "install it, or name it in agent.conf", "%s: %s", path,
		    ls_strerror(errno, text, sizeof(text)));
}

static void
check_programs(struct doctor *d)
{
	check_program(d, "runner", d->config->runner);
	check_program(d, "fio", d->config->fio);
	check_program(d, "bonnie", d->config->bonnie);
	check_program(d, "iozone", d->config->iozone);
}

/* --- who this node is, and for whom ------------------------------------------------------------------------------------------ */

static void
check_certificate(struct doctor *d)
{
	static const char renew[] =
	    "renew it: lockstep node add NAME on the coordinator, then lockstep-agent enroll here";
	struct identity id;
	int64_t from, until, now = (int64_t)time(NULL);
	struct ls_err err;

	if (identity_from_cert_file(d->config->cert, &id, &from, &until, &err) != LS_OK ||
	    agent_check_identity(d->config, id.name, sizeof(id.name), &err) != LS_OK) {
		doctor_say(d, FINDING_FAILED, "certificate",
		    "lockstep node add NAME on the coordinator prints the command that gets one", "%s", err.text);
		return;
	}
	int64_t days = (until - now) / DAY_S;
	if (now > until)
		doctor_say(d, FINDING_FAILED, "certificate", renew, "that of node %s has ended %" PRId64 " days ago",
		    id.name, -days);
	else if (now < from)
		doctor_say(d, FINDING_FAILED, "certificate", "set the clock (timedatectl), or wait",
		    "that of node %s is not valid yet: this clock is %" PRId64 " s before its time", id.name,
		    from - now);
	else if (days < SOON_DAYS)
		doctor_say(d, FINDING_WARNING, "certificate", renew, "that of node %s ends in %" PRId64 " days",
		    id.name, days);
	else
		doctor_say(
		    d, FINDING_OK, "certificate", NULL, "node %s, valid for another %" PRId64 " days", id.name, days);
}

static void
check_coordinator(struct doctor *d)
{
	struct ls_err err;

	if (d->config->coordinator[0] == '\0')
		return; /* the configuration has been told */
	if (doctor_dial(d->config, &err) == LS_OK)
		doctor_say(d, FINDING_OK, "coordinator", NULL, "%s lets this node in", d->config->coordinator);
	else
		doctor_say(d, FINDING_FAILED, "coordinator",
		    "does lockstepd run there, is its port open, was this certificate revoked? (lockstep pki list "
		    "there)",
		    "%s: %s", d->config->coordinator, err.text);
}

/* The running agent, or 0. */
static pid_t
check_agent(struct doctor *d)
{
	struct ls_err err;
	pid_t pid = 0;
	enum ls_rc rc = pidfile_signal(d->config->spool, 0, &pid, &err);

	if (rc == LS_OK)
		doctor_say(d, FINDING_OK, "agent", NULL, "runs, pid %d", (int)pid);
	else if (rc == LS_E_NOTFOUND)
		doctor_say(d, FINDING_WARNING, "agent",
		    "systemctl enable --now lockstep-agent; journalctl -u lockstep-agent", "%s", err.text);
	else
		doctor_say(d, FINDING_WARNING, "agent", "ask as root", "%s", err.text);
	return rc == LS_OK ? pid : 0;
}

/* --- the machine --------------------------------------------------------------------------------------------------------------- */

static void
check_spool(struct doctor *d)
{
	const char *dir = d->config->spool, *shared;
	struct dir_look seen;
	char text[96], room[32];
	struct ls_err err;

	if (doctor_look(dir, LOOK_LIMIT_NS, &seen, &err) != LS_OK) {
		doctor_say(d, FINDING_FAILED, "spool", "the spool belongs on a local disk (key spool)", "%s", err.text);
		return;
	}
	shared = doctor_shared_fs(seen.magic);
	units_format_size(seen.free_bytes, room, sizeof(room));
	if (seen.errnum != 0)
		doctor_say(d, FINDING_FAILED, "spool", "make it, for the agent's user (packages do)", "%s: %s", dir,
		    ls_strerror(seen.errnum, text, sizeof(text)));
	else if (shared != NULL)
		doctor_say(d, FINDING_FAILED, "spool", "the spool belongs on a local disk (key spool)",
		    "%s lies on %s, which machines share: when it hangs, results hang with it", dir, shared);
	else if (seen.free_bytes < SPOOL_LEAST)
		doctor_say(d, FINDING_FAILED, "spool", "make room: results wait there until the coordinator has them",
		    "%s has only %s free", dir, room);
	else if (seen.writable != 0)
		doctor_say(d, FINDING_WARNING, "spool",
		    "ask as the agent's user: sudo -u lockstep lockstep-agent doctor",
		    "%s cannot be written by this user: %s", dir, ls_strerror(seen.writable, text, sizeof(text)));
	else if (seen.free_bytes < SPOOL_ENOUGH)
		doctor_say(d, FINDING_WARNING, "spool", "long runs of many workers may need 1 GiB", "%s has %s free",
		    dir, room);
	else
		doctor_say(d, FINDING_OK, "spool", NULL, "%s lies on a local disk with %s free", dir, room);
}

/* The first two numbers of "6.1.0-40-amd64". */
static bool
kernel_version(const char *release, unsigned long *major, unsigned long *minor)
{
	char *end;

	*major = strtoul(release, &end, 10);
	if (end == release || *end != '.')
		return false;

	const char *second = end + 1;
	*minor = strtoul(second, &end, 10);
	return end != second;
}

static void
check_kernel(struct doctor *d)
{
	struct utsname u;
	unsigned long major, minor;

	if (uname(&u) != 0 || !kernel_version(u.release, &major, &minor))
		doctor_say(d, FINDING_WARNING, "kernel", NULL, "its version cannot be read");
	else if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		doctor_say(d, FINDING_WARNING, "kernel", "a newer kernel",
		    "%s is older than %d.%d: no openat2, io_uring in parts", u.release, KERNEL_MAJOR, KERNEL_MINOR);
	else
		doctor_say(d, FINDING_OK, "kernel", NULL, "%s", u.release);

	char source[64];
	if (facts_read_file(TIMESTAMP_CLOCK, source, sizeof(source)) == NULL)
		return;
	if (strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0)
		doctor_say(d, FINDING_WARNING, "clock", "see dmesg for why the kernel left tsc",
		    "read from %s: a reading costs about a microsecond, and each operation needs one", source);
	else
		doctor_say(d, FINDING_OK, "clock", NULL, "read from %s", source);
}

static void
check_io_uring(struct doctor *d)
{
	struct io_uring_params params = { 0 };
	char text[96], setting[16];
	long fd = syscall(__NR_io_uring_setup, 1, &params);

	if (fd >= 0) {
		close((int)fd);
		doctor_say(d, FINDING_OK, "io_uring", NULL, "can be used");
		return;
	}
	int errnum = errno;
	bool off = facts_read_file(URING_SWITCH, setting, sizeof(setting)) != NULL && strcmp(setting, "0") != 0;
	doctor_say(d, FINDING_WARNING, "io_uring",
	    off ? "sysctl kernel.io_uring_disabled=0, if jobs shall use engine io_uring"
		: "jobs with engine io_uring are refused here; sync and libaio work",
	    "cannot be used: %s",
	    off ? "switched off (kernel.io_uring_disabled)" : ls_strerror(errnum, text, sizeof(text)));
}

/* Of the running agent where there is one, whose limits come from its unit. */
static void
check_limits(struct doctor *d, pid_t agent)
{
	struct rlimit files, locked;
	const char *whose = agent != 0 ? "the agent" : "this shell (the unit sets its own)";
	char size[32];

	if (prlimit(agent, RLIMIT_NOFILE, NULL, &files) != 0 || prlimit(agent, RLIMIT_MEMLOCK, NULL, &locked) != 0) {
		doctor_say(d, FINDING_WARNING, "limits", "ask as root", "those of the agent cannot be read");
		return;
	}
	if (files.rlim_cur < FILES_ENOUGH)
		doctor_say(d, agent != 0 ? FINDING_WARNING : FINDING_OK, "open files",
		    agent != 0 ? "LimitNOFILE=65536 in a drop-in of lockstep-agent.service" : NULL,
		    "%s may have %llu open", whose, (unsigned long long)files.rlim_cur);
	else
		doctor_say(d, FINDING_OK, "open files", NULL, "%s may have %llu open", whose,
		    (unsigned long long)files.rlim_cur);
	if (locked.rlim_cur == RLIM_INFINITY)
		doctor_say(d, FINDING_OK, "locked memory", NULL, "no limit for %s", whose);
	else
		doctor_say(d, agent != 0 ? FINDING_WARNING : FINDING_OK, "locked memory",
		    agent != 0 ? "LimitMEMLOCK=infinity in a drop-in: io_uring needs it on kernels before 5.12" : NULL,
		    "%s may lock %s", whose, units_format_size((uint64_t)locked.rlim_cur, size, sizeof(size)));
}

/* --- the volume, only when asked to ---------------------------------------------------------------------------------------------- */

static void
check_volume(struct doctor *d)
{
	struct dir_look seen;
	char text[96], name[32], room[32];
	struct ls_err err;

	if (d->volume == NULL)
		return;
	if (allow_check(d->config->allow, d->config->allow_count, d->volume, &err) != LS_OK)
		doctor_say(d, FINDING_WARNING, "volume", "add it to agent.conf: allow = DIR", "%s", err.text);
	if (doctor_look(d->volume, LOOK_LIMIT_NS, &seen, &err) != LS_OK) {
		doctor_say(d, FINDING_FAILED, "volume", "dmesg; the state of the cluster, its network, its storage",
		    "%s", err.text);
		return;
	}
	if (seen.errnum != 0)
		doctor_say(d, FINDING_FAILED, "volume", "mount it; make the directory once", "%s: %s", d->volume,
		    ls_strerror(seen.errnum, text, sizeof(text)));
	else if (seen.writable != 0)
		doctor_say(d, FINDING_FAILED, "volume",
		    "give it to the agent's user once: install -d -o lockstep -g lockstep DIR",
		    "%s cannot be written by this user: %s", d->volume, ls_strerror(seen.writable, text, sizeof(text)));
	else
		doctor_say(d, FINDING_OK, "volume", NULL, "%s is %s with %s free", d->volume,
		    doctor_fs_name(seen.magic, name, sizeof(name)),
		    units_format_size(seen.free_bytes, room, sizeof(room)));
}

/* --- the command ------------------------------------------------------------------------------------------------------------------ */

static const struct option_row own[] = CONF_OWN_OPTION("volume", "DIR", "look at this directory on a volume, too");

static int
usage(void)
{
	(void)fputs(
	    "usage: lockstep-agent doctor [--config FILE] [--set KEY=VALUE ...] [--volume DIR]\n"
	    "\n"
	    "Looks whether this node is fit to take part in runs: configuration, certificate, coordinator, spool, "
	    "allowed\n"
	    "directories, limits, io_uring, kernel. Each finding is a line: ok, warning or failed, with what to do.\n"
	    "No volume is touched, unless --volume names a directory on one: then a process of its own looks at it, "
	    "and is\n"
	    "given up after 10 s. Ends with 0 when nothing failed, with 1 when something did.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep-agent doctor\n"
	    "  lockstep-agent doctor -q                 only what failed; -v: with the configuration in force\n"
	    "  sudo -u lockstep lockstep-agent doctor --volume /mnt/shared/bench\n",
	    stdout);
	(void)fputs("\noptions:\n", stdout);
	conf_args_help(own, stdout);
	return EXIT_SUCCESS;
}

static int
examine(const struct agent_config *config, const struct conf_args *args)
{
	struct doctor d = { .config = config, .volume = args->own, .quiet = args->quiet };

	if (args->verbose)
		conf_print(AGENT_CONFIG_SECTION, &agent_config_desc, config, false, stdout);

	check_config(&d);
	check_allow(&d);
	check_programs(&d);
	check_certificate(&d);
	check_coordinator(&d);
	pid_t agent = check_agent(&d);
	check_spool(&d);
	check_kernel(&d);
	check_io_uring(&d);
	check_limits(&d, agent);
	check_volume(&d);
	if (!d.quiet)
		printf("%u ok, %u warnings, %u failed\n", d.count[FINDING_OK], d.count[FINDING_WARNING],
		    d.count[FINDING_FAILED]);
	return d.count[FINDING_FAILED] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
complain(const struct ls_err *err, int status)
{
	(void)fprintf(stderr, "lockstep-agent: doctor: %s\n", err->text);
	return status;
}

int
doctor_main(int argc, char **argv)
{
	struct conf_args args;
	struct agent_config config;
	struct ls_err err;
	int status;

	if (conf_args_parse(argc, argv, own, NULL, &args, &err) != LS_OK)
		return complain(&err, EXIT_USAGE);
	if (args.help) {
		status = usage();
	} else if (args.own != NULL && args.own[0] != '/') {
		ls_err_set(&err, LS_E_INVALID, "--volume %s: must be an absolute path", args.own);
		status = complain(&err, EXIT_USAGE);
	} else if (agent_config_load(&args, &config, &err) != LS_OK) {
		status = complain(&err, EXIT_FAILURE);
	} else {
		status = examine(&config, &args);
		agent_config_fini(&config);
	}
	conf_args_fini(&args);
	return status;
}
