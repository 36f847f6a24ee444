/*
 * Where runs may work: by the text of the path alone. The agent never looks a volume's path up; that what the path leads to
 * stays inside is the runner's part.
 */
#ifndef LS_AGENT_DAEMON_ALLOW_H
#define LS_AGENT_DAEMON_ALLOW_H

#include <stddef.h>

#include "common/base/err.h"

/*
 * May a run work in path? It must be an entry of the list or lie below one, at a component's boundary. A trailing slash
 * does not matter. Errors: LS_E_REFUSED, the sentence names the path and the configuration key. Pure.
 */
enum ls_rc allow_check(char *const *allow, size_t count, const char *path, struct ls_err *err) LS_MUST_CHECK;

/*
 * May a run read this raw device? The list must have it, letter by letter: links are another name, and not followed. Errors:
 * LS_E_REFUSED, the sentence names the device and the configuration key. Pure.
 */
enum ls_rc allow_device(char *const *devices, size_t count, const char *device, struct ls_err *err) LS_MUST_CHECK;

#endif
