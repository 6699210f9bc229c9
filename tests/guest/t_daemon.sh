#!/bin/sh
# SPDX-License-Identifier: MIT
# The daemon with the module: it detects a module that is loaded later, sets its
# clock, does not prevent unloading, begins an epoch when the clock is set or a CPU
# goes down, and leaves a readable clock page when it is killed. With an unstable
# TSC the same, by another source.
# guest-test: timeout=200 boot=default,unstable module=no
# guest-test: files=build/daemon/tsctraced,build/tools/trace-ctl
set -eu
ko=/lib/modules/tsctrace.ko
log=/tmp/tsctraced.log

fail() {
	echo "$*"
	cat $log
	trace-ctl clock || true
	exit 1
}
start() {
	tsctraced -v --interval-ms 500 2>>$log &
	pid=$!
}
key() {
	trace-ctl clock --json 2>/dev/null |
		sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p"
}
is() { [ "$(key "$1")" = "$2" ]; }
above() { [ "$(key "$1")" -gt "$2" ]; }
logged() { grep -q "$1" $log; }
wait_for() {	# WHAT COMMAND...
	what=$1
	shift
	i=0
	while ! "$@"; do
		i=$((i + 1))
		[ $i -lt 150 ] || fail "timeout waiting until $what"
		sleep 0.2
	done
}
try_rmmod() { rmmod tsctrace 2>/dev/null; }
# Waits for an epoch after $1 with cause $2, and then for synchronization. Limits, in turns
# of wait_for, which take 0.2 s or more: 10 for the epoch, 25 for both, each multiplied by
# TSCT_SLOW. Turns are counted, and not seconds, as a busy host may stop the guest.
check_epoch() {	# AFTER CAUSE
	wait_for "an epoch of cause $2" above epoch "$1"
	turns=$i
	[ $turns -le $((10 * ${TSCT_SLOW:-1})) ] || fail "$2 was detected after $turns turns"
	wait_for "synchronized after $2" is status synchronized
	turns=$((turns + i))
	[ $turns -le $((25 * ${TSCT_SLOW:-1})) ] ||
		fail "$2: synchronized only after $turns turns"
	is cause "$2" || fail "the cause is $(key cause), not $2"
	logged "begins ($2)" || fail "$2 is not in the log"
	echo "$2: synchronized after $turns turns"
}

mkdir -p /run /var/lib
start
wait_for "the daemon's own page" is origin daemon
insmod $ko
wait_for "the new module has the clock" is origin module
wait_for "synchronized" is status synchronized
logged 'publishing to /dev/tsctrace' || fail "the log does not have the module"

# Waits until the TSC checks have decided which source the clock uses.
case $TSCT_BOOT in
default) source=tsc ;;
*) source=monotonic_raw ;;
esac
wait_for "the source is $source" is source $source
wait_for "synchronized by $source" is status synchronized
before=$(date +%s)
ns=$(key time_ns)
after=$(date +%s)
[ "$ns" -gt 0 ] || fail "no time"
seconds=$((ns / 1000000000))
[ $seconds -ge $((before - 1)) ] && [ $seconds -le $((after + 1)) ] ||
	fail "$seconds is not $before to $after"

# Only one daemon can run.
! tsctraced 2>/tmp/second || fail "a second daemon runs"
grep -q "pid $pid" /tmp/second || fail "$(cat /tmp/second)"

# A second daemon with a run directory of its own runs, but does not set the module's
# clock until the first daemon has ended.
tsctraced --run-dir /tmp/other --interval-ms 500 2>/tmp/second &
second=$!
wait_for "the second one sees the first" grep -q \
	'/dev/tsctrace: another tsctraced publishes to this device' /tmp/second
wait_for "it serves its own file" test -s /tmp/other/clock
kill -TERM $pid
wait $pid || fail "SIGTERM: exit status $?"
wait_for "the second one has taken over" grep -q \
	'publishing to /dev/tsctrace' /tmp/second
wait_for "synchronized by the second one" is status synchronized
is origin module || fail "the clock is from $(key origin)"
kill -TERM $second
wait $second || fail "SIGTERM: exit status $? of the second one"
start
wait_for "the first one is back" is status synchronized

# The daemon does not prevent rmmod, and detects unloading and loading.
wait_for "rmmod works" try_rmmod
wait_for "it misses the module" logged '/dev/tsctrace: no longer available'
wait_for "its file serves on" is origin daemon
insmod $ko
wait_for "the module is found again" is origin module
wait_for "synchronized again" is status synchronized

# CLOCK_REALTIME is set.
epoch=$(key epoch)
date -s "@$(($(date +%s) + 100))" >/dev/null
check_epoch "$epoch" step
logged 'CLOCK_REALTIME was set by +.*; epoch' || fail "the log does not have the step"
before=$(date +%s)
seconds=$(($(key time_ns) / 1000000000))
[ $seconds -ge $((before - 1)) ] || fail "$seconds is before the step"

# A CPU goes down, and up again: each change begins an epoch. If the source is the TSC,
# the module multicasts the disruption.
online=/sys/devices/system/cpu/cpu1/online
for state in 0 1; do
	epoch=$(key epoch)
	echo $state >$online
	check_epoch "$epoch" hotplug
done
[ $source != tsc ] || logged 'module event: disruption (hotplug)' ||
	fail "the module does not say so"

# `trace-ctl clock --fake-disruption` begins a new epoch, with the cause "fake".
epoch=$(key epoch)
trace-ctl clock --fake-disruption || fail "no fake disruption"
check_epoch "$epoch" fake
trace-ctl status --metrics >/tmp/metrics || fail "no metrics"
for line in 'module_publishing 1' 'clock_status{status="synchronized"} 1' \
		'clock_disruptions_total{cause="step"} 1' \
		'clock_disruptions_total{cause="fake"} 1'; do
	grep -qF "tsctrace_$line" /tmp/metrics || fail "$(cat /tmp/metrics)"
done

# The clock page of a killed daemon stays; its status becomes holdover after a while.
epoch=$(key epoch)
kill -9 $pid
wait $pid || true
is origin module || fail "killed, and the clock is from $(key origin)"
is epoch "$epoch" || fail "killed, and the epoch is $(key epoch)"
wait_for "holdover" is status holdover

start
wait_for "a successor has taken over" is status synchronized
is epoch "$epoch" || fail "the successor's epoch is $(key epoch), not $epoch"
kill -TERM $pid
wait $pid || fail "SIGTERM: exit status $?"
is status holdover || fail "stopped, and still $(key status)"
[ ! -e /run/tsctrace/tsctraced.sock ] || fail "the socket is left behind"
rmmod tsctrace
echo "$source, epoch $epoch"
grep -v 'clock synchronized' $log
