#!/bin/sh
# clang-tidy with the checks that find bugs. Usage: tests/lint/tidy.sh [FILE...]; without files all of ours. Exit 1 on a finding.
set -eu

checks='-*,bugprone-*,cert-*,concurrency-*,clang-analyzer-*'
skip() {
	checks="$checks,-$1"
}
# Noise of clang 14's analyzer: va_list after va_start, and every snprintf and memcpy for the sake of Annex K.
skip clang-analyzer-valist.Uninitialized
skip clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling
# The result of each snprintf, fputs and printf: what is cut off is meant to be, and a broken terminal is seen at exit.
skip cert-err33-c
# Two parameters of one type are no fault; times and clocks have types of their own.
skip bugprone-easily-swappable-parameters
# _GNU_SOURCE and _Atomic are not ours to name.
skip bugprone-reserved-identifier
skip cert-dcl37-c
skip cert-dcl51-cpp
# The size of a list's element that is a pointer; gcc's -Wsizeof-pointer-memaccess knows the mistakes.
skip bugprone-sizeof-expression
# gcc's -Wconversion and -Wsign-conversion are stricter where it matters and silent on constants.
skip bugprone-implicit-widening-of-multiplication-result
skip bugprone-narrowing-conversions
# The .def tables paste names, which cannot stand in parentheses, and are included as what they are.
skip bugprone-macro-parentheses
skip bugprone-suspicious-include
# Cases that do the same for different reasons are told apart in a switch; gcc's -Wduplicated-branches sees the copies.
skip bugprone-branch-clone
export checks

if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046
	set -- $(git ls-files -co --exclude-standard 'common/*.c' 'proto/*.c' 'agent/*.c' 'coordinator/*.c')
fi
[ $# -gt 0 ] || { echo "tidy: no files" >&2; exit 1; }

# Its counts of suppressed warnings go to standard error; what matters comes on standard output, a failing compilation included.
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 sh -c 'clang-tidy --quiet --warnings-as-errors="*" --checks="$checks" "$@" -- \
	-std=gnu17 -D_GNU_SOURCE -I. -DLOCKSTEP_VERSION=\"0\" -DLOCKSTEP_BUILD=\"0\" \
	-DLS_SYSCONFDIR=\"/etc\" -DLS_LIBEXECDIR=\"/usr/libexec\" 2>/dev/null' sh
