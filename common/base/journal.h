/*
 * Entries for systemd's journal in its native protocol: a line of the log with fields of its own, so that
 * `journalctl RUN=...` finds it. Only the log uses this.
 */
#ifndef LS_COMMON_BASE_JOURNAL_H
#define LS_COMMON_BASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does descriptor fd lead to the journal? stream: what JOURNAL_STREAM says, "device:inode", or NULL. A program that was started with
 * the variable, but with another standard error, does not write there.
 */
bool journal_is_stream(int fd, const char *stream);

/* A socket to the journal, close-on-exec, or -1 when there is none. */
int journal_open(void);

/*
 * Writes the entry of a line into buf (len bytes), cut to whole fields, and returns its length. line: "message key=value ..."; the
 * values of run, node and phase become fields RUN, NODE and PHASE, without their quotes. No field can be smuggled in by a newline: it
 * becomes a blank. Pure.
 */
size_t journal_entry(char *buf, size_t len, int priority, const char *program, const char *line);

/* Sends an entry without waiting. False when the journal does not take it now. */
bool journal_send(int fd, const char *entry, size_t len);

#endif
