/*
 * What a test wants to happen to the calls of a volume: held until it says so, answered with an error, delayed, cut short, torn,
 * lost. A rule counts calls of one kind (and, when it names one, of the files that match); the first rule that applies to a call decides.
 * All functions may be called by any thread.
 */
#ifndef LS_TESTS_FUSE_RULES_H
#define LS_TESTS_FUSE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* CALL(identifier, name): the calls as the file system is asked for them */
#define VOLUME_CALLS(CALL)                                                                                             \
	CALL(GETATTR, "getattr")                                                                                       \
	CALL(ACCESS, "access")                                                                                         \
	CALL(READLINK, "readlink")                                                                                     \
	CALL(OPENDIR, "opendir")                                                                                       \
	CALL(READDIR, "readdir")                                                                                       \
	CALL(FSYNCDIR, "fsyncdir")                                                                                     \
	CALL(MKDIR, "mkdir")                                                                                           \
	CALL(RMDIR, "rmdir")                                                                                           \
	CALL(UNLINK, "unlink")                                                                                         \
	CALL(SYMLINK, "symlink")                                                                                       \
	CALL(LINK, "link")                                                                                             \
	CALL(RENAME, "rename")                                                                                         \
	CALL(CHMOD, "chmod")                                                                                           \
	CALL(CHOWN, "chown")                                                                                           \
	CALL(UTIMENS, "utimens")                                                                                       \
	CALL(TRUNCATE, "truncate")                                                                                     \
	CALL(FALLOCATE, "fallocate")                                                                                   \
	CALL(CREATE, "create")                                                                                         \
	CALL(OPEN, "open")                                                                                             \
	CALL(PREAD, "pread")                                                                                           \
	CALL(PWRITE, "pwrite")                                                                                         \
	CALL(FSYNC, "fsync")                                                                                           \
	CALL(FLUSH, "flush") /* each close() */                                                                        \
	CALL(RELEASE, "release")                                                                                       \
	CALL(LSEEK, "lseek")                                                                                           \
	CALL(LOCK, "lock")                                                                                             \
	CALL(FLOCK, "flock")                                                                                           \
	CALL(STATFS, "statfs")

enum volume_call {
#define CALL(ID, name) VOLUME_##ID,
	VOLUME_CALLS(CALL)
#undef CALL
	    VOLUME_CALL_COUNT
};

extern const char *const volume_call_names[VOLUME_CALL_COUNT];

enum rule_action {
	RULE_NONE = 0, /* the call goes on as it is */
	RULE_HOLD,     /* no answer until rules_release */
	RULE_FAIL,     /* answered with an errno */
	RULE_DELAY,    /* goes on after so many ms */
	RULE_SHORT,    /* pread, pwrite: so many bytes at most */
	RULE_TEAR,     /* pwrite: one half, so many ms, the other half */
	RULE_FLIP,     /* pread: the first bit that is read is another one */
	RULE_LOSE,     /* pwrite, fsync, truncate, unlink, utimens, chmod: answered as done, not done */
	RULE_DOUBLE,   /* pwrite: done twice, which shows where it appends */
	RULE_ACTION_COUNT
};

extern const char *const rule_action_names[RULE_ACTION_COUNT];

#define RULE_NAME_MAX 128

struct rule {
	enum rule_action action;
	enum volume_call call;
	char name[RULE_NAME_MAX]; /* pattern (fnmatch) that the path below the volume must match; empty: any */
	uint64_t value;           /* errno, ms or bytes, as the action asks */
	uint64_t skip;            /* calls that pass before it applies */
	uint64_t after_bytes;     /* ... and bytes */
	uint64_t left;            /* calls that it applies to; UINT64_MAX: all */
	uint64_t random_permille; /* 1..999: so often only; 0: always */
};

/* What is to be done with a call. */
struct verdict {
	enum rule_action
	    action; /* NONE, FAIL, SHORT, TEAR, FLIP, LOSE or DOUBLE: holding and delaying have happened by then */
	uint64_t value;
};

/* Adds a rule behind those that are there. False when there are too many. */
bool rules_add(const struct rule *rule);

/* Counts a call of that file (path below the volume; bytes: of a read or write, else 0) and waits as long as rules say. */
struct verdict rules_enter(enum volume_call call, const char *path, uint64_t bytes);

/* Removes holding rules and lets held calls go on. */
void rules_release(void);

/* Removes all rules and lets held calls go on. */
void rules_clear(void);

/* Writes "ok N", then a line for each held call: "CALL MS PATH". */
void rules_print_held(FILE *out);

/* Writes "ok N", then a line for each kind of call that was seen: "CALL COUNT". */
void rules_print_calls(FILE *out);

#endif
