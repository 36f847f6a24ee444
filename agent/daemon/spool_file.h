/*
 * The spool's file: records one after the other, each whole or not there at all. Synchronous; the caller says on which thread.
 *
 * A record is a header of 12 bytes (magic, length, CRC-32 of the text, big-endian) and its text.
 */
#ifndef LS_AGENT_DAEMON_SPOOL_FILE_H
#define LS_AGENT_DAEMON_SPOOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define SPOOL_RECORD_MAX (64U << 20) /* bytes of text */

struct spool_file {
	int fd;
	uint64_t end; /* where the next record goes */
};

/* Opens or makes it (mode 0600, close-on-exec). Errors: LS_E_SYS. */
enum ls_rc spool_file_open(const char *path, struct spool_file *out, struct ls_err *err) LS_MUST_CHECK;
void spool_file_close(struct spool_file *file);

/* A record's text, borrowed for the call, NUL-terminated. */
typedef void (*spool_record_fn)(const char *text, size_t len, void *arg);

/*
 * Calls fn for each whole record and sets the end behind the last one. torn: bytes behind it that are no record (a write
 * that was cut off); the next append overwrites them. Errors: LS_E_SYS.
 */
enum ls_rc spool_file_replay(
    struct spool_file *file, spool_record_fn fn, void *arg, uint64_t *torn, struct ls_err *err) LS_MUST_CHECK;

/*
 * Writes a record at the end and waits until it is on the disk (fdatasync). After an error the end stays where it was.
 * Errors: LS_E_SYS, LS_E_LIMIT.
 */
enum ls_rc spool_file_append(struct spool_file *file, const char *text, size_t len, struct ls_err *err) LS_MUST_CHECK;

/* Forgets all records. Errors: LS_E_SYS. */
enum ls_rc spool_file_empty(struct spool_file *file, struct ls_err *err) LS_MUST_CHECK;

#endif
