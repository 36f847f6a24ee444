#!/bin/sh
# Fuzzes one target after the other with libFuzzer, ASan and UBSan, at low priority, and prints how far it came.
#
#   tests/fuzz/long.sh [TARGET...]     FUZZ_RUNS: executions of each (10,000,000); FUZZ_SECONDS: or so long (0: no limit)
#
# Inputs that were found go to build-fuzz/corpus, those that crash to build-fuzz/found. Exit status 1 when there was one. A crash becomes a
# seed below tests/fuzz/seeds, where the test suite plays it from then on.
set -eu
cd "$(dirname "$0")/../.."
build=build-fuzz
make -s BUILD=$build CC="${CC:-clang}" FUZZER=1 HARDEN= OPT="-O1 -g" \
	SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" fuzz
tests/fuzz/dictionary.sh > $build/names.dict
[ $# -gt 0 ] || set -- units identity conf msg job results import
status=0
for target in "$@"; do
	mkdir -p "$build/corpus/$target" "$build/found"
	for seeds in "tests/fuzz/seeds/$target" "tests/fuzz/seeds/fuzz_$target"; do
		[ ! -d "$seeds" ] || cp "$seeds"/* "$build/corpus/$target/"
	done
	nice -n 19 "$build/fuzz/fuzz_$target" -runs="${FUZZ_RUNS:-10000000}" -max_total_time="${FUZZ_SECONDS:-0}" -max_len=4096 -timeout=120 \
		-dict=$build/names.dict -print_final_stats=1 -artifact_prefix="$build/found/$target-" "$build/corpus/$target" \
		> "$build/$target.log" 2>&1 && end=ok || { end=CRASH status=1; }
	echo "$end $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log") executions"
done
exit $status
