#!/bin/sh
# cppcheck over the programs' sources. Suppressions carry their reason in tests/lint/cppcheck.txt.
set -eu
cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr -j 2 --std=c11 --language=c \
	--suppressions-list=tests/lint/cppcheck.txt -I. -DLOCKSTEP_VERSION='""' -DLOCKSTEP_BUILD='""' \
	-DLS_SYSCONFDIR='""' -DLS_LIBEXECDIR='""' common proto agent coordinator
