/*
 * Removing what the engine made, for the engine itself; engine.h has what others may call.
 */
#ifndef LS_AGENT_ENGINE_CLEAN_H
#define LS_AGENT_ENGINE_CLEAN_H

#include <stdbool.h>

/*
 * Removes a directory right below dir_fd and what is in it, directories of files included. One that is not there is fine.
 * False with errno when it stays.
 */
bool clean_tree(int dir_fd, const char *name);

#endif
