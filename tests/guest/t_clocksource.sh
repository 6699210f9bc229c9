#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernel's clocksource changes and changes back: daemon and module detect it,
# and the clock is synchronized again, possibly with the TSC as source all the
# time, since an invariant TSC remains usable.
# guest-test: timeout=120
# guest-test: files=build/daemon/tsctraced,build/tools/trace-ctl,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
log=/tmp/tsctraced.log
evidence=$log
poll_us=300000

key() {
	trace-ctl clock --json 2>/dev/null |
		sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p"
}
is() { [ "$(key "$1")" = "$2" ]; }
above() { [ "$(key "$1")" -gt "$2" ]; }
switch() {	# CLOCKSOURCE
	epoch=$(key epoch)
	echo "$1" >$clocksource
	[ "$(cat $clocksource)" = "$1" ] || fail "the clocksource did not change"
	wait_for "the switch to $1 is noticed" above epoch "$epoch"
	wait_for "synchronized by $1" is status synchronized
	is clocksource "$1" || fail "the clocksource is $(key clocksource)"
	is cause clocksource || fail "the cause is $(key cause)"
	before=$(date +%s)
	seconds=$(($(key time_ns) / 1000000000))
	after=$(date +%s)
	[ $seconds -ge $((before - 1)) ] && [ $seconds -le $((after + 1)) ] ||
		fail "$seconds is not $before to $after"
}

# Restores the kernel's clocksource at any exit, for the tests that follow.
was=$(cat $clocksource)
trap 'echo "$was" >$clocksource' EXIT
mkdir -p /run
tsctraced -v 2>$log &
pid=$!
wait_for "synchronized" is status synchronized
is source tsc || fail "the source is $(key source)"
case $(cat ${clocksource%/*}/available_clocksource) in
*hpet*) other=hpet ;;
*) other=acpi_pm ;;
esac
switch $other
switch tsc
echo "$other and back, source $(key source), epoch $(key epoch)"
end_by TERM $pid
