#include "coordinator/daemon/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/daemon/check_int.h"

/* When a row is looked at. */
enum when {
	ALWAYS,
	ASKED, /* only for who asks: before a run each phase's own gates tell, or it is no reason to doubt the run */
};

static const struct check_def {
	const char *name;
	void (*look)(struct check_report *r);
	enum when when;
} rows[] = {
	{ "path", check_row_path, ALWAYS },
	{ "lockstep build", check_row_build, ALWAYS },
	{ "kernel", check_row_kernel, ALWAYS },
	{ "one volume", check_row_one_volume, ALWAYS },
	{ "expected file system", check_row_expected, ALWAYS },
	{ "file system", check_row_fs_type, ALWAYS },
	{ "file system id", check_row_fs_id, ALWAYS },
	{ "volume size", check_row_size, ALWAYS },
	{ "store", check_row_store, ALWAYS },
	{ "space", check_row_space, ASKED },
	{ "inodes", check_row_inodes, ASKED },
	{ "fill level", check_row_fill, ALWAYS },
	{ "mount options", check_row_options, ALWAYS },
	{ "mount option", check_row_option_notes, ALWAYS },
	{ "fcntl locks", check_row_fcntl, ASKED },
	{ "flock locks", check_row_flock, ASKED },
	{ "cluster", check_row_cluster, ALWAYS },
	{ "cluster state", check_row_cluster_state, ALWAYS },
	{ "device", check_row_device, ALWAYS },
	{ "iscsi", check_row_session, ALWAYS },
	{ "direct I/O", check_row_direct, ASKED },
	{ "io_uring", check_row_io_uring, ASKED },
	{ "libaio", check_row_libaio, ASKED },
	{ "coordinator", check_row_coordinator, ASKED },
	{ "clock", check_row_clock, ASKED },
	{ "memory", check_row_memory, ASKED },
	{ "governor", check_row_governor, ALWAYS },
	{ "swap", check_row_swap, ASKED },
	{ "load", check_row_load, ASKED },
	{ "external programs", check_row_tools, ALWAYS },
};

void
check_say(struct check_report *r, enum check_level level, const char *node, const char *fmt, ...)
{
	char text[CHECK_TEXT];
	struct check_row row = {
		.check = (char *)(uintptr_t)r->check,
		.node = (char *)(uintptr_t)node,
		.level = (int)level,
		.text = text,
	};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (level > r->worst)
		r->worst = level;
	r->fn(&row, r->arg);
}

bool
check_fs_is(const char *expected, const char *actual)
{
	return strcmp(expected, actual) == 0 || (strcmp(expected, "nfs") == 0 && strcmp(actual, "nfs4") == 0);
}

enum check_level
check_nodes(const struct check_input *in, check_fn fn, void *arg)
{
	struct check_report r = { .in = in, .fn = fn, .arg = arg, .worst = CHECK_OK };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (in->before_run && rows[i].when == ASKED)
			continue;
		r.check = rows[i].name;
		rows[i].look(&r);
	}
	return r.worst;
}
