#include "agent/daemon/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/version.h"

#define LATENESS_SLEEPS 16
#define LATENESS_SLEEP  (300 * NS_PER_US)
#define SPIN_MIN        (200 * NS_PER_US)
#define SPIN_MAX        (2 * NS_PER_MS)

char *
facts_read_file(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return NULL;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

/* Text that goes into JSON: ASCII, at most max bytes. */
static char *
clean_text(const char *text, size_t max)
{
	char *copy = ls_strndup(text, max);
	for (char *p = copy; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return copy;
}

/* The value of the first line "key<separator>value" of a text file; heap, or NULL. */
static char *
line_value(const char *path, const char *key, const char *separators, size_t max)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return NULL;

	char line[512], *found = NULL;
	size_t n = strlen(key);
	while (!found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) != 0 || !line[n] || !strchr(separators, line[n]))
			continue;
		char *value = line + n + strspn(line + n, separators);
		value[strcspn(value, "\"\n")] = '\0';
		found = clean_text(value, max);
	}
	(void)fclose(f);
	return found;
}

static uint64_t
memory_bytes(void)
{
	/* systemd's ProcSubset=pid hides /proc/meminfo; sysconf asks the kernel another way. */
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	if (pages <= 0 || size <= 0)
		return LS_UNKNOWN_U64;
	return (uint64_t)pages * (uint64_t)size;
}

void
facts_collect(int64_t wakeup_lateness_ns, struct node_facts *out)
{
	struct utsname uts;
	char buf[256];

	if (uname(&uts) == 0) {
		out->hostname = clean_text(uts.nodename, 255);
		out->kernel = clean_text(uts.release, 128);
		out->arch = clean_text(uts.machine, 32);
	}
	out->os = line_value("/etc/os-release", "PRETTY_NAME", "=\"", 128);
	out->cpu_model = line_value("/proc/cpuinfo", "model name", "\t: ", 128);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (cpus > 0)
		out->cpus = (uint64_t)cpus;
	out->memory_bytes = memory_bytes();
	if (facts_read_file("/proc/sys/kernel/random/boot_id", buf, sizeof(buf)))
		out->boot_id = clean_text(buf, 64);
	out->version = ls_strdup(lockstep_version);
	out->build = ls_strdup(lockstep_build);
	out->wakeup_lateness_ns = wakeup_lateness_ns;
}

int64_t
facts_wakeup_lateness_ns(void)
{
	int64_t worst = 0;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	for (int i = 0; i < LATENESS_SLEEPS; i++) {
		struct ls_mono until = { ls_mono_now().ns + LATENESS_SLEEP };
		ls_mono_sleep_until(until);
		int64_t late = ls_mono_now().ns - until.ns;
		if (late > worst)
			worst = late;
	}
	prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); /* back to the default */
	return worst;
}

int64_t
facts_spin_ns(int64_t wakeup_lateness_ns)
{
	return LS_MIN(LS_MAX(2 * wakeup_lateness_ns, SPIN_MIN), SPIN_MAX);
}
