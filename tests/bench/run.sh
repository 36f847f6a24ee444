#!/bin/sh
# All benchmarks, one after the other. usage: tests/bench/run.sh [BUILD]
set -eu
LOCKSTEP_BUILD=${1:-build}
export LOCKSTEP_BUILD
for bench in tests/bench/*.py; do
	echo "== $bench"
	/usr/bin/python3 "$bench"
done
