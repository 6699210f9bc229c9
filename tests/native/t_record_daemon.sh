#!/bin/bash
# SPDX-License-Identifier: MIT
# With a daemon as the provider: programs started before the recording are recorded,
# their earlier events are not; a second recorder of the same channel fails; programs
# of another user are not recorded.
. "$(dirname "$0")/record.sh"

export TSCTRACE_PROVIDER=daemon
"$daemon" 2>>"$work/daemon.log" & track server
until_in "$work/daemon.log" 'clock synchronized'

run 0 record -o "$work/a" -- "$emit" 5000 2
says 'rings: daemon; clock: [a-z_]* by daemon, synchronized'
[ "$(babeltrace_events "$work/a")" = 10001 ] || fail "babeltrace2"

# The clock is disrupted meanwhile: no bound is known for the time until it is calibrated
# again, and bounds are for all other events. The program goes on until that is over.
{
	until_on_disk "$work/broken" 10
	: >"$work/daemon.log"
	"$ctl" clock --fake-disruption >/dev/null
	until_in "$work/daemon.log" 'clock synchronized: .*, epoch [0-9]*$'
	sleep 1
	kill "$(cat "$work/pid")"
} &
# shellcheck disable=SC2016 # for the inner shell
run 0 record -o "$work/broken" -- sh -c 'echo $$ >"$1"; exec "$2" 100000000 1 1000' \
	sh "$work/pid" "$emit"
wait $!
says 'clock: [a-z_]* by daemon, [a-z]*, for a part of the time, no bound is known$'
run_shows 0 '; for a part of the time, no bound of the times is known$' stat "$work/broken"
shows '^  *events within [0-9]* to [0-9]* ns, half of them within [0-9]* ns; [0-9]* events* without'
shows '^  *DISRUPTED during the recording'
run 0 dump --error "$work/broken"
n=$(grep -c '+-   unknown' "$work/out")
[ "$n" -gt 0 ] && [ "$n" -lt "$(wc -l <"$work/out")" ] || fail "$n events without a bound"

# Without a reader, the rings fill up with old events, and new ones are lost.
"$emit" 300000 1 >"$work/first" &
wait $!
# Prints the number of events that programs have written or lost.
tried() {
	"$ctl" channel list --json | python3 -c 'import json, sys
print(sum(c["events"] + sum(c["lost"].values()) for c in json.load(sys.stdin)
          if c["name"] == "default"))'
}
before=$(tried)
"$emit" 100000000 1 500 >/dev/null & track emitting
emits() { [ "$(tried)" -gt $((before + 100)) ]; }
wait_for "the program has emitted more than 100 events" emits
"$ctl" record -o "$work/b" 2>"$work/err" & track pid
until_on_disk "$work/b" 100
end_by INT "$pid" "recorder of a running program:" "$work/err"
says 'rings: daemon'
# The program pauses for half a millisecond after each event.
run 0 stat --json "$work/b"
most=$((2 + ($(number end_ns "$work/out") - $(number begin_ns "$work/out")) / 500000))
run 0 dump --event tick "$work/b"
n=$(wc -l <"$work/out")
[ "$n" -le "$most" ] || fail "$n events, of at most $most"
head -n 1 "$work/out" | grep -vq ' nr=[0-9]$' || fail "old events were recorded"
run 0 record --blocks 2 -o "$work/sizes" --duration 0.1
says 'channel default: exists; its 64 blocks of 16384 bytes are not changed'
run 0 stat --json "$work/b"
begin=$(sed -n 's/^  "begin_ns": "\([0-9]*\)",/\1/p' "$work/out")
run 0 dump --json -n 1 "$work/b"
first=$(sed 's/.*"time_ns":"\([0-9]*\).*/\1/' "$work/out")
[ "$first" -ge "$begin" ] || fail "an event from before the beginning"

# A second recorder of the same channel fails.
"$ctl" record -v -o "$work/c" 2>"$work/c.err" & track pid
until_in "$work/c.err" 'recording: [1-9]'
run 1 record -o "$work/d" -- touch "$work/ran"
says 'channel default: already being recorded; stop that recording, or use another channel with -c'
[ ! -e "$work/ran" ] || fail "the program ran"
[ ! -e "$work/d" ] || fail "a directory was made"
run 0 record -c second -o "$work/e" -- "$emit" 10
end_by INT "$pid" "the first recorder"
run 0 record -o "$work/d" -- "$emit" 10

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" "$emit"
	run 0 record -o "$work/f" -- "${nobody[@]}" "$emit" 10
	[ -z "$("$ctl" dump --event every "$work/f" 2>/dev/null)" ] ||
		fail "events of another user are recorded"
fi

# If the daemon ends, record goes on recording the programs that are attached, and reports
# that programs started later are not recorded, until the daemon runs again.
"$ctl" record -v -o "$work/g" 2>"$work/g.err" & track pid
until_in "$work/g.err" 'recording: [1-9]'
stop_daemon
until_in "$work/g.err" 'record: tsctraced ended: programs started from now on are not recorded; start tsctraced again'
events() {
	sed -n 's/^recording: \([0-9]*\) .*/\1/p' "$work/g.err" | tail -n 1
}
before=$(events)
go_on() { [ "$(events)" -gt "$before" ]; }
wait_for "attached programs are still recorded" go_on
"$emit" 10 >"$work/out" || true
"$daemon" 2>"$work/daemon2.log" & track server
until_in "$work/g.err" 'record: tsctraced runs again, and provides the channels'
"$emit" 10 >"$work/out" || fail "emit"
end_by INT "$pid" "recorder whose daemon was restarted:" "$work/g.err"
[ "$(grep -c 'from now on are not' "$work/g.err")" = 1 ] || fail "reported more than once"
run 0 stat "$work/g"
run_shows 0 '^  "provider_gone": false,' stat --json "$work/g"
run 0 dump --event every "$work/g"
[ "$(wc -l <"$work/out")" = 1 ] || fail "not only the program after the restart is recorded"

# While a program does not run, its daemon is restarted, and the recording of its channel
# ends, so that the channel's memory is freed: the program defines its events again.
"$ctl" record -v -o "$work/i" 2>"$work/i.err" & track pid
until_in "$work/i.err" 'recording: [1-9]'
stop_daemon
until_in "$work/i.err" 'record: tsctraced ended'
suspend "$emitting"
"$daemon" 2>"$work/daemon3.log" & track server
until_in "$work/i.err" 'record: tsctraced runs again, and provides the channels'
end_by INT "$pid" "recorder of a stopped program:" "$work/i.err"
kill -CONT "$emitting"

# The daemon does not return.
"$ctl" record -v -o "$work/h" 2>"$work/h.err" & track pid
until_in "$work/h.err" 'recording: [1-9]'
kill "$server"
until_in "$work/h.err" 'record: tsctraced ended'
kill -INT "$pid"
exits 3 wait "$pid"
grep -q '^  tsctraced ended during the recording' "$work/h.err" || fail "the end of the daemon is not reported"
run_says 3 'stat: tsctraced ended during the recording: programs started' stat "$work/h"
run_shows 3 '^  "provider_gone": true,' stat --json "$work/h"
