#!/bin/sh
# SPDX-License-Identifier: MIT
# The daemon with the module: it detects a module that is loaded later, uses its count of
# disruptions, does not prevent unloading, begins an epoch when the clock is set but not when
# a CPU goes down, and leaves a readable clock page when it is killed. With an unstable TSC
# the same, by another source.
# guest-test: timeout=200 boot=default,unstable module=no
# guest-test: files=build/daemon/tsctraced,build/tools/trace-ctl,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
log=/tmp/tsctraced.log
evidence=$log

start() {
	tsctraced -v --interval-ms 500 2>>$log &
	pid=$!
}
# A start of trace-ctl takes a quarter of a second under emulation: `key` and `has` use what
# the last `is` or `above` has read.
poll_us=300000
look() { trace-ctl clock --json >/tmp/json 2>/dev/null || true; }
key() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p" /tmp/json; }
has() { [ "$(key "$1")" = "$2" ]; }
is() { look; has "$@"; }
has_begun() { look; [ "$(key epoch)" -gt "$1" ] && has cause "$2"; }	# AFTER-EPOCH CAUSE
counted() { look; [ "$(key disruptions)" != 0 ]; }
uncounted() { look; [ "$(key disruptions)" = 0 ]; }
logged() { grep -q "$1" $log; }
try_rmmod() { rmmod tsctrace 2>/dev/null; }
# Waits for an epoch after $1 with cause $2, and then for synchronization.
check_epoch() {	# AFTER CAUSE
	wait_for "an epoch of cause $2" has_begun "$1" "$2"
	wait_for "synchronized after $2" is status synchronized
	wait_for "$2 is in the log" logged "begins ($2)"
}
# The clock's time is between two readings of CLOCK_REALTIME, whose seconds are rounded.
check_time() {
	before=$(date +%s)
	look
	seconds=$(($(key time_ns) / 1000000000))
	after=$(date +%s)
	[ $seconds -ge $((before - 1)) ] && [ $seconds -le $((after + 1)) ] ||
		fail "$seconds is not $before to $after"
}

mkdir -p /run /var/lib
: >$log	# tests before this one may have left one
start
wait_for "the daemon's own page" is origin daemon
uncounted || fail "a count of disruptions without a module"
insmod $ko
wait_for "the new module counts" counted
wait_for "synchronized" is status synchronized

# Waits until the TSC checks have decided which source the clock uses.
case $TSCT_BOOT in
default) source=tsc ;;
*) source=monotonic_raw ;;
esac
wait_for "the source is $source" is source $source
wait_for "synchronized by $source" is status synchronized
check_time

# Only one daemon can run.
! tsctraced 2>/tmp/second || fail "a second daemon runs"
grep -q "pid $pid" /tmp/second || fail "$(cat /tmp/second)"

# The daemon does not prevent rmmod, and detects unloading and loading. Until its next update,
# readers find its count but no module, and calibrate.
epoch=$(key epoch)
wait_for "rmmod works" try_rmmod
goes_on() { look; [ "$(key disruptions)" = 0 ] && has status synchronized; }
wait_for "it goes on without the module" goes_on
has epoch "$epoch" || fail "unloading began epoch $(key epoch) after $epoch"
insmod $ko
wait_for "the module is found again" counted
wait_for "synchronized again" is status synchronized

# CLOCK_REALTIME is set.
epoch=$(key epoch)
date -s "@$(($(date +%s) + 100))" >/dev/null
check_epoch "$epoch" step
wait_for "the log has the step" logged 'CLOCK_REALTIME was set by +.*; epoch'
check_time

# A CPU goes down, and up again: that is no disruption. If the source is the TSC, the module
# multicasts the step before.
[ $source != tsc ] || wait_for "the module says so" logged 'module event: disruption (step)'
epoch=$(key epoch)
for state in 0 1; do
	echo $state >$online
	sleep 2
	wait_for "synchronized, CPU 1: $state" is status synchronized
	has epoch "$epoch" || fail "hotplug: epoch $(key epoch), not $epoch"
done

# `trace-ctl clock --fake-disruption` begins a new epoch, with the cause "fake".
epoch=$(key epoch)
trace-ctl clock --fake-disruption || fail "no fake disruption"
check_epoch "$epoch" fake
has_metric() {
	trace-ctl status --metrics >/tmp/metrics || fail "no metrics"
	grep -qF "tsctrace_$1" /tmp/metrics
}
for line in 'module_in_use 1' 'clock_status{status="synchronized"} 1' \
		'clock_disruptions_total{cause="step"} 1' \
		'clock_disruptions_total{cause="fake"} 1'; do
	wait_for "metric $line" has_metric "$line"
done

# The clock page of a killed daemon stays; its status becomes holdover after a while.
epoch=$(key epoch)
kill_now $pid
is origin daemon || fail "killed, and the clock is from $(key origin)"
has epoch "$epoch" || fail "killed, and the epoch is $(key epoch)"
wait_for "holdover" is status holdover

start
wait_for "a successor has taken over" is status synchronized
has epoch "$epoch" || fail "the successor's epoch is $(key epoch), not $epoch"
end_by TERM $pid
# Params begin at most 0.9 s after their publication; times before that have the earlier status.
sleep 1
is status holdover || fail "stopped, and still $(key status)"
[ ! -e /run/tsctrace/tsctraced.sock ] || fail "the socket is left behind"
rmmod tsctrace
echo "$source, epoch $epoch"
grep -v 'clock synchronized' $log
