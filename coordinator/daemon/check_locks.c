/* Mount options that matter for a measurement between nodes, and whether locks exclude other nodes. */
#include <stdio.h>
#include <string.h>

#include "coordinator/daemon/check_int.h"

enum option_match {
	SET,   /* the option is there, as it stands or with a value behind it */
	UNSET, /* it is not, nor is the one named after the bar */
};

/*
 * fs: types that the row is for. Several options can be asked to be absent: "noatime|ro".
 * Sources: the kernel's Documentation/filesystems/ocfs2.rst and gfs2.rst; mount.ocfs2(8), gfs2(5), nfs(5), mount(8).
 */
static const struct option_note {
	const char *fs, *option;
	enum option_match match;
	enum check_level level;
	bool shared_only; /* with several nodes on one volume */
	const char *text;
} notes[] = {
	{ "ocfs2", "coherency=buffered", SET, CHECK_WARNING, true,
	    "direct writes take no cluster lock: they run in parallel, and direct reads on other nodes may see stale "
	    "data" },
	{ "ocfs2", "coherency=full", SET, CHECK_OK, true,
	    "direct writes of several nodes to one file are serialised by a cluster lock" },
	{ "ocfs2 gfs2", "data=writeback", SET, CHECK_WARNING, false,
	    "data may reach the disk after the metadata that name them: fsync is cheaper, a crash may leave old data "
	    "in new files" },
	{ "ocfs2 gfs2", "data=ordered", SET, CHECK_OK, false,
	    "data reach the disk before the metadata that name them, also when a lock goes to another node" },
	{ "ocfs2", "localalloc=", SET, CHECK_OK, false,
	    "megabytes that a node takes from the common bitmap at once: more means fewer cluster locks while files "
	    "grow" },
	{ "ocfs2 gfs2", "noatime|relatime|ro", UNSET, CHECK_WARNING, true,
	    "each read may write an access time, for which the node needs the file's lock exclusively; noatime avoids "
	    "it" },
	{ "ocfs2 gfs2", "relatime", SET, CHECK_OK, true,
	    "the first read after a write writes an access time, for which the node needs the file's lock exclusively; "
	    "noatime avoids it" },
	{ "ocfs2", "usrquota", SET, CHECK_WARNING, false,
	    "user quotas: allocations change files that all nodes share" },
	{ "ocfs2", "grpquota", SET, CHECK_WARNING, false,
	    "group quotas: allocations change files that all nodes share" },
	{ "gfs2", "quota=on", SET, CHECK_WARNING, false, "quotas: allocations change a file that all nodes share" },
	{ "gfs2", "quota=account", SET, CHECK_WARNING, false,
	    "quota accounting: allocations change a file that all nodes share" },
	{ "gfs2", "lockproto=lock_nolock", SET, CHECK_FAILED, true,
	    "no locks between nodes: two nodes that mount the volume so destroy it" },
	{ "gfs2", "localflocks", SET, CHECK_WARNING, true,
	    "flock and fcntl locks exclude only processes on the same node" },
	{ "ocfs2", "localflocks", SET, CHECK_WARNING, true, "flock locks exclude only processes on the same node" },
	{ "ocfs2", "heartbeat=none", SET, CHECK_FAILED, true,
	    "mounted without a heartbeat: no other node may mount the volume" },
	{ "ocfs2 gfs2", "barrier=0", SET, CHECK_WARNING, false, "fsync does not flush the device's write cache" },
	{ "gfs2", "nobarrier", SET, CHECK_WARNING, false, "fsync does not flush the device's write cache" },
	{ "nfs nfs4", "local_lock=all", SET, CHECK_WARNING, true,
	    "flock and fcntl locks exclude only processes on the same node" },
	{ "nfs nfs4", "local_lock=posix", SET, CHECK_WARNING, true,
	    "fcntl locks exclude only processes on the same node" },
	{ "nfs nfs4", "local_lock=flock", SET, CHECK_WARNING, true,
	    "flock locks exclude only processes on the same node" },
	{ "nfs nfs4", "noac", SET, CHECK_WARNING, false,
	    "attributes are not cached and writes are synchronous: each stat asks the server" },
};

/* Is word in the list, whose words end with the separator? A word that ends with "=" stands for any value. */
static bool
has_word(const char *list, char separator, const char *word, size_t len)
{
	const char stops[] = { separator, '\0' };
	bool open = len > 0 && word[len - 1] == '=';

	for (;;) {
		size_t n = strcspn(list, stops);

		if (strncmp(list, word, len) == 0 && n >= len && (n == len || open))
			return true;
		if (list[n] == '\0')
			return false;
		list += n + 1;
	}
}

static bool
matches(const struct option_note *note, const char *options)
{
	const char *word = note->option;
	bool found = false;

	while (*word != '\0') {
		size_t n = strcspn(word, "|");

		found = found || has_word(options, ',', word, n);
		word += n + (word[n] == '|');
	}
	return found == (note->match == SET);
}

static bool
applies(const struct check_report *r, const struct option_note *note, const struct check_node *n)
{
	const struct volume_facts *v = check_volume(n);

	if (v == NULL || v->fs_type == NULL || v->mount_options == NULL)
		return false;
	if (note->shared_only && r->in->count < 2)
		return false;
	return has_word(note->fs, ' ', v->fs_type, strlen(v->fs_type)) && matches(note, v->mount_options);
}

/* "noatime" of "noatime|relatime|ro"; the whole option otherwise. */
static void
say_note(struct check_report *r, const struct option_note *note, const char *node)
{
	int len = (int)strcspn(note->option, "|=");

	if (note->match == UNSET)
		check_say(r, note->level, node, "without %.*s: %s", len, note->option, note->text);
	else
		check_say(r, note->level, node, "%s%s: %s", note->option,
		    note->option[strlen(note->option) - 1] == '=' ? "N" : "", note->text);
}

void
check_row_option_notes(struct check_report *r)
{
	for (size_t k = 0; k < ARRAY_LEN(notes); k++) {
		size_t found = 0;

		for (size_t i = 0; i < r->in->count; i++)
			found += applies(r, &notes[k], &r->in->nodes[i]);
		if (found == r->in->count && found > 0) {
			say_note(r, &notes[k], NULL);
			continue;
		}
		for (size_t i = 0; found > 0 && i < r->in->count; i++)
			if (applies(r, &notes[k], &r->in->nodes[i]))
				say_note(r, &notes[k], check_name(&r->in->nodes[i]));
	}
}

/* --- locks ------------------------------------------------------------------------------------------------------------------- */

static void
look_at_locks(struct check_report *r, const char *kind, enum lock_outcome (*get)(const struct check_node *n))
{
	size_t refused = 0;

	if (r->in->count < 2 || !r->in->nodes[0].verified)
		return;
	if (get(&r->in->nodes[0]) != LOCK_HELD) {
		check_say(r, CHECK_WARNING, check_name(&r->in->nodes[0]), "%s",
		    get(&r->in->nodes[0]) == LOCK_MISSING ? "missing: the file system has no such locks"
							  : "could not be tried");
		return;
	}
	for (size_t i = 1; i < r->in->count; i++) {
		const struct check_node *n = &r->in->nodes[i];

		if (get(n) == LOCK_REFUSED)
			refused++;
		else if (get(n) == LOCK_GRANTED)
			check_say(r, CHECK_WARNING, check_name(n),
			    "local to the node: it got a %s lock that %s holds; programs that rely on it between nodes "
			    "go wrong",
			    kind, check_name(&r->in->nodes[0]));
		else if (get(n) == LOCK_MISSING)
			check_say(r, CHECK_WARNING, check_name(n), "missing: the file system has no such locks here");
		else
			check_say(r, CHECK_WARNING, check_name(n), "could not be tried");
	}
	if (refused == r->in->count - 1)
		check_say(r, CHECK_OK, NULL, "cluster-wide: none of the other %zu nodes gets the %s lock that %s holds",
		    refused, kind, check_name(&r->in->nodes[0]));
}

static enum lock_outcome
get_fcntl(const struct check_node *n)
{
	return n->fcntl_lock;
}

static enum lock_outcome
get_flock(const struct check_node *n)
{
	return n->flock;
}

void
check_row_fcntl(struct check_report *r)
{
	look_at_locks(r, "fcntl", get_fcntl);
}

void
check_row_flock(struct check_report *r)
{
	look_at_locks(r, "flock", get_flock);
}
