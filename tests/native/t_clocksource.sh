#!/bin/bash
# SPDX-License-Identifier: MIT
# A kernel whose clocksource is not the TSC, although the TSC is invariant, as on most
# virtual machines: record works without daemon and module, and with a daemon, and all
# verbs use one clock. Another text is bound over current_clocksource.
# test-fast: yes
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=${O:-$top/build}
current=/sys/devices/system/clocksource/clocksource0/current_clocksource
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" -eq 0 ] || { echo "needs root: it makes a mount namespace"; exit 77; }
	[ "$(cat "$current")" = tsc ] || { echo "this kernel's clocksource is not tsc"; exit 77; }
	exec unshare --mount "$0" inside
fi

work=$(mktemp -d)
daemon=
cleanup() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
export TSCTRACE_RUN_DIR=$work/run PATH=$out/tools:$PATH
fail() { echo "FAILED: $*"; exit 1; }

record_jobs() {	# NAME
	trace-ctl record -o "$work/$1" -- "$out/examples/jobs" 1000 >"$work/$1.out" 2>&1 ||
		fail "$1: exit status $?: $(cat "$work/$1.out")"
	[ "$(trace-ctl dump "$work/$1" | grep -c 'job/begin')" -eq "$jobs" ] ||
		fail "$1: not all events are there"
	[ "$(trace-ctl stat --json "$work/$1" | sed -n 's/.*"source": "\([a-z_]*\)".*/\1/p' |
		head -n 1)" = tsc ] || fail "$1: the recording's clock is not the TSC"
}

# As many jobs as where the clocksource is the TSC
trace-ctl record -o "$work/tsc" -- "$out/examples/jobs" 1000 >"$work/tsc.out" 2>&1
jobs=$(trace-ctl dump "$work/tsc" | grep -c 'job/begin')
for name in kvm-clock hyperv_clocksource_tsc_page hpet; do
	echo "$name" >"$work/clocksource"
	mount --bind "$work/clocksource" "$current"
	record_jobs "alone-$name"
	trace-ctl clock >"$work/clock"
	grep -q "^source *tsc; the kernel's clocksource is $name" "$work/clock" || fail "clock: $(cat "$work/clock")"
	trace-ctl status >"$work/status" || true
	grep -q "clocksource: $name" "$work/status" || fail "status: $(cat "$work/status")"
	umount "$current"
done

mount --bind "$work/clocksource" "$current"
mkdir "$TSCTRACE_RUN_DIR"
"$out/daemon/tsctraced" --no-module --no-network --run-dir "$TSCTRACE_RUN_DIR" \
	>"$work/tsctraced.log" 2>&1 &
daemon=$!
until [ -S "$TSCTRACE_RUN_DIR/tsctraced.sock" ]; do
	kill -0 "$daemon" || fail "daemon: $(cat "$work/tsctraced.log")"
	sleep 0.1
done
record_jobs with-daemon
