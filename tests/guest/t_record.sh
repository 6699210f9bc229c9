#!/bin/sh
# SPDX-License-Identifier: MIT
# Recording of programs' events from the module's rings, with the recorder's
# in-process clock: counts agree, time stamps increase, the source is right, a
# channel has only one recorder, and after it was killed the next one can start.
# guest-test: timeout=120 boot=default,unstable
# guest-test: files=build/tools/trace-ctl,build/examples/jobs
# guest-test: files=build/tests/guest/t_lib,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
cd "$(mktemp -d)"

recorder=
trap '[ -z "$recorder" ] || kill -9 $recorder 2>/dev/null || true' EXIT
evidence="err err2 err3"

# Removes the clock file that the daemon of an earlier test has left: record would use
# the clock file instead of the in-process clock.
rm -rf /run/tsctrace

source=tsc
[ "$TSCT_BOOT" = default ] || source=monotonic_raw

began=$(date +%s)
run 0 trace-ctl record -o a -- jobs 200000 2
grep -q "rings: module; clock: $source by in-process, " err || fail "summary"
events=$(sed -n 's/^a: \([0-9]*\) events.*/\1/p' err)
[ "$events" -ge 60 ] || fail "$events events of 20 jobs"
run 0 trace-ctl dump --raw a
[ "$(wc -l <out)" = "$events" ] || fail "dump has other events"
in_order out || fail "a time stamp decreases"
[ "$(grep -c ' job/begin ' out)" = 20 ] || fail "not 20 jobs"
[ "$(grep -c ' job/end ' out)" = 20 ] || fail "not 20 jobs"
run 0 trace-ctl stat --json a
grep -q "\"events\": $events," out || fail "stat has other events"
grep -q "map = clock.$source.value" a/metadata || fail "another clock"
[ $source = tsc ] || grep -q 'freq = 1000000000;' a/metadata ||
	fail "nanoseconds are not 1 GHz"

# The times of recorded events in `trace-ctl dump` are CLOCK_REALTIME.
run 0 trace-ctl dump --json -n 1 a
ns=$(sed 's/.*"time_ns":"\([0-9]*\).*/\1/' out)
s=$((ns / 1000000000))
[ $s -ge "$began" ] && [ $s -le "$(date +%s)" ] || fail "recorded at $s, not from $began on"

# One recorder at a time; a killed one does not count.
trace-ctl record -v -o b -- jobs 100000000 2 >/dev/null 2>err &
recorder=$!
wait_for "something is recorded" grep -q 'recording: [1-9]' err
status=0
trace-ctl record -o c -- true 2>err2 || status=$?
[ $status = 1 ] || fail "a second recorder gave $status"
grep -q 'already being recorded; stop that recording' err2 || fail "$(cat err2)"
[ ! -e c ] || fail "the second made its directory"
# The recorder writes events to disk every second: dump finds events while it runs.
has_events() { trace-ctl dump b >out 2>err3 || [ -s out ]; }
wait_for "something is written to disk" has_events
kill_now $recorder
recorder=
run 3 trace-ctl dump b
[ -s out ] || fail "nothing was on disk"
grep -q 'its recorder was killed' err || fail "dump"
run 0 trace-ctl record -o c --duration 0.1
killall -9 jobs || true

# Rings that programs write wake nobody: the recorder checks idle ones every 5 ms. What wakes it
# for kernel events is in t_idle.
trace-ctl record -q -o idle &
recorder=$!
switches() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/$recorder/status; }
wait_for "the recording begins" test -s idle/metadata
usleep 500000
before=$(switches) from=$(cut -d. -f1 /proc/uptime)
sleep 2
woken=$(($(switches) - before)) took=$(($(cut -d. -f1 /proc/uptime) - from + 1))
[ $woken -lt $((250 * took)) ] || fail "idle: woken $woken times in $took s"
end_by INT $recorder
recorder=

# A full disk ends the recording with an error.
mkdir small
mount -t tmpfs -o size=64k tmpfs small
cat >fill.sh <<'END'
t_lib emit 5
until trace-ctl dump small/d 2>/dev/null | grep -q fill; do :; done
cat /dev/zero >small/zeros 2>/dev/null
t_lib emit 5000
END
run 1 trace-ctl record -o small/d -- sh fill.sh
grep -q 'No space left on device; the recording ends here' err || fail "full disk"
run 3 trace-ctl dump small/d
[ -s out ] || fail "nothing was saved"
umount small
echo "$events events by $source; idle: woken $woken times in $took s"
