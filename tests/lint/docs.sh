#!/bin/sh
# Names each function in a public header without words about it: a comment above it, above the group that it stands in (no blank
# line between), or at its end. Exit 1 if there is one. The innards of a folder (*_int.h) are not held to this.
set -eu
files=$(git ls-files -co --exclude-standard 'common/*.h' 'proto/*.h' 'agent/*.h' 'coordinator/*.h' |
	grep -v '_int\.h$\|common/base/field_\(decl\|table\|undef\|none\).h')
# shellcheck disable=SC2086
awk '
	FNR == 1 { documented = 0; open = "" }
	/^$/ { documented = 0 }
	/^\/\*/ || /^ \*/ { documented = 1 }
	open == "" && /^[a-z].*[a-z0-9_]\(/ && !/^(typedef|struct [a-z_]+ \{|enum|static inline|#)/ || /^(enum|static inline) [a-z_ *]+\(/ {
		open = $0
		where = FILENAME ":" FNR
	}
	open != "" && /;|\{$/ {
		if (!documented && $0 !~ /\/\*/) {
			print where ": " open
			bad = 1
		}
		open = ""
	}
	END { exit bad }
' $files
