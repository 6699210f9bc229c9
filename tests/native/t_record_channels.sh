#!/bin/bash
# SPDX-License-Identifier: MIT
# Several channels in one recording: all are drained even if one is very busy. In each,
# published = recorded + lost events, also if the recorder is stopped for a while (as by
# a slow disk), the disk is full, or the daemon ends. The files of a killed recorder are
# readable. The recorder's CPU time is reported, and low.
. "$(dirname "$0")/record.sh"

flood=$helpers/flood

refused() {	# PATTERN ARGUMENT...
	run_says 2 "$1" record "${@:2}" -o "$work/x" -- touch "$work/ran"
	[ ! -e "$work/x" ] && [ ! -e "$work/ran" ] || fail "the recording began in spite of the error"
}
refused "invalid channel name 'b/c'" -c a -c b/c
refused 'c: a is given twice; remove one' -c a -c b -c a
many=()
for i in {1..17}; do
	many+=(-c "c$i")
done
refused '17 channels are too many for one recording; use up to 16' "${many[@]}"
refused "events: '' enables no events; name some" --events ''
run_says 2 'record: --events needs a command to run' record --events 'a*' -o "$work/x"
# shellcheck disable=SC2016
run 0 record --events 'a*,-b' -o "$work/env" -- \
	sh -c 'echo "$TSCTRACE_EVENTS $TSCTRACE_CHANNEL"'
shows '^a\*,-b default$'
run 0 record --events 'job_*,-job_end' -o "$work/some" -- "$helpers/oneshot" typed
says 'some: 10 events'
run_shows 0 '^default  *job_begin  *begin  *10 ' stat "$work/some"
run_says 0 'every: 30 events' record -o "$work/every" -- "$helpers/oneshot" typed
run_says 0 'most: 11 events' record "${many[@]:0:32}" -o "$work/most" -- "$emit" 10

# Compares the writers' counts of each channel with those in the summary.
check_sums() {	# CHANNEL=FLOOD'S-OUTPUT... (the recording's JSON is in $work/out)
	python3 - "$work/out" "$@" <<'END' || fail "the balance"
import json, sys
rec = json.load(open(sys.argv[1]))
by = {c["name"]: c for c in rec["channels"]}
for pair in sys.argv[2:]:
    name, path = pair.split("=")
    words = open(path).read().split()
    tried, written = int(words[1]), int(words[3])
    c, b = by[name], by[name]["balance"]
    assert b["exact"], b
    assert written == b["published"] == b["recorded"] + b["lost"], (name, words, b)
    assert tried == written + b["never_published"], (name, words, b)
    assert c["events"] == b["recorded"] == sum(x["events"] for x in c["cpus"])
    assert b["lost"] + b["never_published"] == \
        sum(sum(x["lost"].values()) for x in c["cpus"])
b = rec["balance"]
assert b["exact"] and b["published"] == b["recorded"] + b["lost"], b
assert b["recorded"] == rec["events"]
assert rec["recorder"]["cpu_s"] > 0
print({n: (c["events"], round(c["mb_per_s"], 1)) for n, c in by.items()},
      "peak", rec["recorder"]["peak_bytes"] >> 20, "MiB")
assert rec["recorder"]["peak_bytes"] < 100 << 20
END
}

# --- a busy channel and a quiet one -----------------------------------------

cat >"$work/both" <<END
TSCTRACE_CHANNEL=loud "$flood" 1 4000000 1 >"$work/loud" &
TSCTRACE_CHANNEL=quiet "$flood" 1 2000 1 >"$work/quiet" &
wait
END
status=0
timeout 300 "$ctl" record --json -c quiet -c loud -o "$work/a" -- sh "$work/both" \
	>"$work/out" 2>"$work/err" || status=$?
check_sums quiet="$work/quiet" loud="$work/loud"
lost=$(awk '{ print $6 }' "$work/quiet")
[ "$lost" = 0 ] || fail "the quiet channel lost $lost events"
[ "$status" = "$(awk '{ print $6 ? 3 : 0 }' "$work/loud")" ] || fail "status $status"
"$ctl" stat "$work/a" >"$work/out" 2>/dev/null || [ $? = 3 ] || fail "stat"
shows "^quiet  *flood  *instant  *$(awk '{ print $4 }' "$work/quiet") "
# The busy channel may lose events or not, depending on the machine. There are fewer, as
# babeltrace2 takes seconds for a million.
sed -i 's/4000000/1000000/' "$work/both"
status=0
timeout 300 "$ctl" record -c quiet -c loud -o "$work/b" -- sh "$work/both" \
	>"$work/out" 2>"$work/err" || status=$?
[ "$status" = 0 ] || [ "$status" = 3 ] || fail "status $status"
says '^  channel quiet: [0-9]* events, [0-9.]* MB/s drained$'
says '^  channel loud: [0-9]* events, [0-9.]* MB/s drained$'
says '^  [0-9]* published = [0-9]* recorded + 0 lost'
"$ctl" stat --json "$work/b" >"$work/out" 2>/dev/null || [ $? = 3 ] || fail "stat"
[ "$(babeltrace2 "$work/b" 2>/dev/null | without_statedump | wc -l)" = \
	"$(number events "$work/out")" ] || fail "babeltrace2"
says '^  recorder: [0-9.]* s CPU time ([0-9.]* % of one CPU), [0-9.]* MB peak memory$'

# --- a slow disk ------------------------------------------------------------

# A stopped recorder behaves like one whose write() does not return.
start_daemon
run 0 channel create fly --policy overwrite --blocks 16
: >"$work/err"
"$ctl" record --json -v -c box -c fly --blocks 64 -o "$work/slow" >"$work/out" 2>"$work/err" & track recorder
until_in "$work/err" 'recording: '
TSCTRACE_CHANNEL=box "$flood" 10000 400000 1 >"$work/box" & track one
TSCTRACE_CHANNEL=fly "$flood" 10000 400000 1 >"$work/fly" & track two
of_channel() {	# NAME EXPRESSION of c
	"$ctl" channel list --json | python3 -c 'import json, sys
print(*(eval(sys.argv[2]) for c in json.load(sys.stdin) if c["name"] == sys.argv[1]))' "$@"
}
# A ring of fly has room for 6553 events of 40 bytes.
lose() {
	[ "$(of_channel box 'c["lost"]["full"]')" -gt "$full" ] &&
		[ "$(of_channel fly 'c["events"]')" -gt $((events + 7000 * $(nproc --all))) ]
}
for i in {1..3}; do
	until_written box 1000
	until_written fly 1000
	sleep 0.2
	suspend "$recorder"
	full=$(of_channel box 'c["lost"]["full"]') events=$(of_channel fly 'c["events"]')
	wait_for "events are lost while the recorder is stopped" lose
	[ $i = 3 ] || kill -CONT "$recorder"
done
kill "$one" "$two"
wait "$one" "$two"
kill -CONT "$recorder"
kill -INT "$recorder"
exits 3 wait "$recorder"
check_sums box="$work/box" fly="$work/fly"
[ "$(awk '{ print $6 }' "$work/box")" -gt 0 ] || fail "no event was refused: the test is void"
shows '"overrun": [1-9]'
events=$(number events "$work/out")
"$ctl" dump "$work/slow" >"$work/dump" 2>/dev/null || [ $? = 3 ] || fail "dump"
[ "$(wc -l <"$work/dump")" = "$events" ] || fail "dump has other events"

# --- a full disk ------------------------------------------------------------

: >"$work/err"
(ulimit -f 600
exec "$ctl" record --json -v -c box -c fly -o "$work/full") >"$work/out" \
	2>"$work/err" & track recorder
until_in "$work/err" 'recording: '
TSCTRACE_CHANNEL=box "$flood" 10000 100000 2 >"$work/box" & track one
exits 1 wait "$recorder"
kill "$one"
says 'full: File too large; the recording ends here'
wait "$one" || fail "the program failed when the recording ended"
"$ctl" dump "$work/full" >"$work/dump" 2>/dev/null || [ $? = 3 ] || fail "dump"
[ "$(wc -l <"$work/dump")" = "$(number recorded "$work/out")" ] ||
	fail "dump and the summary disagree"
grep -q '"exact": true' "$work/out" && ! grep -q '"exact": false' "$work/out" ||
	fail "the balance"

# --- a killed recorder, a killed daemon -------------------------------------

: >"$work/err"
"$ctl" record -v -c box -c fly -o "$work/killed" 2>"$work/err" & track recorder
until_in "$work/err" 'recording: '
TSCTRACE_CHANNEL=box "$flood" 10000 50000 1 >"$work/box" & track one
until_in "$work/err" 'recording: [1-9]'
until_on_disk "$work/killed" 10000
kill_now "$recorder"
# After the recorder was killed, the program continues, and a new recording works.
: >"$work/err"
"$ctl" record --json -v -c box -c fly -o "$work/next" >"$work/out" 2>"$work/err" & track recorder
until_in "$work/err" 'recording: [1-9]'
stop_daemon -9
until_in "$work/err" 'tsctraced ended: programs'
sleep 0.5
kill "$one" || fail "the program ended with the daemon"
wait "$one" || fail "the program failed without a daemon"
kill -INT "$recorder"
exits 3 wait "$recorder"
! grep -q '"exact": false' "$work/out" || fail "the balance without a daemon"
run 3 dump "$work/killed"
[ "$(wc -l <"$work/out")" -gt 10000 ] || fail "too few events on disk"
babeltrace2 "$work/killed" >/dev/null 2>"$work/bt-err" || fail "babeltrace2"
[ ! -s "$work/bt-err" ] || fail "babeltrace2: $(cat "$work/bt-err")"

# --- channels that are not to be recorded -------------------------------------

export TSCTRACE_PROVIDER=embedded
run 3 record -o "$work/elsewhere" -- env TSCTRACE_CHANNEL=other "$emit" 99
says '100 events of channel other not recorded; add it with -c'
run 3 record -q --json -o "$work/three" -- sh -c "$emit 9
	TSCTRACE_CHANNEL=a $emit 9; TSCTRACE_CHANNEL=b $emit 9"
says '20 events of channel a and others not recorded; add all of them with -c'
shows '"events_elsewhere": 20,'
run 0 record -c other -o "$work/named" -- env TSCTRACE_CHANNEL=other "$emit" 99

# --- CPU time of the recorder -----------------------------------------------

# An idle recorder looks at the rings 200 times a second and sleeps between. CPU time
# alone says little in a virtual machine, which counts time that its host took (steal).
unset TSCTRACE_PROVIDER
switches() { cat /proc/"$1"/task/*/status | awk '/^voluntary/ { n += $2 } END { print n }'; }
: >"$work/err"
mkfifo "$work/fifo"
"$ctl" record --json -v -c a -c b -c c -o "$work/idle" -- \
	sh -c "read -r _ <'$work/fifo'" >"$work/out" 2>"$work/err" & track recorder
until_in "$work/err" 'recording: '
began=$(date +%s%N) before=$(switches "$recorder")
has_woken() {
	woken=$(($(switches "$recorder") - before))
	[ "$woken" -ge 400 ]
}
wait_for "the idle recorder has woken 400 times" has_woken
ms=$((($(date +%s%N) - began) / 1000000))
echo >"$work/fifo"
wait "$recorder" || fail "the idle recorder: exit status $?"
cpu=$(number cpu_percent "$work/out")
[ $((woken * 10)) -lt $((ms * 3)) ] ||
	fail "the idle recorder wakes $woken times in $ms ms"
awk -v p="$cpu" 'BEGIN { exit !(p > 0 && p < 30) }' ||
	fail "the idle recorder takes $cpu % of a CPU"
echo "idle: $woken wakes in $ms ms, $cpu % of a CPU, with 3 channels"

# --- the recorder's priority: raised, but not that of the command --------------------
nice_of() {	# EXPECTED-OF-RECORDER EXPECTED-OF-COMMAND WRAPPER...
	local want="$1 $2" got
	rm -rf "$work/nice"
	# The recorder raises its priority after the command has started.
	# shellcheck disable=SC2016
	"${@:3}" "$ctl" record -q -o "$work/nice" -- sh -c 'sleep 1; i=0
		until [ $(ps -o ni= -p $PPID) = $0 ] || [ $i = 100 ]; do sleep 0.1; i=$((i + 1)); done
		ps -o ni= -p $PPID; ps -o ni= -p $$' "$1" >"$work/out" 2>"$work/err" || fail "record failed"
	got=$(xargs <"$work/out")
	[ "$got" = "$want" ] || fail "nice values of recorder and command: $got, not $want"
}
highest=$(nice -n -20 nice 2>/dev/null)
[ "$highest" = -20 ] || highest=0
base=$(nice)
[ "$base" != 0 ] || nice_of "$highest" 0 env
nice_of $((base + 5)) $((base + 5)) nice -n 5
