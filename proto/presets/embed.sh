#!/bin/sh
# Writes the presets as a C file: embed.sh FILE.json... The name is that of the file, the help its "description" line.
set -eu

echo '/* made by proto/presets/embed.sh */'
echo '#include "proto/codec/presets_int.h"'
echo '#include "common/base/defs.h"'
for file in "$@"; do
	name=$(basename "$file" .json)
	echo "static const char text_$(echo "$name" | tr - _)[] = {"
	od -An -v -tu1 "$file" | sed 's/\([0-9][0-9]*\)/\1,/g'
	echo '0 };'
done
echo 'const struct job_preset job_preset_table[] = {'
for file in "$@"; do
	name=$(basename "$file" .json)
	help=$(sed -n 's/^  "description": "\([^"\\]*\)",$/\1/p' "$file")
	[ -n "$help" ] || { echo "$file: no description" >&2; exit 1; }
	echo "	{ \"$name\", \"$help\", text_$(echo "$name" | tr - _) },"
done
echo '};'
echo 'const size_t job_preset_count = ARRAY_LEN(job_preset_table);'
