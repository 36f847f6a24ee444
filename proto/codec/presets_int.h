/*
 * The presets as the build made them from proto/presets/ (embed.sh there). Not for other folders.
 */
#ifndef LS_PROTO_CODEC_PRESETS_INT_H
#define LS_PROTO_CODEC_PRESETS_INT_H

#include <stddef.h>

#include "proto/codec/jobfile.h"

extern const struct job_preset job_preset_table[];
extern const size_t job_preset_count;

#endif
