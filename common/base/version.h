/*
 * Which lockstep this is. The build identity is set by the Makefile (git's description of the tree, or what a package says).
 */
#ifndef LS_COMMON_BASE_VERSION_H
#define LS_COMMON_BASE_VERSION_H

extern const char lockstep_version[]; /* release, "0.1.0" */
extern const char lockstep_build[];   /* identity of the build */

#endif
