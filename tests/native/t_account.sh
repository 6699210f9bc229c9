#!/bin/bash
# SPDX-License-Identifier: MIT
# One account of every event: random recordings, in which programs are killed, events are lost in
# small rings, filtered, dropped by rate limits, refused, and recorded from late on or in other
# namespaces, and the programs' own counts. RUNS: number of recordings (30; with TSCT_TIER=all
# 1000), SEED: their seed.
# test-timeout: 7200
. "$(dirname "$0")/record.sh"

runs=30
[ "${TSCT_TIER:-}" != all ] || runs=1000
[ "$(id -u)" = 0 ] || skip "needs root"
# Without kernel events, those of programs are tried alone.
TSCTRACE_PROVIDER=embedded "$ctl" record -q -e sys_enter -o "$work/probe" -- true 2>"$work/err" ||
	export ACCOUNT_KERNEL=no
"$here/account.py" "$ctl" "$daemon" "$helpers" "$work/runs" "${RUNS:-$runs}" \
	"${SEED:-$(date +%Y%m%d)}" || fail "an account does not close"
