#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of recordings: all readers find all events in the result; inputs that are
# refused; incomplete, truncated and damaged recordings; a full disk, interrupts,
# progress on a terminal.
. "$(dirname "$0")/record.sh"
need mount umount pgrep

# Prints dump's lines without the column of nodes, which only merged recordings have.
lines() {	# DIR
	"$ctl" dump "$1" | sed 's/^\([0-9:.]*\) *[^[ ]* *\[/\1 [/; s/  */ /g'
}
readable() {	# DIR EVENTS: fails unless all readers find EVENTS events in DIR
	[ "$("$ctl" dump "$1" | wc -l)" = "$2" ] || fail "dump of $1"
	[ "$(babeltrace_events "$1")" = "$2" ] || fail "babeltrace2's count of $1"
	if command -v babeltrace >/dev/null; then
		[ "$(babeltrace "$1" 2>"$work/bt-err" | without_statedump | wc -l)" = "$2" ] ||
			fail "babeltrace's count of $1"
		[ ! -s "$work/bt-err" ] || fail "babeltrace: $(head -n 3 "$work/bt-err")"
	fi
}

# --- recordings of one node, made one after the other -------------------------------
"$ctl" record -q -o "$work/a" -- "$emit" 1000
"$ctl" record -q -o "$work/b" -- "$emit" 500
run 0 merge -o "$work/ab" "$work/a" "$work/b/"
says 'ab: 1502 events, 1 node, [0-9]* CPUs\?, .*each node.s own clock'
says '  node 1: .*; the same node as 0'
readable "$work/ab" 1502
cat <(lines "$work/a") <(lines "$work/b") >"$work/want"
lines "$work/ab" >"$work/got"
cmp "$work/want" "$work/got" || fail "not the same events"
run_shows 0 '1502 published = 1502 recorded + 0 lost' stat "$work/ab"
# Recordings a and b define the same two events; the merged recording defines each once.
[ "$(grep -c '^	event_0_' "$work/ab/metadata")" = 2 ] || fail "definitions"
# Merges the merged recording ab with a recording c.
"$ctl" record -q -o "$work/c" -- "$emit" 10
run 0 merge -q --json -o "$work/abc" "$work/ab" "$work/c"
[ ! -s "$work/err" ] || fail "-q prints something"
holds "$work/out" 'j["events"] == 1513 == sum(i["events"] for i in j["inputs"])' \
	'[n["how"] for n in j["nodes"]] == ["merged", "merged", "own"]' \
	'j["time"] == "own" and j["complete"] and not j["notes"]' \
	'int(j["begin"]) < int(j["end"]) and all(0 < n["error_ns"] < 1e6 for n in j["nodes"])'
readable "$work/abc" 1513
of_archives=()	# options that do not apply to OTF2 archives
if has_wing formats; then
	for format in json perfetto otf2 ctf text csv; do
		"$ctl" export -q -f $format -o "$work/x.$format" "$work/abc" || fail "export -f $format"
	done
	otf2-print "$work/x.otf2/traces.otf2" >/dev/null 2>"$work/err" || fail "otf2-print"
	[ ! -s "$work/err" ] || fail "otf2-print prints warnings"
	of_archives=("-o $work/o --fit linear $work/x.otf2" "-o $work/o -j 2 $work/x.otf2")
fi
# Ticks of 4 GHz, which some readers convert in floating point
run 0 merge -q --resolution 4G -o "$work/fine" "$work/a" "$work/b"
readable "$work/fine" 1502
lines "$work/fine" >"$work/got"
cmp "$work/want" "$work/got" || fail "not the same events at 4 GHz"
[ "$(stat -c %a "$work/fine")" = 700 ] || fail "others may read it"

# --- refused inputs and options ---------------------------------------------------------
cp -r "$work/a" "$work/copy"
refused 'copy: holds the same recording as .*; remove one or use --force' "$work/a" "$work/copy"
refused 'a: given twice; remove one or use --force' "$work/a" "$work/a/"
refused 'a: holds the same recording as' "$work/ab" "$work/a"
refused 'none: No such file or directory' "$work/a" "$work/none"
cp -r "$work/a" "$work/old"
sed -i 's/tsctrace_format = 3/tsctrace_format = 2/' "$work/old/metadata"
refused 'old: .*format 2' "$work/old"
run_says 1 'output directory .*/a is not empty; use a new one with -o' merge -o "$work/a" "$work/b"
for i in '-o o' "$work/a" "-o $work/o --fit parabola $work/a" "-o $work/o --resolution 5 $work/a" \
	"-o $work/o --resolution 1x $work/a" "-o $work/o -j 0 $work/a" "-o $work/o --align real $work/a" \
	"${of_archives[@]}"; do
	# shellcheck disable=SC2086
	run 2 merge $i
	none_left
done
# A recording that is still being written is merged only with --salvage.
start_daemon
"$ctl" record -q -c both -o "$work/d" & track recorder
until_in "$work/d/metadata" 'stream_0 = "name=both'
TSCTRACE_CHANNEL=both "$emit" 100 >/dev/null 2>&1
until_on_disk "$work/d" 100
refused 'd: not complete: it is still being written, or its recorder was killed; .*--salvage' "$work/a" "$work/d"
run 3 merge --salvage -o "$work/o" "$work/a" "$work/d"
says 'd: not complete; its present part is merged'
readable "$work/o" 1102
# After the merge, all commands report that the recording of node 1 was incomplete.
run 3 stat "$work/o"
says '(node 1): the recording was incomplete when it was merged; the last events may be missing'
shows '^node .* (1): NOT COMPLETE when it was merged'
! grep -q '^sum' "$work/out" || fail "stat prints a sum, but losses are unknown"
run 3 stat --json "$work/o"
holds "$work/out" 'not j["complete"] and [n["complete"] for n in j["nodes"]] == [True, False]'
run_says 3 '(node 1): the recording was incomplete when it was merged' dump "$work/o"
if has_wing report; then
	run 3 report -o "$work/o.html" "$work/o"
	grep -q '(node 1): its recording was not complete' "$work/o.html" ||
		fail "the report does not show that it is incomplete"
fi
run 3 merge --json -o "$work/oc" "$work/o" "$work/c"
says 'o: node 1, .*, was not complete when it was merged'
holds "$work/out" 'not j["complete"] and [n["complete"] for n in j["nodes"]] == [True, False, True]'
run 3 stat "$work/oc"
rm -r "$work/o"
end_by INT "$recorder" "the recorder"
run 0 merge -q -o "$work/o" "$work/d" "$work/a"
readable "$work/o" 1102
rm -r "$work/o"

# --- damage ------------------------------------------------------------------------------
cp -r "$work/a" "$work/x"
file=$(find "$work/x" -name 'default_*' -size +4k | head -n 1)
truncate -s -100 "$file"
refused "x: stream ${file##*/}: cut off in packet [0-9]* at byte $(stat -c %s "$file"); .*--salvage" "$work/b" "$work/x"
run_says 3 'x: stream .*: cut off' merge --salvage --json -o "$work/o" "$work/b" "$work/x"
holds "$work/out" 'j["missing"] == j["inputs"][1]["missing"] > 0 and not j["complete"]' \
	'j["events"] + j["missing"] == 1502'
missing=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["missing"])' "$work/out")
says "x: stream ${file##*/}: ends early; missing events: $missing"
run_shows 3 "1502 published = $((1502 - missing)) recorded + $missing lost" stat "$work/o"
# stat names the truncated file. stat counts the missing events as missing before the
# merge, not as lost by the recorder.
says "(node 1): file of channel default, CPU ${file##*_} was truncated or missing before the merge: missing events: $missing"
! grep -q 'lost while recording\|unwritten' "$work/out" "$work/err" ||
	fail "stat reports losses while recording"
shows "default truncated $missing"
readable_events=$(babeltrace2 "$work/o" 2>/dev/null | without_statedump | wc -l)
[ "$readable_events" = $((1502 - missing)) ] || fail "babeltrace2 reads $readable_events"
rm -r "$work/o"

# --- a full disk, interrupts, a terminal, with a long merge -----------------------------
mkdir "$work/big"
"$helpers/world" "$work/big" big 2000000
run_limited 5000 1 merge -o "$work/o" "$work/big/a" "$work/big/b"
says "$work/o: File too large; raise 'ulimit -f'"
none_left
mkdir "$work/small"
if mount -t tmpfs -o size=8m tmpfs "$work/small" 2>/dev/null; then
	at_exit+=('umount "$work/small" 2>/dev/null')
	run 1 merge -o "$work/small/o" "$work/big/a" "$work/big/b"
	says 'small/o: No space left on device; free some space'
	[ -z "$(ls -A "$work/small")" ] || fail "a partial result on the full disk"
fi
# Runs a merge and stops it (SIGSTOP) at its first output, before it can end. On a busy
# machine it may have ended by then, and is run again.
stopped() {	# COMMAND...; sets: pid, of the merge; shell, of the command
	local i
	pid=
	"$@" >"$work/out" 2>"$work/err" </dev/null & track shell
	for ((i = 0; i < 5000; i++)); do
		if [ -n "$(find "$work" -path '*/.o.*/default_*')" ]; then
			pid=$(pgrep -f -x "$ctl merge -j 1 -o $work/o $work/big/a $work/big/b") &&
				kill -STOP "$pid" 2>/dev/null &&
				[ -n "$(find "$work" -path '*/.o.*/default_*')" ] &&
				[ -z "$(find "$work" -path '*/.o.*/metadata')" ] && return
			# Stopped too late, or not at all
			[ -z "$pid" ] || kill -CONT "$pid" 2>/dev/null || true
		fi
		if [ -e "$work/o" ]; then
			wait "$shell" || true
			rm -rf "$work/o"
			"$@" >"$work/out" 2>"$work/err" </dev/null & track shell
		fi
		sleep 0.002
	done
	fail "merge writes nothing"
}
merge_big=("$ctl" merge -j 1 -o "$work/o" "$work/big/a" "$work/big/b")
for signal in INT TERM HUP; do
	stopped env --default-signal=INT "${merge_big[@]}"
	kill -$signal "$pid"
	kill -CONT "$pid"
	# Further signals arrive while merge deletes its output.
	for ((i = 0; i < 20; i++)); do
		kill -INT "$pid" 2>/dev/null || break
	done
	exits 1 wait "$shell"
	says 'o: interrupted; no result was written'
	none_left
done
# Runs a command on a new terminal. script(1) is not used: a SIGSTOP of the command
# would stop script, too, and after SIGCONT of both, script can miss the end of the
# command.
terminal='import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
# Progress is shown after a second. A merge that was stopped close to its end on a busy
# machine shows none, so another merge is tried.
for ((turn = 0; turn < 5; turn++)); do
	rm -rf "$work/o"
	stopped python3 -c "$terminal" "${merge_big[@]}"
	sleep 1.2
	kill -CONT "$pid"
	wait "$shell" || fail "on a terminal"
	grep -q '\[#* *\] *[0-9]* %.* M events/s' "$work/out" && break
done
[ "$turn" -lt 5 ] || fail "no progress is shown"
run 0 stat --json "$work/o"
[ "$(number events "$work/out")" = 4000000 ] || fail "not all events are there"
