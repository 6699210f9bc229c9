#!/bin/bash
# SPDX-License-Identifier: MIT
# Time never runs backwards from one thread to another: READS (5 million; 25 million with
# TSCT_TIER=all) reads of an in-process clock, as many of a daemon's clock, which is
# published every 100 ms, and fewer with sanitizers.
# test-timeout: 600
. "$(dirname "$0")/lib.sh"

export TSCTRACE_RUN_DIR=$work/run
reads=5000000
[ "${TSCT_TIER:-}" != all ] || reads=25000000
reads=${READS:-$reads}

echo "1..4"
"$helpers/handover" "$reads"
ok "a clock of its own"

TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$helpers/tsan/handover" $((reads / 10))
ok "under the thread sanitizer"
"$helpers/asan/handover" $((reads / 10))
ok "under the address sanitizer"

: >"$work/log"
"$daemon" --no-module --interval-ms 100 2>"$work/log" &
until_in "$work/log" "clock synchronized"
"$helpers/handover" "$reads" >"$work/out"
cat "$work/out"
shows '^clock: daemon'
ok "a daemon's clock"
"$helpers/handover" $((reads / 10)) unordered | sed 's/^/# unordered: /'
