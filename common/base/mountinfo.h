/*
 * Reads the text of /proc/PID/mountinfo: which mount has this id. Pure: text in, struct out.
 */
#ifndef LS_COMMON_BASE_MOUNTINFO_H
#define LS_COMMON_BASE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

struct mount_entry {
	int id;
	unsigned major, minor; /* of the files' st_dev; major 0: no block device of its own */
	char *mount_point;     /* all strings owned, escapes undone */
	char *options;         /* of the mount: "rw,noatime" */
	char *fs_type;
	char *source;
	char *super_options; /* of the file system below it */
	bool slave; /* what is done to another mount happens here too, and not the reverse: a private namespace */
};

/*
 * Finds the mount with that id in len bytes of text. Lines that are not well-formed are passed over.
 * out: filled on success; mount_entry_fini ends it. Errors: LS_E_NOTFOUND.
 * Source of the form: proc(5), "/proc/pid/mountinfo"; the escapes are octal (\040 for a blank).
 */
enum ls_rc mountinfo_find(
    const char *text, size_t len, int mount_id, struct mount_entry *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * Finds what is mounted on that directory. Returns how many mounts there are, 0: none; out: the last, which covers the others,
 * ended by mount_entry_fini; untouched when there is none.
 */
size_t mountinfo_find_point(const char *text, size_t len, const char *mount_point, struct mount_entry *out);

/* Options of the mount, then those of the file system that are not among them, separated by commas. Owned by the caller. */
char *mountinfo_options(const struct mount_entry *entry);

/* Frees the strings. entry may be zeroed. */
void mount_entry_fini(struct mount_entry *entry);

#endif
