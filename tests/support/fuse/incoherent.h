/*
 * How a cluster file system that does not hold its promises looks to one node: several mounts of one backing directory, each of which
 * believes what it saw, made or locked itself. Each mode is a number, 0 is off. All functions may be called by any thread.
 */
#ifndef LS_TESTS_FUSE_INCOHERENT_H
#define LS_TESTS_FUSE_INCOHERENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* MODE(identifier, name): what a mount does wrong. Those with "ms" keep up their error for so long, UINT64_MAX is for ever. */
#define INCOHERENT_MODES(MODE)                                                                                         \
	MODE(STALE_DATA, "stale-data")   /* ms: a block that was read once is answered from memory */                  \
	MODE(STALE_ATTR, "stale-attr")   /* ms: so are size and times of a file */                                     \
	MODE(LATE_NAMES, "late-names")   /* ms: what another mount made, renamed or linked is not there yet */         \
	MODE(STALE_NAMES, "stale-names") /* ms: a name that was opened once leads to the file that it was then */      \
	MODE(DOUBLE_EXCL, "double-excl") /* ms: as late-names, and O_EXCL makes such a file all the same */            \
	MODE(LOST_APPEND, "lost-append") /* O_APPEND writes behind what this mount has seen of the file */             \
	MODE(MADE_TWICE, "made-twice")   /* O_CREAT without O_EXCL: another has just made it, EEXIST */                \
	MODE(LOCAL_LOCKS, "local-locks") /* fcntl and flock locks exclude only who is on this mount */

enum incoherent_mode {
#define MODE(ID, name) INCOHERENT_##ID,
	INCOHERENT_MODES(MODE)
#undef MODE
	    INCOHERENT_MODE_COUNT
};

extern const char *const incoherent_mode_names[INCOHERENT_MODE_COUNT];

#define INCOHERENT_BLOCK 4096

void incoherent_set(enum incoherent_mode mode, uint64_t value);
uint64_t incoherent_get(enum incoherent_mode mode);

/* All modes off, all memory of files forgotten. */
void incoherent_clear(void);

/* This mount made, or removed, that name. */
void incoherent_made(const char *path);
void incoherent_removed(const char *path);

/* Is the name (with what stat says of it) to be denied? Notes it as known when it is not. */
bool incoherent_hides(const char *path, const struct stat *st);

/* Replaces size and times by those that were answered before, or notes these. */
void incoherent_attr(struct stat *st);

/* The file that this mount takes the name for, which fd was opened by: fd itself, or another one in its place. Or -1 with errno. */
int incoherent_open(const char *path, int fd, int flags);

/* pread of a file's fd through this mount's memory of it. Returns bytes or -errno. */
ssize_t incoherent_read(int fd, char *buf, size_t size, off_t offset);

/* Bytes that this mount wrote at offset: its memory of the file follows. */
void incoherent_wrote(int fd, const char *buf, size_t size, off_t offset);

/* Where this mount believes the end of the file to be, for an append of size bytes; the next is behind it. Or -errno. */
off_t incoherent_append_at(int fd, size_t size);

/*
 * A descriptor of its own (a new open file description) on which to take locks of the file: of the file itself, or of one that only this
 * mount knows. The caller closes it. Or -errno.
 */
int incoherent_lock_fd(int fd);

#endif
