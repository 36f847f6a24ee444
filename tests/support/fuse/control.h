/*
 * The way by which a test tells the volume what to do: lines over a Unix socket, one answer a line ("ok" or "error WHY").
 *
 *   hold|fail|delay|short|tear|flip|lose CALL [errno=EIO] [ms=N] [bytes=N] [name=GLOB] [skip=N] [after=BYTES] [count=N] [permille=N]
 *   mode NAME on|off|MS   (incoherent.h)
 *   release               held calls go on, nothing is held any more
 *   clear                 no rules, no modes; held calls go on
 *   held                  "ok N" and N lines "CALL MS PATH"
 *   calls                 "ok N" and N lines "CALL COUNT"
 */
#ifndef LS_TESTS_FUSE_CONTROL_H
#define LS_TESTS_FUSE_CONTROL_H

#include <stdio.h>

/* Does one line (changed by the parsing) and writes its answer. */
void control_line(char *line, FILE *out);

/* Listens on a Unix socket of that path. Returns the descriptor, or -1 with errno. */
int control_listen(const char *path);

/* Serves connections one after the other, for ever. */
void control_serve(int listener);

#endif
