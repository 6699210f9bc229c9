#!/bin/bash
# SPDX-License-Identifier: MIT
# A kernel whose clocksource is not the TSC, although the TSC is invariant, as on most
# virtual machines: record works without daemon and module, and with a daemon, and all
# verbs use one clock. Another text is bound over current_clocksource.
# test-fast: yes
current=/sys/devices/system/clocksource/clocksource0/current_clocksource
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" -eq 0 ] || { echo "needs root: it makes a mount namespace"; exit 77; }
	[ "$(cat "$current")" = tsc ] || { echo "this kernel's clocksource is not tsc"; exit 77; }
	exec unshare --mount "$0" inside
fi
. "$(dirname "$0")/record.sh"
need mount umount

record_events() {	# NAME
	run 0 record -o "$work/$1" -- "$emit" 1000
	[ "$("$ctl" dump "$work/$1" | grep -c ' tick ')" -eq 1000 ] ||
		fail "$1: not all events are there"
	[ "$("$ctl" stat --json "$work/$1" | sed -n 's/.*"source": "\([a-z_]*\)".*/\1/p' |
		head -n 1)" = tsc ] || fail "$1: the recording's clock is not the TSC"
}

for name in kvm-clock hyperv_clocksource_tsc_page hpet; do
	echo "$name" >"$work/clocksource"
	mount --bind "$work/clocksource" "$current"
	record_events "alone-$name"
	run_shows 0 "^source *tsc; the kernel's clocksource is $name" clock
	"$ctl" status >"$work/out" || true
	shows "clocksource: $name"
	umount "$current"
done

mount --bind "$work/clocksource" "$current"
"$daemon" --no-module --no-network 2>"$work/log" &
wait_for "the daemon's socket is there" test -S "$TSCTRACE_RUN_DIR/tsctraced.sock"
record_events with-daemon
