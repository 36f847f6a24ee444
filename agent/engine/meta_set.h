/*
 * The objects of metadata phases: each worker has files, directories, symbolic links and hard links 0..n-1, each class in a directory
 * of its own or in one that all workers of all nodes use:
 *
 *	private: n<node>/<class>.<worker>/[<directory>/]<number>	shared: shared/<class>/[<directory>/]<number>.<node>.<worker>
 *
 * <class> is d, m, s or l (enum meta_class), <number> has 8 hexadecimal digits. With `directories` above 1 the objects are spread over
 * that many below, 00000, 00001 and so on, in contiguous parts. A file that was renamed has an r behind its name. Node and worker are
 * the owner's, whoever works on them. What exists is kept from phase to phase.
 */
#ifndef LS_AGENT_ENGINE_META_SET_H
#define LS_AGENT_ENGINE_META_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/shm/counters.h"

#define META_RENAMED 'r'

struct worker;

enum meta_class { META_FILES = 0, META_DIRECTORIES, META_SYMLINKS, META_LINKS, META_CLASS_COUNT };

/* How objects are spread: over no directories (files 0, directories 1), or so many files over so many of them. */
struct meta_shape {
	uint64_t files, directories;
};

/* What is there of one class of one worker. Making and removing go upwards, so that it is always one range. */
struct meta_set {
	uint64_t begin, end;
	struct meta_shape shape;
	bool unknown; /* another node may have removed or renamed some of them, or made what was not there */
	bool renamed; /* files: have the r, but for the first `split`, which then have not; and the reverse */
	uint64_t split;
	bool attributes;     /* some files may have the extended attribute */
	uint64_t attributed; /* the first so many have it, of attribute_size bytes */
	uint64_t attribute_size;
};

/*
 * Makes the class the present one: w->meta.set, .dir and .dir_fd, the directory open. own: the set is this node's, directories that
 * are missing are made; else it is the owner's, who has made all that the phase wants, and w->meta.set tells no more than
 * that objects 0..n-1 are there if `there`. False after worker_fail.
 */
bool meta_enter(struct worker *w, enum meta_class class, bool own, bool there);

/* Of the present class: 0..n-1 of the phase are there (files, directories), or none is. False after worker_fail. */
bool meta_make_present(struct worker *w);
bool meta_make_absent(struct worker *w);

/* Files: no more than the phase's are left. All have names of one kind; plain: that without an r. False after worker_fail. */
bool meta_trim(struct worker *w);
bool meta_settle_names(struct worker *w, bool plain);

/* Puts the name of object i into w->meta.name, relative to dir_fd. No printf: this happens between operations. */
void meta_set_name(struct worker *w, uint64_t i);

/* Makes the present name a file with its data; step as in struct failure. */
bool meta_create_file(struct worker *w, const char *step, bool sync);

/* Fails the worker for the present name. Returns false. */
bool meta_fail(struct worker *w, const char *step, enum shm_call call, uint64_t offset, int errnum);

/* The same while arming where errnum means that the volume cannot do such a thing: then it says so, "it has no hard links". */
bool meta_refuse(struct worker *w, enum shm_call call, int errnum, const char *what);

/* Directories with objects below dir_fd: "." or the name of directory d of w->meta.set->shape, into a buffer of 8. */
uint64_t meta_directory_count(const struct worker *w);
const char *meta_directory_name(const struct worker *w, uint64_t d, char buf[8]);

#endif
