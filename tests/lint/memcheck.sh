#!/bin/sh
# valgrind memcheck over the unit tests of a plain build: reads of what was never written, which the sanitizers do not see.
# Usage: tests/lint/memcheck.sh [BUILD]. Exit 1 on a finding. Whether a test passes does not matter here: valgrind's clock is slow,
# it has no openat2 and rounds as x87 does. Leaks are ASan's.
set -eu
build=${1:-build}
bad=0
found=0
for test in $(find "$build/tests" -name 'test_*' -type f -perm -100 | sort); do
	found=1
	log=$(mktemp)
	valgrind --quiet --leak-check=no --error-exitcode=99 --suppressions=tests/lint/memcheck.supp --log-file="$log" "$test" \
		>/dev/null 2>&1 || true
	# messages about the program begin with ==pid==, those about valgrind's own limits with --pid--
	if grep -q '^==' "$log"; then
		echo "$test:"
		grep '^==' "$log"
		bad=1
	fi
	rm -f "$log"
done
[ "$found" = 1 ] || { echo "memcheck: no unit tests in $build" >&2; exit 1; }
exit $bad
