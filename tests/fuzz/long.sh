#!/bin/sh
# Fuzzes one target after the other with libFuzzer, ASan and UBSan, when nobody else wants the processor, and prints how far each came.
#
#   tests/fuzz/long.sh [TARGET...]     FUZZ_RUNS: executions of each (10,000,000); FUZZ_SECONDS: or so long each (0: no limit)
#
# Executions are counted over all calls, in build-fuzz/count, as the corpus is kept, in build-fuzz/corpus; `make clean` begins anew. Inputs
# that crash go to build-fuzz/found. Exit status 1 when there was one. A crash becomes a seed below tests/fuzz/seeds, where the test suite plays
# it from then on.
#
# Each slice of 250,000 begins with executions that also trace comparisons, which finds values of which the dictionary does not know and
# takes two to four times as long; the others run without. What is checked in an execution is the same.
set -eu
cd "$(dirname "$0")/../.."
build=build-fuzz
slice=250000
traced=10000
make_fuzzers() { # folder, more flags
	make -s BUILD="$1" CC="${CC:-clang}" FUZZER=1 HARDEN= OPT="-O2 -g1" \
		SANITIZE="-fsanitize=fuzzer-no-link,address,undefined $2 -fno-sanitize-recover=all" fuzz
}
make_fuzzers $build/traced ""
make_fuzzers $build "-fno-sanitize-coverage=trace-cmp"
tests/fuzz/dictionary.sh > $build/names.dict.$$
mv $build/names.dict.$$ $build/names.dict # others may be reading it
# The stack of each allocation is half of the cost of an allocation; a crash is played again with all of it.
ASAN_OPTIONS="malloc_context_size=1:quarantine_size_mb=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export ASAN_OPTIONS
idle=""
chrt -i 0 true 2>/dev/null && idle="chrt -i 0"

# fuzz FOLDER TARGET EXECUTIONS SECONDS: adds to the target's count
fuzz() {
	status=0
	nice -n 19 $idle "$1/fuzz/fuzz_$2" -runs="$3" -max_total_time="$4" -max_len=4096 -timeout=120 -dict=$build/names.dict \
		-print_final_stats=1 -artifact_prefix="$build/found/$2-" "$build/corpus/$2" > "$build/$2.log" 2>&1 || status=$?
	now=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$2.log")
	count=$((count + ${now:-0}))
	echo $count > "$build/count/$2"
	return $status
}

[ $# -gt 0 ] || set -- units identity conf msg job results import
bad=0
for target in "$@"; do
	mkdir -p "$build/corpus/$target" "$build/found" "$build/count"
	for seeds in "tests/fuzz/seeds/$target" "tests/fuzz/seeds/fuzz_$target"; do
		[ ! -d "$seeds" ] || cp "$seeds"/* "$build/corpus/$target/"
	done
	count=$(cat "$build/count/$target" 2>/dev/null || echo 0)
	end=ok
	began=$(date +%s)
	while [ "$count" -lt "${FUZZ_RUNS:-10000000}" ]; do
		left=0
		if [ "${FUZZ_SECONDS:-0}" -gt 0 ]; then
			left=$((began + FUZZ_SECONDS - $(date +%s)))
			[ $left -gt 0 ] || break
		fi
		fuzz $build/traced "$target" $traced $left && fuzz $build "$target" $((slice - traced)) $left || { end=FAILED bad=1; break; }
	done
	[ $end = ok ] || tail -n 20 "$build/$target.log"
	echo "$end $target: $count executions"
done
exit $bad
