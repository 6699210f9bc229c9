#!/bin/bash
# SPDX-License-Identifier: MIT
# Time never runs backwards from one thread to another: READS (25 million) reads of an
# in-process clock, as many of a daemon's clock, which is published every 100 ms, and
# fewer with sanitizers.
# test-timeout: 600
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=${O:-$top/build}
lib=$top/lib
work=$(mktemp -d) pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
export TSCTRACE_RUN_DIR=$work/run
reads=${READS:-25000000}

compile() {	# OUTPUT FLAG-OR-FILE...
	local output=$1
	shift
	${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/kmod/uapi" \
		-I"$lib/include" -I"$top" -o "$output" \
		"$top/tests/native/handover.c" "$@" -lm
}

compile "$work/plain" "$out/lib/libtsctrace.a"
mapfile -t sources < <(make -s -C "$lib" program-sources)
compile "$work/tsan" -fsanitize=thread -Wno-tsan "${sources[@]}" & tsan=$!
compile "$work/asan" -fsanitize=address,undefined "${sources[@]}"
wait "$tsan"

echo "1..4"
"$work/plain" "$reads"
echo "ok 1 - a clock of its own"

TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$work/tsan" $((reads / 50))
echo "ok 2 - under the thread sanitizer"
"$work/asan" $((reads / 50))
echo "ok 3 - under the address sanitizer"

"$out/daemon/tsctraced" --no-module --interval-ms 100 2>"$work/log" &
pid=$!
for ((i = 0; i < 600; i++)); do
	[ ! -s "$TSCTRACE_RUN_DIR/clock" ] || break
	sleep 0.1
done
"$work/plain" "$reads" >"$work/said"
cat "$work/said"
grep -q '^clock: daemon' "$work/said" || { cat "$work/log"; exit 1; }
echo "ok 4 - a daemon's clock"
"$work/plain" $((reads / 50)) unordered | sed 's/^/# unordered: /'
