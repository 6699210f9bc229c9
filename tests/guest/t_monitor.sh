#!/bin/sh
# SPDX-License-Identifier: MIT
# trace-ctl monitor prints the module's news, as text and as JSON, to root and to other
# users, and ends by signals, -n, --duration, a closed pipe, and without a module, which it does
# not load.
# guest-test: timeout=90 module=no
# guest-test: files=build/tools/trace-ctl,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
evidence="out err"
monitor=
cd "$(mktemp -d)"

trap 'kill -9 $monitor 2>/dev/null || true' EXIT

blink() {	# makes and removes a channel
	trace-ctl channel create blink >/dev/null
	trace-ctl channel remove blink >/dev/null
}

has_news() {	# PATTERN: makes news until there is a line
	grep -Eq "$1" out || { blink; false; }
}
start() {	# ARGUMENT...: starts a monitor, and waits until it prints news
	rm -f out
	trace-ctl monitor "$@" >out 2>err &
	monitor=$!
	wait_for "news" has_news .
}

ended() {	# WANTED-STATUS
	got=0
	wait $monitor || got=$?
	monitor=
	[ $got = "$1" ] || fail "the monitor ended with $got, not $1"
}

until_line() { wait_for "line '$1'" grep -Eq "$1" out; }

time='^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]{6}  '

# --- command line, no module ------------------------------------------------

run 2 trace-ctl monitor -n 0
grep -q "count: '0' is not a number from 1" err || fail "-n 0"
run 2 trace-ctl monitor --duration 0
run 2 trace-ctl monitor word
run 1 trace-ctl monitor
grep -q 'monitor: module not loaded, .*; load the module tsctrace$' err || fail "why"
[ ! -s out ] || fail "output without a module"

# A user's look-up of the family does not load the module, though the kernel can load it.
mkdir -p "/lib/modules/$(uname -r)"
cp $ko "/lib/modules/$(uname -r)"
depmod
modprobe tsctrace
[ -c /dev/tsctrace ] || fail "modprobe does not load the module"
rmmod tsctrace
cat >/tmp/modprobe <<'END'
#!/bin/sh
echo "$*" >>/tmp/asked
exec modprobe "$@"
END
chmod 755 /tmp/modprobe
echo /tmp/modprobe >/proc/sys/kernel/modprobe
run 1 su -s /bin/sh nobody -c 'unshare -rn trace-ctl monitor'
grep -q 'family-tsctrace' /tmp/asked || fail "the kernel did not look for a module"
! grep -q '^tsctrace ' /proc/modules || fail "a user has loaded the module"
rm -r "/lib/modules/$(uname -r)"
insmod $ko

# --- text -------------------------------------------------------------------

start
blink
until_line "${time}channel [0-9]+ made: blink, root, discard,kept\$"
until_line "${time}channel [0-9]+ removed: blink, root, discard,kept\$"
date -s "@$(($(date +%s) + 100))" >/dev/null
until_line "${time}clock disrupted by step: source tsc\$"
kill -TERM $monitor
ended 0
[ ! -s err ] || fail "errors"
start
kill -INT $monitor
ended 0

# --- JSON -------------------------------------------------------------------

start --json -n 4
blink
blink
ended 0
[ "$(wc -l <out)" = 4 ] || fail "not 4 lines"
[ "$(grep -Ec '^\{"time_ns":"[0-9]{19}","news":"[a-z_]+".*\}$' out)" = 4 ] || fail "JSON"
grep -q '"news":"channel_made","id":[0-9]*,"name":"blink","uid":0,"policy":"discard","kernel":false,"kept":true}' \
	out || fail "channel made"
start --json
date -s "@$(($(date +%s) - 100))" >/dev/null
until_line '"news":"clock_disrupted","cause":"step","source":"tsc","disruptions":"?[0-9]+"?\}'
kill $monitor
ended 0

# --- ends -------------------------------------------------------------------

run 0 trace-ctl monitor --duration 0.3
[ ! -s out ] || fail "news of nothing"
# The reader of the pipe ends; there is no news at which a write could fail.
{ got=0; trace-ctl monitor 2>err || got=$?; echo $got >status; } | true
[ "$(cat status)" = 0 ] || fail "a closed pipe gave $(cat status)"
rm -f status out
{ got=0; trace-ctl monitor 2>err || got=$?; echo $got >status; } | head -n 1 >out &
monitor=$!
has_ended() { [ -s status ] && [ -s out ] || { blink; false; }; }
wait_for "monitor | head ends" has_ended
wait $monitor
monitor=
[ "$(cat status) $(wc -l <out)" = "0 1" ] || fail "monitor | head"

# --- another user -----------------------------------------------------------

# Root's channels have no names; the user's own channels have. The name of a channel of
# the user stays known until it is removed, by whomever.
chmod 0666 /dev/tsctrace
chmod 0777 .
rm out
su -s /bin/sh nobody -c 'exec trace-ctl monitor' >out 2>err &
monitor=$!
wait_for "news of root's channels" has_news "${time}channel [0-9]+ made\$"
su -s /bin/sh nobody -c 'trace-ctl channel create mine && trace-ctl channel remove mine' \
	>/dev/null
until_line "${time}channel [0-9]+ removed: mine, nobody, discard,kept\$"
! grep -q blink out || fail "the user sees the name of root's channel"
kill $monitor
ended 0

# --- the module is unloaded --------------------------------------------------

start
unloads() { rmmod tsctrace 2>/dev/null; }	# fails while the monitor has the device open
wait_for "unloading" unloads
ended 1
tail -n 1 out | grep -Eq "${time}module unloaded\$" || fail "unloading"
grep -q 'monitor: module unloaded; load the module tsctrace$' err || fail "why"
echo "$(uname -r): ok"
