#include "agent/helper/remount.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/command.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/mountinfo.h"
#include "common/base/sink.h"

#define MOUNT_TRIES 3 /* a cluster may not have seen yet that this node has left */

static enum ls_rc
check_list(const struct helper_config *config, const char *path, struct ls_err *err)
{
	for (size_t i = 0; i < config->remount_count; i++)
		if (strcmp(config->remount[i], path) == 0)
			return LS_OK;
	return ls_err_set(err, LS_E_REFUSED, "%s: not named by the key \"remount\" of helper.conf", path);
}

/* Each directory on the way is what it seems, and only root can put another one in its place. The mount point itself may be anybody's. */
static enum ls_rc
check_way(const char *path, struct ls_err *err)
{
	char *way = ls_strdup(path);
	enum ls_rc rc = helper_config_trusted("/", err);

	for (char *slash = strchr(way + 1, '/'); rc == LS_OK && slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		rc = helper_config_trusted(way, err);
		*slash = '/';
	}
	free(way);
	return rc;
}

static enum ls_rc
read_mounts(struct sink *out, struct ls_err *err)
{
	char piece[4096];
	ssize_t n;
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return ls_err_sys(err, errno, "/proc/self/mountinfo");
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		sink_add(out, piece, (size_t)n);
	close(fd);
	return n == 0 ? LS_OK : ls_err_sys(err, errno, "/proc/self/mountinfo");
}

/* The one mount there; the caller ends it. */
static enum ls_rc
find_mount(const char *path, struct mount_entry *out, struct ls_err *err)
{
	struct sink text = { 0 };
	enum ls_rc rc = read_mounts(&text, err);
	size_t found = rc == LS_OK && text.len > 0 ? mountinfo_find_point(text.text, text.len, path, out) : 0;

	sink_free(&text);
	if (rc != LS_OK)
		return rc;
	if (found == 0)
		return ls_err_set(
		    err, LS_E_REFUSED, "%s: nothing is mounted there, or by way of a symbolic link", path);
	if (found == 1)
		return LS_OK;
	mount_entry_fini(out);
	return ls_err_set(err, LS_E_REFUSED, "%s: %zu mounts lie over each other there", path, found);
}

/* Has fstab one entry for it, of the kind that is mounted? */
static enum ls_rc
check_fstab(const struct helper_config *config, const char *path, const char *fs_type, struct ls_err *err)
{
	struct mntent entry;
	char text[4096];
	size_t found = 0;
	bool same = true;
	enum ls_rc rc = helper_config_trusted(config->fstab, err);
	FILE *in = rc == LS_OK ? setmntent(config->fstab, "re") : NULL;

	if (rc != LS_OK)
		return rc;
	if (in == NULL)
		return ls_err_sys(err, errno, "%s", config->fstab);
	while (getmntent_r(in, &entry, text, (int)sizeof(text)) != NULL) {
		if (strcmp(entry.mnt_dir, path) != 0)
			continue;
		found++;
		same = strcmp(entry.mnt_type, fs_type) == 0 || strcmp(entry.mnt_type, "auto") == 0;
	}
	endmntent(in);
	if (found != 1)
		return ls_err_set(
		    err, LS_E_REFUSED, "%s: %s has %zu entries for it, not one", path, config->fstab, found);
	if (!same)
		return ls_err_set(
		    err, LS_E_REFUSED, "%s: %s is mounted there, %s says otherwise", path, fs_type, config->fstab);
	return LS_OK;
}

static enum ls_rc
check(const struct helper_config *config, const char *path, struct mount_entry *out, struct ls_err *err)
{
	enum ls_rc rc = check_list(config, path, err);

	*out = (struct mount_entry){ 0 };
	if (rc == LS_OK)
		rc = check_way(path, err);
	if (rc == LS_OK)
		rc = find_mount(path, out, err);
	if (rc != LS_OK)
		return rc;
	rc = check_fstab(config, path, out->fs_type, err);
	/* Here an unmount would unmount nothing but this process's own view. */
	if (rc == LS_OK && out->slave)
		rc = ls_err_set(err, LS_E_REFUSED,
		    "%s: the helper has mounts of its own here, so it cannot unmount the machine's; its unit needs the "
		    "drop-in "
		    "lockstep-helper-remount.conf",
		    path);
	if (rc != LS_OK)
		mount_entry_fini(out);
	return rc;
}

static enum ls_rc
mount_again(const struct helper_config *config, const char *path, struct ls_err *err)
{
	const char *const argv[] = { "mount", "--fstab", config->fstab, "--", path, NULL };
	const struct timespec pause = { .tv_sec = 1 };
	enum ls_rc rc = LS_E_STATE;

	for (int i = 0; i < MOUNT_TRIES && rc != LS_OK; i++) {
		if (i > 0)
			(void)nanosleep(&pause, NULL);
		rc = command_run(argv, config->remount_timeout, err);
	}
	if (rc != LS_OK)
		ls_err_wrap(err, "%s is NOT MOUNTED any more", path);
	return rc;
}

static enum ls_rc
check_same(const char *path, const struct mount_entry *before, struct ls_err *err)
{
	struct mount_entry after;
	enum ls_rc rc = find_mount(path, &after, err);

	if (rc != LS_OK)
		return rc;
	char *was = mountinfo_options(before), *is = mountinfo_options(&after);
	if (strcmp(was, is) != 0)
		rc = ls_err_set(
		    err, LS_E_STATE, "%s: was mounted with %.300s, by fstab it is now with %.300s", path, was, is);
	free(was);
	free(is);
	mount_entry_fini(&after);
	return rc;
}

static enum ls_rc
take_lock(const char *lock, int *out_fd, struct ls_err *err)
{
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", lock);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*out_fd = fd;
		return LS_OK;
	}
	close(fd);
	return ls_err_set(err, LS_E_REFUSED, "another remount is under way");
}

enum ls_rc
remount(const struct helper_config *config, const char *path, const char *lock, struct ls_err *err)
{
	const char *const unmount[] = { "umount", "--", path, NULL };
	struct mount_entry before;
	char shown[512];
	int lock_fd = -1;
	enum ls_rc rc = check(config, path, &before, err);

	if (rc != LS_OK)
		return rc;
	rc = take_lock(lock, &lock_fd, err);
	if (rc != LS_OK)
		goto out;
	rc = command_run(unmount, config->remount_timeout, err);
	if (rc == LS_OK)
		rc = mount_again(config, path, err);
	if (rc == LS_OK)
		rc = check_same(path, &before, err);
	close(lock_fd);
	ls_log(rc == LS_OK ? LS_LOG_INFO : LS_LOG_ERROR, "remount", "path=\"%s\" outcome=%s",
	    ls_log_escape(path, shown, sizeof(shown)), ls_rc_name(rc));
out:
	mount_entry_fini(&before);
	return rc;
}
