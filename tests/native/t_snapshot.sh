#!/bin/bash
# SPDX-License-Identifier: MIT
# Snapshots of flight recorders: of running programs, without gaps and without
# stopping them; of a killed program; of several at once; and to a full disk. Events
# copied + events overwritten before = events written.
. "$(dirname "$0")/record.sh"

flood=$helpers/flood

run_says 2 "unexpected argument 'what'; use -c for channels" snapshot what
run 2 snapshot --blocks 4

start_daemon
run 1 snapshot -o "$work/x"
says "no flight recorder found; create one with 'trace-ctl channel create NAME --policy overwrite'"
run_says 1 "snapshot: 'none': no such channel; " snapshot -c none -o "$work/x"
run_says 1 'snapshot: .*: directory .* does not exist' snapshot -o "$work/no/where"
[ ! -e "$work/x" ] || fail "a directory was made"

# --- an empty channel, then a few events ----------------------------------------

run 0 channel create fly --policy overwrite --blocks 64
run_says 0 'empty: 0 events' snapshot -o "$work/empty"
babeltrace2 "$work/empty" >"$work/bt" 2>&1 || fail "babeltrace2 of nothing"
without_statedump <"$work/bt" >"$work/out"
[ ! -s "$work/out" ] || fail "events in nothing"
TSCTRACE_CHANNEL=fly "$emit" 100 2 >/dev/null
run_says 0 'channel fly: 201 events over [0-9.]* [mu]s, 0 older overwritten' snapshot -o "$work/few"
[ "$(babeltrace_events "$work/few")" = 201 ] || fail "babeltrace2"
run_says 1 'output directory .* is not empty; use a new one' snapshot -o "$work/few"
# The events stay in the rings: a second snapshot has them, too.
run 0 snapshot -q -o "$work/again"
[ ! -s "$work/err" ] || fail "-q is not quiet"
"$ctl" dump --raw "$work/few" >"$work/1"
"$ctl" dump --raw "$work/again" | diff - "$work/1" || fail "the second snapshot differs"

# Snapshot has the options --timestamps, --sync-every and --fsync of record. With every
# kind of timestamps, the recording has the same events.
for kind in tsc tsc/16 tsc/256 interpolated system system/256 off; do
	dir=$work/as-${kind/\//-}
	run 0 snapshot -q --timestamps "$kind" --sync-every 2^4 --fsync end -o "$dir"
	grep -q "^	timestamps = \"$kind\";" "$dir/metadata" || fail "$kind: metadata"
	grep -q '^	fsync = "end";' "$dir/metadata" || fail "$kind: fsync"
	run_shows 0 "^ticks *$kind; " stat "$dir"
	shows 'a packet ends after 16 events'
	run 0 dump "$dir"
	sed 's/.*\[/[/' "$work/out" | sort >"$work/1"
	"$ctl" dump "$work/few" | sed 's/.*\[/[/' | sort | diff -q - "$work/1" ||
		fail "$kind: other events"
	[ "$(babeltrace_events "$dir")" = 201 ] || fail "$kind: babeltrace2"
done
# --timestamps system: the time of the event, not of the copy.
from=$("$ctl" dump --json -n 1 "$work/few" | sed -n 's/.*"time_ns": *"\([0-9]*\).*/\1/p')
to=$("$ctl" dump --json -n 1 "$work/as-system" | sed -n 's/.*"time_ns": *"\([0-9]*\).*/\1/p')
off=$((from > to ? from - to : to - from))
[ "$off" -lt 100000 ] || fail "--timestamps system differs by $off ns"
run 2 snapshot --timestamps sundial -o "$work/x"
says "--timestamps: invalid value 'sundial'; use tsc, tsc/16, "
run 2 snapshot --sync-every 3k -o "$work/x"
run 2 snapshot --fsync often -o "$work/x"

# --- snapshots of running programs ----------------------------------------------

# Each writer stays on its CPU, so the numbers in a ring have no gaps.
floods=()
for cpu in $(taskset -cp $$ | sed 's/.*: //; s/-/ /; s/,/ /g' | cut -d ' ' -f 1-2); do
	TSCTRACE_CHANNEL=fly taskset -c "$cpu" "$flood" 4 0 1 \
		>"$work/flood-$cpu" &
	floods+=("$!")
done
until_written fly 100000
for i in {1..8}; do
	run 0 snapshot --json -o "$work/run$i"
	[ "$(number events "$work/out")" -gt 1000 ] || fail "few events"
	[ "$(number overwritten "$work/out")" -gt 1000 ] || fail "few overwritten events"
	"$ctl" dump --raw --event flood "$work/run$i" | awk '
		{ sub("nr=", "", $6)
		  if ($2 in next_nr && $6 != next_nr[$2]) {
			print "CPU " $2 ": " $6 " for " next_nr[$2]; exit 1 }
		  next_nr[$2] = $6 + 1 }' || fail "a gap in snapshot $i"
done
[ "$(babeltrace_events "$work/run8")" = "$(number events "$work/out")" ] ||
	fail "babeltrace2"
# A snapshot while a recorder reads the same channel
"$ctl" record -c fly -o "$work/live" --duration 1 2>"$work/live-err" & track live
run 0 snapshot -c fly -o "$work/beside"
wait "$live" || [ $? = 3 ] || fail "exit status of the concurrent recorder"
grep -q ' published = [0-9]* recorded + [0-9]* lost' "$work/live-err" ||
	fail "no balance of the concurrent recorder: $(cat "$work/live-err")"
for pid in "${floods[@]}"; do
	wait "$pid" || fail "flood"
done
tried=$(awk '{ n += $2 } END { print n }' "$work"/flood-[0-9]*)
written=$(awk '{ n += $4 } END { print n }' "$work"/flood-[0-9]*)
[ "$tried" = "$written" ] || fail "writers lost events during snapshots"

# After the writers have ended: copied + overwritten = written.
run 0 snapshot --json -c fly -o "$work/rest"
all=$(($(number events "$work/out") + $(number overwritten "$work/out")))
[ "$all" = $((written + 201)) ] || fail "$all of $((written + 201)) events"

# --- a killed program, several channels, a channel by its id --------------------

run 0 channel create second --policy overwrite --block-size 4096 --blocks 4
TSCTRACE_CHANNEL=second "$flood" 100 100000 2 >/dev/null & track pid
until_written second 1000
kill_now "$pid"
run_says 0 '^  channel fly: [1-9]' snapshot -o "$work/both"
says '^  channel second: [1-9]'
run 0 snapshot -c 2 -o "$work/one"
! grep -q ' fly' "$work/err" || fail "another channel is included"
both=$(sed -n 's/^.*both: \([0-9]*\) events.*/\1/p' "$work/err")
[ -n "$both" ] || both=$("$ctl" dump "$work/both" | wc -l)
[ "$(babeltrace_events "$work/both")" = "$both" ] || fail "babeltrace2"
ls "$work/both"/fly_* "$work/both"/second_* >/dev/null || fail "a channel has no file"

# Events that were never published are reported, and change the exit status.
TSCTRACE_CHANNEL=second "$helpers/oneshot" big || fail "the event is not too big"
run_says 3 'channel second LOST since its creation: too_big 1$' snapshot -c second -o "$work/lost"
run 3 dump "$work/lost"
# record also reports unpublished events of a flight recorder.
run_says 3 'LOST: too_big 1$' record -f -c second --duration 0.1 -o "$work/flown"
says '(full, too_big, nested, aborted, refused and no_ring are counted since the channel was created'
says ' recorded + 0 lost; 1 event was never published$'
run 3 stat "$work/flown"
run_says 3 'LOST: too_big 1$' record -f --block-size 4096 -o "$work/fresh" -- "$helpers/oneshot" big
! grep -q 'since the channel' "$work/err" || fail "the channel is new: no losses are older than the recording"
run 0 channel remove second

# Readers skip hidden files: the leading dot of a channel's name is replaced.
"$helpers/oneshot" dot || fail "no channel with a dot in front"
run 0 snapshot -c .dot -o "$work/dots"
run_shows 0 '^_dot  *tick  *instant  *1 ' stat "$work/dots"
[ "$(babeltrace_events "$work/dots")" = 1 ] || fail "babeltrace2 of a dot"
run 0 channel remove .dot

# --- a full disk ------------------------------------------------------------------

run_limited 200 1 snapshot -c fly -o "$work/full"
says 'full: File too large; the events written so far are readable; raise'
"$ctl" dump "$work/full" >"$work/out" 2>/dev/null || [ $? = 3 ] || fail "not readable"
[ -s "$work/out" ] || fail "the recording has no events"

# --- record -f: a recording of a flight recorder ----------------------------------

unset TSCTRACE_PROVIDER
cat >"$work/flying" <<END
"$flood" 1 0 1 >"$work/flood-out"
"$ctl" snapshot -q -o "$work/meanwhile" || echo "snapshot: \$?"
END
TSCTRACE_PROVIDER=embedded run 0 record --json -f --blocks 16 -o "$work/flight" -- \
	sh "$work/flying"
! grep -q snapshot: "$work/out" || fail "a snapshot during the recording fails"
all=$(($(number events "$work/out") + $(number overwritten "$work/out")))
[ "$all" = "$(awk '{ print $4 }' "$work/flood-out")" ] || fail "$all events copied or overwritten"
[ "$(number overwritten "$work/out")" -gt 1000 ] || fail "nothing was overwritten"
"$ctl" dump --raw "$work/flight" >"$work/1"
"$ctl" dump --raw "$work/meanwhile" | diff -q - "$work/1" || fail "the snapshot and the recording differ"
run_says 2 'invalid ring size: .* 4 to 65536 blocks' record -f --blocks 2 -o "$work/x" -- true
export TSCTRACE_PROVIDER=daemon
run 0 channel create box
run_says 1 'channel box: exists and is not a flight recorder' record -f -c box -o "$work/x" -- true

# --- the clock was stepped after an event -------------------------------------------

# The daemon's CLOCK_REALTIME is set forward by 100 s. The clock then has other params, of another
# epoch: the bound of an event from before the step includes the step, or is unknown.
stop_daemon
export FAKE_STEP=$work/step
LD_PRELOAD=$helpers/fakeclock.so start_daemon
epoch() { "$ctl" clock --json | sed -n 's/.*"epoch": *\([0-9]*\).*/\1/p'; }
is_later() { [ "$(epoch)" -gt "$before" ] && "$ctl" clock | grep -q '^status.*synchronized'; }
run 0 channel create old --policy overwrite
run 0 channel create unread
wait_for "a synchronized clock" sh -c "'$ctl' clock | grep -q '^status.*synchronized'"
"$ctl" record -q -f -c old --timestamps system -o "$work/stepped-flight" 2>"$work/flight.log" &
track flight
wait_for "the flight recorder runs" catches "$flight"
before=$(epoch)
emitted=$(date +%s%N)
TSCTRACE_CHANNEL=old "$emit" 1 1 >/dev/null
TSCTRACE_CHANNEL=unread "$emit" 1 1 >/dev/null
: >"$work/step"
wait_for "an epoch after the step" is_later
for kind in tsc system system-interpolated; do
	run 0 snapshot -q -c old --timestamps $kind -o "$work/stepped-$kind"
done
run 0 record -q --unread -c unread --duration 0.1 --timestamps system -o "$work/stepped-unread"
end_by INT "$flight" "record -f" "$work/flight.log"
for kind in tsc system system-interpolated flight unread; do
	run 0 dump --json --error=clock -n 1 "$work/stepped-$kind"
	off=$(($(number time_ns "$work/out") - emitted)) error=$(number error_ns "$work/out" || true)
	# 50 s: the machine may have stalled before the program emitted.
	[ -z "$error" ] || [ ${off#-} -lt $((50000000000 + error)) ] ||
		fail "$kind: an event from before the step: off by $off ns, stated: $error ns"
	run_shows 0 'DISRUPTED during the recording' stat "$work/stepped-$kind"
done

# --- the daemon is killed -----------------------------------------------------------

stop_daemon -9
run_says 1 'no provider of channels .*start tsctraced' snapshot -o "$work/x"
echo "$written events, 8 snapshots: fine"
