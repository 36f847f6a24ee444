#include "common/base/version.h"

#ifndef LOCKSTEP_VERSION
#error "the Makefile defines LOCKSTEP_VERSION and LOCKSTEP_BUILD"
#endif

const char lockstep_version[] = LOCKSTEP_VERSION;
const char lockstep_build[] = LOCKSTEP_BUILD;
