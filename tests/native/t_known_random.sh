#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing that is drawn, printed or exported covers a time in which it could not be known: random
# recordings, with all filters, limits and losses, through every verb and export
# (known_random.py). TURNS: number of recordings (as many as begin in 5 seconds, 6 at most; with
# TSCT_TIER=all 100), SEED: their seed.
# test-wing: formats otf2 report strace
# test-timeout: 7200
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events
need babeltrace2 otf2-print

turns=6 long=5
[ "${TSCT_TIER:-}" != all ] || turns=100 long=inf
[ -z "${TURNS:-}" ] || long=inf
LONG=$long /usr/bin/python3 "$here/known_random.py" "$ctl" "$helpers" "$work/turns" \
	"${TURNS:-$turns}" "${SEED:-$(date +%Y%m%d)}" || fail "something is stated that cannot be known"
