#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing that is drawn, printed or exported covers a time in which it could not be known: random
# recordings, with all filters, limits and losses, through every verb and export
# (known_random.py). RUNS: number of recordings (5; with TSCT_TIER=all 100), SEED: their seed.
# test-wing: formats otf2 report strace
# test-timeout: 7200
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events
need babeltrace2 otf2-print

runs=5
[ "${TSCT_TIER:-}" != all ] || runs=100
"$here/known_random.py" "$ctl" "$daemon" "$helpers" "$work/runs" "${RUNS:-$runs}" \
	"${SEED:-$(date +%Y%m%d)}" || fail "something is stated that cannot be known"
