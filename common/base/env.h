/*
 * The environment of this process. It is read only: our programs set variables, if at all, before their first thread exists.
 */
#ifndef LS_COMMON_BASE_ENV_H
#define LS_COMMON_BASE_ENV_H

/* The value of a variable; NULL when it is not set or empty. Borrowed for good. Any thread. */
const char *ls_env(const char *name);

#endif
