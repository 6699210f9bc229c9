#!/bin/sh
# SPDX-License-Identifier: MIT
# trace-ctl check, clock and status report the state of this guest correctly, with
# and without the module; with an unstable TSC they report the fallback.
# guest-test: timeout=120 boot=default,unstable module=no
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
evidence="json out jobs.out"
jobs=

trap '[ -z "$jobs" ] || kill -9 $jobs 2>/dev/null || true' EXIT

# Prints the value of a top-level key of the variable `json`.
value() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\"]*[^\",]\)\"\{0,1\},\{0,1\}\$/\1/p" json; }
is() { [ "$(value "$1")" = "$2" ] || fail "$1 is '$(value "$1")', not '$2'"; }

check() {	# WANTED ARGUMENT...
	want=$1 got=0
	shift
	trace-ctl check --json "$@" >json || got=$?
	[ "$got" = "$want" ] || fail "check $* gave $got, not $want"
}

online() { grep -c '"online": true' json; }
matches() { grep -c '"match": true' json; }

# --- the table of trace-ctl check -------------------------------------------

# With TSCT_BOOT=unstable, waits until the kernel no longer uses clocksource tsc.
is_as_booted() { [ "$TSCT_BOOT" = default ] || [ "$(cat $clocksource)" != tsc ]; }
wait_for "the kernel does not trust the TSC" is_as_booted

see_table() {	# BY ARGUMENT...
	by=$1
	shift
	if [ "$TSCT_BOOT" = default ]; then
		check 0 "$@"
		is usable true; is unstable false; is source tsc
		is clocksource tsc
	else
		check 1 "$@"
		is usable false; is unstable true; is source monotonic_raw
		value verdict | grep -q "fall back to monotonic_raw because.*unstable" ||
			fail "verdict: $(value verdict)"
	fi
	is checked_by "$by"
	is aux_match true
	[ "$(online) $(matches)" = "2 2" ] || fail "not two CPUs that match"
}

see_table "user space"
insmod $ko
see_table module
see_table module --run

trace-ctl check >out || [ "$TSCT_BOOT" = unstable ] || fail "check"
[ "$(grep -c '^ *[01] .* yes ' out)" = 2 ] || fail "not two lines that match"

# A CPU goes down and up.
echo 0 >$online
trace-ctl check --run --json >json || true
[ "$(online)" = 1 ] || fail "CPU 1 is off, but $(online) are online"
trace-ctl check >out || true
grep -q '^CPUs offline: 1$' out || fail "the text does not say so"
echo 1 >$online
see_table module --run

# --- the clock --------------------------------------------------------------

before=$(date +%s)
trace-ctl clock --json >json || fail "clock"
after=$(date +%s)
is source "$([ "$TSCT_BOOT" = default ] && echo tsc || echo monotonic_raw)"
is usable true
then=$(value time_ns)
then=${then%?????????}
[ $then -ge $((before - 1)) ] && [ $then -le $((after + 1)) ] ||
	fail "$then is not $before to $after"

# --- channels and their holders ---------------------------------------------

has_channels() {	# NUMBER
	trace-ctl status --json >json && [ "$(grep -c '^      "id": ' json)" = "$1" ]
}
see_channels() { wait_for "$1 channels" has_channels "$1"; }

see_channels 0
is programs_use module
# The path selects the test program `jobs`: the name alone is a builtin of the shell.
/usr/bin/jobs 4000000000 1 >jobs.out 2>&1 &
jobs=$!
see_channels 1
grep -q '"name": "default"' json || fail "no channel called default"
grep -q '"holders": 1' json || fail "not one holder"
trace-ctl status >out
grep -q '^ *[0-9]* default  *module  *root  *discard ' out || fail "status"
# Without a reader, written events stay unread.
has_unread() { trace-ctl status --json >json && grep -q '"unread": [1-9]' json; }
wait_for "events are written" has_unread
grep -q '"block": [0-9]' json || fail "no sequence of blocks"
trace-ctl status -p >out
grep -q '^       CPU [01] .*events [1-9][0-9]*, blocks [0-9]*, unread ' out ||
	fail "no figures per CPU"
trace-ctl top -p --once -d 0.5 >out || fail "top"
grep -q '^ *[0-9]* default  *[0-9.k]*  *[0-9.]*  *[0-9]*%  ' out || fail "top"
grep -q '^       CPU 0 ' out || fail "top does not show CPUs"
trace-ctl top --json -n 2 -d 0.3 >json || fail "top --json"
[ "$(grep -c '"name":"default"' json)" = 2 ] || fail "not two objects"
kill_now $jobs
jobs=
see_channels 0

# A channel of `channel create` stays until `channel remove`. `record --unread` records
# the events that programs wrote to the channel before the recording.
trace-ctl channel create box >out || fail "create"
grep -q '^channel box: id [0-9]*, discard,kept, ' out || fail "create"
trace-ctl channel create box >out 2>json && fail "created twice"
see_channels 1
TSCTRACE_CHANNEL=box /usr/bin/jobs 100000 2 >/dev/null 2>&1
trace-ctl record --unread -c box -o unread --duration 0.3 >out 2>json ||
	fail "record --unread"
grep -q '^unread: [1-9][0-9]* events' json || fail "nothing was unread"
grep -q ' published = [0-9]* recorded + 0 lost' json || fail "the sum"
trace-ctl channel remove box >out || fail "remove"
see_channels 0

# Events of a kernel module: the sample's tick has a switch, its other events have none.
insmod /lib/modules/tsctrace-sample.ko
trace-ctl channel disable sample 'ti*' >out || fail "disable"
grep -qx 'event tick: disabled' out || fail "no line about the tick: $(cat out)"
trace-ctl channel enable sample '*' >out || fail "enable"
[ "$(cat out)" = 'event tick: enabled' ] || fail "enable: $(cat out)"
! trace-ctl channel disable sample work_begin 2>out || fail "an event without switch"
grep -q "no event that can be enabled or disabled matches 'work_begin'" out || fail "no reason"
! trace-ctl channel disable nothing tick 2>out || fail "no such channel"
rmmod tsctrace-sample

# For a user without access to /dev/tsctrace, status names the device and the error.
chmod 0600 /dev/tsctrace
su -s /bin/sh nobody -c 'trace-ctl status' >out || fail "status as nobody"
grep -q '^module  *no: /dev/tsctrace: permission denied; ' out ||
	fail "no reason for the unprivileged user"

rmmod tsctrace
trace-ctl status >out
grep -q '^module  *no: /dev/tsctrace: module not loaded; ' out || fail "no module"
grep -q '^kernel events .*insmod' out || fail "no insmod"
echo "boot $TSCT_BOOT: ok"
