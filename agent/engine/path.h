/*
 * Opening things below a directory without ever leaving it: no symbolic links, no "..", no other file system. Any thread.
 */
#ifndef LS_AGENT_ENGINE_PATH_H
#define LS_AGENT_ENGINE_PATH_H

#include <sys/types.h>

/* Room for every path that the engine makes, relative to the run's directory. */
#define PATH_MAX_REL 96

/*
 * open(2) of rel below dir_fd with O_CLOEXEC and O_NOFOLLOW. openat2 where the kernel has it (5.6), else component by
 * component (which then cannot tell bind mounts of the same file system). With O_CREAT and without O_EXCL a file that another node
 * makes at the same time is opened, also where the file system answers EEXIST (OCFS2). Returns a descriptor or -1 with errno.
 */
int path_open(int dir_fd, const char *rel, int flags, mode_t mode);

/* mkdir of a name right below dir_fd; one that is there already is fine. 0, or -1 with errno. */
int path_mkdir(int dir_fd, const char *name);

#endif
