#include "agent/helper/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/pathname.h"

#include "common/base/field_table.h"
#include "agent/helper/config.def"
#include "common/base/field_undef.h"

static const char default_file[] = LS_SYSCONFDIR "/lockstep/helper.conf";

enum ls_rc
helper_config_trusted(const char *path, struct ls_err *err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return ls_err_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && strcmp(path, "/dev/null") != 0)
		return ls_err_set(err, LS_E_REFUSED, "%s: neither a file nor a directory", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return ls_err_set(err, LS_E_REFUSED, "%s: belongs to uid %u, not to root", path, st.st_uid);
	if ((st.st_mode & 022) != 0 && S_ISREG(st.st_mode))
		return ls_err_set(err, LS_E_REFUSED, "%s: others than root may write to it", path);
	/* Who may only add to a directory cannot take the place of what is root's in it. */
	if ((st.st_mode & 022) != 0 && S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) == 0)
		return ls_err_set(err, LS_E_REFUSED, "%s: others than root may write to it", path);
	return LS_OK;
}

/* A drop-in that others may add, remove or change is no configuration of root's. */
static enum ls_rc
check_drop_ins(const char *file, struct ls_err *err)
{
	char *folder = ls_asprintf("%s.d", file);
	enum ls_rc rc = LS_OK;
	const struct dirent *entry;
	DIR *dir = opendir(folder);

	if (dir == NULL)
		goto out; /* conf_load says why, if it matters */
	rc = helper_config_trusted(folder, err);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while (rc == LS_OK && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;

		char *path = ls_asprintf("%s/%s", folder, entry->d_name);

		rc = helper_config_trusted(path, err);
		free(path);
	}
	closedir(dir);
out:
	free(folder);
	return rc;
}

/* The file, the directory that it lies in, and what is read after it. */
static enum ls_rc
check_files(const char *file, struct ls_err *err)
{
	const char *slash = strrchr(file, '/');
	char *folder = slash == NULL ? ls_strdup(".") : ls_strndup(file, LS_MAX((size_t)(slash - file), (size_t)1));
	enum ls_rc rc = helper_config_trusted(folder, err);

	if (rc == LS_OK)
		rc = helper_config_trusted(file, err);
	if (rc == LS_OK)
		rc = check_drop_ins(file, err);
	free(folder);
	return rc;
}

static enum ls_rc
check_values(const struct helper_config *c, struct ls_err *err)
{
	for (size_t i = 0; i < c->remount_count; i++) {
		const char *why = pathname_fault(c->remount[i]);

		if (why == NULL && strlen(c->remount[i]) > HELPER_PATH_MAX)
			why = "the path is too long";
		if (why == NULL && (c->remount[i][1] == '\0' || c->remount[i][strlen(c->remount[i]) - 1] == '/'))
			why = "neither / nor a slash at the end";
		if (why != NULL)
			return ls_err_set(err, LS_E_INVALID, "remount: %s: %s", c->remount[i], why);
	}
	if (pathname_fault(c->sys) != NULL)
		return ls_err_set(err, LS_E_INVALID, "sys: %s: %s", c->sys, pathname_fault(c->sys));
	if (pathname_fault(c->fstab) != NULL)
		return ls_err_set(err, LS_E_INVALID, "fstab: %s: %s", c->fstab, pathname_fault(c->fstab));
	return LS_OK;
}

enum ls_rc
helper_config_load(const struct conf_args *args, struct helper_config *out, struct ls_err *err)
{
	const char *file = args->file != NULL ? args->file : access(default_file, F_OK) == 0 ? default_file : NULL;
	struct helper_config c;
	enum ls_rc rc = LS_OK;

	if (file != NULL)
		rc = check_files(file, err);
	if (rc == LS_OK)
		rc = conf_args_load(args, default_file, HELPER_CONFIG_SECTION, &helper_config_desc, &c, err);
	if (rc != LS_OK)
		return rc;
	rc = check_values(&c, err);
	if (rc != LS_OK) {
		field_struct_fini(&helper_config_desc, &c);
		return rc;
	}
	*out = c;
	return LS_OK;
}

void
helper_config_print_help(FILE *out)
{
	(void)fputs(
	    "lockstep-helper: does for lockstep-agent what only root can do, and only what helper.conf allows\n"
	    "\n"
	    "  lockstep-helper [--config FILE] [--set KEY=VALUE ...]   serves the connection that it is started with\n"
	    "                                                          (lockstep-helper.socket)\n"
	    "\n",
	    out);
	conf_args_help(NULL, out);
	(void)fputs("\n"
		    "Examples:\n"
		    "  systemctl enable --now lockstep-helper.socket\n"
		    "  lockstep-helper --print-config > /etc/lockstep/helper.conf\n"
		    "\n"
		    "Keys of the configuration (section [" HELPER_CONFIG_SECTION "]):\n",
	    out);
	for (size_t i = 0; i < helper_config_desc.field_count; i++)
		(void)fprintf(
		    out, "  %-16s %s\n", helper_config_desc.fields[i].name, helper_config_desc.fields[i].help);
}
