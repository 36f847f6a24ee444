#!/bin/sh
# Is everything as clang-format would write it? The .def files and their three readings are tables, laid out by hand.
set -eu
git ls-files -co --exclude-standard '*.c' '*.h' | grep -v 'common/base/field_\(decl\|table\|undef\|none\).h' |
	xargs clang-format --dry-run -Werror
