#!/bin/bash
# SPDX-License-Identifier: MIT
# All losses are counted: events that programs tried to emit = recorded + counted as
# lost. At a million events per second none is lost. SECONDS_EACH=60 for a long run.
# test-timeout: 400
# test-alone: yes, two writers of a million events a second and the recorder need both CPUs
. "$(dirname "$0")/record.sh"

seconds=${SECONDS_EACH:-3}
flood=$helpers/flood

tally() {	# DIR: prints the numbers of events recorded and lost
	"$ctl" stat --json "$1" >"$work/stat" || [ $? = 3 ]
	awk '/^  "events":/ { events = $2 + 0 }
	     /^  "lost": / { on = 1; next } on && /^  }/ { on = 0 }
	     on { lost += $2 }
	     END { print events, lost + 0 }' "$work/stat"
}

# Each writer numbers its events in sequence. In the recording, the numbers of a writer
# must increase, and at most as many numbers may be missing as calls to emit were
# refused.
check_holes() {	# DIR REFUSED
	{ "$ctl" dump --raw --event flood "$1" || [ $? = 3 ]; } | awk -v refused="$2" '
		{ sub("writer=", "", $5); sub("nr=", "", $6); nr = $6 + 0
		  if (nr < next_nr[$5]) {
			print "writer " $5 ": " nr " again"; exit 1 }
		  missing += nr - next_nr[$5]; next_nr[$5] = nr + 1 }
		END { if (missing > refused) {
			print missing " missing, " refused " refused"; exit 1 } }' ||
		fail "gaps in the recording"
}

# RATE: records a flood of RATE events per second; sets: tried, written, refused,
# events, lost, status
one() {
	status=0
	rm -rf "$work/trace"
	"$ctl" record -o "$work/trace" -- "$flood" "$seconds" "$1" 2 \
		>"$work/out" 2>"$work/err" || status=$?
	cat "$work/err"
	read -r _ tried _ written _ refused <"$work/out" || fail "flood failed"
	read -r events lost < <(tally "$work/trace")
	echo "rate $1: tried $tried written $written refused $refused," \
		"recorded $events lost $lost, exit $status"
	[ "$tried" -gt 0 ] || fail "flood emitted no event"
	[ "$tried" -eq $((events + lost)) ] ||
		fail "$tried tried, not $events recorded + $lost lost"
	[ "$refused" -eq "$lost" ] || fail "$refused refused, $lost lost"
}

# A third of the time: to read all of this takes much longer than to record it.
seconds=$(((seconds + 2) / 3)) one 0
[ "$status" = $((lost > 0 ? 3 : 0)) ] || fail "exit status $status, $lost lost"
check_holes "$work/trace" "$refused"
# A ring holds the events of 65 ms, so that some are lost if the machine stalls. A program that is
# stopped at its end emits less.
for attempt in 1 2 3 4 5; do
	one 1000000
	[ "$lost" != 0 ] || [ "$tried" -le $((seconds * 800000)) ] || break
done
[ "$lost $status" = "0 0" ] || fail "$lost of $tried lost at a million a second"
[ "$tried" -gt $((seconds * 800000)) ] || fail "only $tried tried in $seconds s"
[ "$(babeltrace_events "$work/trace")" = "$events" ] || fail "babeltrace2"
