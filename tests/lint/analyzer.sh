#!/bin/sh
# gcc -fanalyzer over the programs' sources, in a build folder of its own (build-analyzer): what did not change is not analysed
# again. Exit 1 on a finding. No check is left out; a future exclusion stands here as -Wno-analyzer-..., with its reason.
set -eu
if ! gcc --version >/dev/null 2>&1; then
	echo "analyzer: no gcc" >&2
	exit 1
fi
# -O1: with less, gcc's analyzer loses track of inlined helpers; with -O2 it takes much longer and finds the same.
exec make --no-print-directory -k -j "$(nproc)" CC=gcc BUILD=build-analyzer HARDEN= OPT="-O1 -g" CFLAGS=-fanalyzer all
