#!/bin/sh
# Compiles every header alone. The three readings of .def files are not headers of their own.
set -eu
bad=0
for header in $(git ls-files -co --exclude-standard '*.h' | grep -v 'common/base/field_\(decl\|table\|undef\|none\).h'); do
	"${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -I. -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c "$header" || bad=1
done
exit $bad
