#!/bin/sh
# Prints a dictionary for libFuzzer and AFL++: the names of all messages, members and values of the field tables, and words of the formats
# that are imported.
set -eu
{
	cat proto/model/*.def proto/codec/*.def agent/daemon/*.def agent/helper/*.def coordinator/daemon/*.def |
		sed -n 's/^F_[A-Z0-9_]*([a-z0-9_]*, \([a-z0-9_]*\),.*/\1/p; s/^MSG_BEGIN([^"]*"\([^"]*\)".*/\1/p; s/^PHASE_BEGIN([^"]*"\([^"]*\)".*/\1/p'
	printf '%s\n' KiB MiB GiB TiB kB KB ns us ms s min h null true false nan inf fio_version client_stats clat_ns jobname iozone bonnie "O_DIRECT" \
		"Children see throughput for" "Max Throughput" "IOPS last" "mdtest-" "SUMMARY rate" "drop-caches" "remount /" heartbeat status "ok" 1e999 9223372036854775807 18446744073709551616 -1
} | sort -u | sed 's/[\\"]/\\&/g; s/.*/"&"/'
