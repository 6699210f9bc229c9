#!/bin/bash
# SPDX-License-Identifier: MIT
# Time never runs backwards from one thread to another: READS (25 million) reads of an
# in-process clock, as many of a daemon's clock, which is published every 100 ms, and
# fewer with sanitizers.
# test-timeout: 600
. "$(dirname "$0")/lib.sh"

export TSCTRACE_RUN_DIR=$work/run
reads=${READS:-25000000}

echo "1..4"
"$helpers/handover" "$reads"
ok "a clock of its own"

TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$helpers/tsan/handover" $((reads / 50))
ok "under the thread sanitizer"
"$helpers/asan/handover" $((reads / 50))
ok "under the address sanitizer"

"$daemon" --no-module --interval-ms 100 2>"$work/log" &
wait_for "the daemon publishes its clock" test -s "$TSCTRACE_RUN_DIR/clock"
"$helpers/handover" "$reads" >"$work/out"
cat "$work/out"
shows '^clock: daemon'
ok "a daemon's clock"
"$helpers/handover" $((reads / 50)) unordered | sed 's/^/# unordered: /'
