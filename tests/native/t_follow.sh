#!/bin/bash
# SPDX-License-Identifier: MIT
# dump --follow: shows all events of a live recording, in order, and ends with the
# recorder.
. "$(dirname "$0")/record.sh"

flood=$helpers/flood

until_made() { wait_for "the recording $1 has begun" test -e "$1/metadata"; }	# DIR

follow() {	# NAME ARGUMENT...; sets: follower, the process
	"$ctl" dump --follow "${@:2}" >"$work/$1.out" 2>"$work/$1.err" & track follower
}

ends() { exits "$3" wait "$2"; }	# NAME PROCESS STATUS

# Recordings to follow: slow: two slow programs in sequence, the second with another
# event definition. fast: a flood of events. killed: a program without events.
"$ctl" record -q -o "$work/slow" -- sh -c "'$emit' 90 3 20000
	until [ -e '$work/go' ]; do sleep 0.1; done; '$flood' 1 500 2" \
	>/dev/null 2>&1 & track slow
"$ctl" record -q -o "$work/fast" -- "$emit" 700000 4 >/dev/null 2>&1 & track fast
# shellcheck disable=SC2016
"$ctl" record -q -o "$work/killed" -- sh -c 'echo $$ >"$1"; exec sleep 60' sh "$work/sleeping" \
	>/dev/null 2>&1 & track killed
declare -A recorders=([slow]=$slow [fast]=$fast) followers
# Recordings with --timestamps: their ticks are not TSC cycles
for ticks in system off tsc/256; do
	"$ctl" record -q --timestamps "$ticks" --sync-every 64 -o "$work/${ticks/\//-}" \
		-- "$emit" 2000 3 500 >/dev/null 2>&1 &
	recorders[${ticks/\//-}]=$!
done
for name in slow fast killed system off tsc-256; do
	until_made "$work/$name"
done
for name in "${!recorders[@]}"; do
	follow "$name" --raw "$work/$name"
	followers[$name]=$follower
done
follow some -n 20 "$work/slow"
some_follower=$follower
follow later --event later_than_this "$work/slow"
later_follower=$follower

# Events are shown while the recorder runs.
until_in "$work/slow.out" ' tick '
kill -0 "$slow" || fail "the recording ended before an event was shown"
ends some "$some_follower" 0
[ "$(wc -l <"$work/some.out")" = 20 ] || fail "-n with --follow"
kill -0 "$slow" || fail "-n waited for the end"
run 3 dump "$work/slow"
says 'dump: the recording is incomplete: it is still being recorded; events of the last second may be missing'
touch "$work/go"

# No wakeups without events: neither the recorder nor the follower polls.
follow killed "$work/killed"
switches() {
	awk '/^voluntary/ { print $2 }' "/proc/$follower/status"
}
before=none
while [ "$before" != "$(switches)" ]; do	# while it starts
	before=$(switches)
	sleep 0.5
done
# The recorder says each second how far it has read.
begin=$SECONDS
sleep 2.2
now=$(switches)
[ $((now - before)) -le $((2 * (SECONDS - begin) + 3)) ] || fail "idle, it woke up $((now - before)) times"

# The follower ends when the recorder is killed.
until_in "$work/sleeping" '[0-9]'
kill -9 "$killed" "$(cat "$work/sleeping")"
ends killed "$follower" 3
grep -q 'its recorder was killed' "$work/killed.err" ||
	fail "the kill of the recorder is not reported"

# The output of --follow is that of dump on the complete recording.
for name in "${!recorders[@]}"; do
	ok=0
	wait "${recorders[$name]}" || ok=$?
	wait "${followers[$name]}" || [ $? = "$ok" ] || fail "the follower of $name"
	"$ctl" dump --raw "$work/$name" >"$work/whole" 2>/dev/null || [ $? = 3 ]
	# In the complete recording an error bound may be smaller than --follow printed.
	sed -i 's/ +- *[0-9]*ns / /' "$work/$name.out" "$work/whole"
	cmp "$work/$name.out" "$work/whole" || fail "$name: differs from dump's output"
	! grep -q 'arrived late' "$work/$name.err" || fail "$name: events came late"
	[ ! -e "$work/$name/.flushed" ] || fail "$name/.flushed was left"
done
grep -q ' flood ' "$work/slow.out" || fail "no events that were defined later"
[ "$(wc -l <"$work/fast.out")" -gt 100000 ] || fail "few events of many"
wait "$later_follower" || [ $? = 3 ] || fail "an event that is never defined"
[ ! -s "$work/later.out" ] || fail "events are shown that were not selected"

# Ctrl-C ends the follower, not the recorder; the last line is complete.
# shellcheck disable=SC2016
"$ctl" record -q -o "$work/c" -- sh -c 'echo $$ >"$1"; exec "$2" 1000000 1 2000' \
	sh "$work/emitting" "$emit" >/dev/null 2>&1 & track recorder
until_made "$work/c"
follow c --json "$work/c"
until_in "$work/c.out" '"tick"'
kill -INT "$follower"
ends c "$follower" 0
tail -n 1 "$work/c.out" | grep -q '}}$' || fail "half a line"
kill -0 "$recorder" || fail "the recorder ended, too"

# The follower ends when another recording replaces the one that it reads.
follow c "$work/c"
until_in "$work/c.out" ' tick '
cp "$work/slow/metadata" "$work/c/other"
mv "$work/c/other" "$work/c/metadata"
ends c "$follower" 1
grep -q 'c: replaced by another recording' "$work/c.err" ||
	fail "the replaced recording is not reported"
kill -9 "$recorder" "$(cat "$work/emitting")"

# --follow does not wait on a recording that is complete, or whose recorder was killed.
run 0 dump --raw "$work/slow"
cp "$work/out" "$work/whole"
run 0 dump --raw --follow "$work/slow"
cmp "$work/out" "$work/whole" || fail "a complete recording"
run_says 3 'its recorder was killed' dump --follow "$work/killed"
run_says 2 'cannot be used with --sync' dump --follow --sync "$work/slow"
echo "$(wc -l <"$work/fast.out") events followed: fine"
