/*
 * Unmounts a file system and mounts it again, by its entry in fstab: what the machine has cached of it is gone then.
 */
#ifndef LS_AGENT_HELPER_REMOUNT_H
#define LS_AGENT_HELPER_REMOUNT_H

#include "agent/helper/config.h"

/*
 * path must be in the configuration's list, letter by letter; reached without a symbolic link and only through directories that nobody
 * but root may change; the mount point of exactly one mount, which fstab has under that name and type; and not in a mount namespace of
 * this process's own. Nothing is forced: a file system in use stays as it is. Afterwards it has the same options as before, or that is an
 * error. umount and mount run without a shell, one such request at a time (lock: a file of root's, made when it is not there).
 * Errors: LS_E_REFUSED before anything was done; LS_E_SYS, LS_E_TIMEOUT, LS_E_STATE with what umount or mount said.
 */
enum ls_rc remount(
    const struct helper_config *config, const char *path, const char *lock, struct ls_err *err) LS_MUST_CHECK;

#endif
