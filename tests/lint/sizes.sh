#!/bin/sh
# Signals of a part that grew too large: a function over 80 lines, a .c file over 800, a header over 250, more than 15 of our
# includes in one file. Prints each and exits 1. What may stay all the same is listed, with a reason, in tests/lint/sizes.txt
# ("path[:function]  # reason"); the list may only shrink: an entry that is no longer needed fails, too.
set -eu
files=$(git ls-files -co --exclude-standard '*.c' '*.h')
# shellcheck disable=SC2086
awk '
	function report(what, text) {
		if (what in allowed) {
			delete allowed[what]
			return
		}
		print what ": " text
		bad = 1
	}
	function end_file() {
		limit = path ~ /\.h$/ ? 250 : 800
		if (lines > limit)
			report(path, lines " lines, at most " limit)
		if (includes > 15)
			report(path, includes " includes of ours, at most 15")
	}
	FILENAME == "tests/lint/sizes.txt" {
		if ($1 != "" && $1 !~ /^#/)
			allowed[$1] = 1
		next
	}
	FNR == 1 {
		if (path != "")
			end_file()
		path = FILENAME
		lines = includes = start = 0
	}
	{ lines = FNR }
	/^#include ".*\.h"/ { includes++ }
	# the style puts a function name at the start of a line, and its braces alone there
	/^[a-z_][a-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name) }
	/^{/ { start = FNR }
	/^}/ {
		if (start > 0 && FNR - start - 1 > 80)
			report(path ":" name, FNR - start - 1 " lines, at most 80")
		start = 0
	}
	END {
		end_file()
		for (what in allowed) {
			print what ": in tests/lint/sizes.txt, but not too large any more"
			bad = 1
		}
		exit bad
	}
' tests/lint/sizes.txt $files
