/*
 * Where the programs are that belong to the one that runs.
 */
#ifndef LS_COMMON_BASE_PROGRAM_H
#define LS_COMMON_BASE_PROGRAM_H

/*
 * The helper program of that name: beside this program (a tree that was built but not installed), in ../libexec/lockstep from
 * there (installed, wherever that is), else in folder. Heap, the caller frees it; never NULL, the last one may not exist.
 */
char *program_find(const char *name, const char *folder);

#endif
