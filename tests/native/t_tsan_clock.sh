#!/bin/bash
# SPDX-License-Identifier: MIT
# Stress test of the in-process clock: threads read it by all functions and refresh it
# without a pause, with and without the thread sanitizer. -Wno-tsan: the sanitizer does
# not model fences, which is no loss, as every racing access is atomic.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TSCTRACE_RUN_DIR=$work/none
lib=$top/lib
mapfile -t sources < <(make -s -C "$lib" program-sources)

compile() {	# OUTPUT FLAG...
	local output=$1
	shift
	${CC:-cc} -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/kmod/uapi" \
		-I"$lib/include" -I"$top" -o "$output" "$@" \
		"$top/tests/native/hammer.c" "${sources[@]}" -lm
}

compile "$work/plain" -O2 & plain=$!
compile "$work/tsan" -O1 -fsanitize=thread -Wno-tsan
wait "$plain"
"$work/plain" 5
TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$work/tsan" 10
