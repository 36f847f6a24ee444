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
	void (*look)(struct check_report *r); /* NULL: a warning where the nodes differ in what describe tells */
	enum when when;
	check_describe_fn describe;
} rows[] = {
	{ "path", check_row_path, ALWAYS, NULL },
	{ "lockstep build", check_row_build, ALWAYS, NULL },
	{ "kernel", NULL, ALWAYS, check_describe_kernel },
	{ "one volume", check_row_one_volume, ALWAYS, NULL },
	{ "expected file system", check_row_expected, ALWAYS, NULL },
	{ "file system", NULL, ALWAYS, check_describe_type },
	{ "file system id", NULL, ALWAYS, check_describe_id },
	{ "volume size", NULL, ALWAYS, check_describe_size },
	{ "store", check_row_store, ALWAYS, NULL },
	{ "space", check_row_space, ASKED, NULL },
	{ "inodes", check_row_inodes, ASKED, NULL },
	{ "fill level", check_row_fill, ALWAYS, NULL },
	{ "mount options", NULL, ALWAYS, check_describe_options },
	{ "mount option", check_row_option_notes, ALWAYS, NULL },
	{ "fcntl locks", check_row_fcntl, ASKED, NULL },
	{ "flock locks", check_row_flock, ASKED, NULL },
	{ "cluster", NULL, ALWAYS, check_describe_cluster },
	{ "cluster state", check_row_cluster_state, ALWAYS, NULL },
	{ "device", NULL, ALWAYS, check_describe_device },
	{ "iscsi", check_row_session, ALWAYS, NULL },
	{ "direct I/O", check_row_direct, ASKED, NULL },
	{ "io_uring", check_row_io_uring, ASKED, NULL },
	{ "libaio", check_row_libaio, ASKED, NULL },
	{ "coordinator", check_row_coordinator, ASKED, NULL },
	{ "clock", check_row_clock, ASKED, NULL },
	{ "memory", check_row_memory, ASKED, NULL },
	{ "governor", NULL, ALWAYS, check_describe_governor },
	{ "swap", check_row_swap, ASKED, NULL },
	{ "load", check_row_load, ASKED, NULL },
	{ "external programs", check_row_tools, ALWAYS, NULL },
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
		if (rows[i].look != NULL)
			rows[i].look(&r);
		else
			check_compare(&r, rows[i].describe, CHECK_WARNING);
	}
	return r.worst;
}
