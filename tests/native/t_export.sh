#!/bin/bash
# SPDX-License-Identifier: MIT
# export: each format, read by independent readers, against dump; filters; no partial
# output remains after an error.
# test-wing: formats
. "$(dirname "$0")/record.sh"
need babeltrace babeltrace2 otf2-print

kinds=$helpers/kinds
mkdir "$work/a"
"$kinds" "$work/a" 20
rec=$work/a

# Compares an export with the output of dump; sets $arrows, the number of messages.
check() {	# FORMAT EXPORT TRUTH
	local out proto=()
	[ "$1" != perfetto ] || proto=("$here/perfetto.proto")
	out=$(/usr/bin/python3 "$here/exportcheck.py" "$@" "${proto[@]}" \
		2>&1) || fail "$1: $out"
	arrows=${out#* }
	[ "${out% *}" = "$(wc -l <"$3")" ] || fail "$1: $out"
}

# Exports the whole recording in all formats. The recorder had lost 5 events, which
# export must report.
run 3 dump --json --error "$rec"
cp "$work/out" "$work/truth"
for format in ctf ctf2 otf2 perfetto json csv; do
	run 3 export -f "$format" -o "$work/a.$format" "$rec"
	says '^trace-ctl export: .*: 609 events of 6 threads$'
	says '5 events were lost while recording: full 5'
	check "$format" "$work/a.$format" "$work/truth"
	case $format in
	otf2) says '4 messages have only a send or only a receive' ;&
	json | perfetto)
		[ "$format" != perfetto ] || grep -aq 'error bounds: CLOCK_REALTIME [0-9]* ns, UTC \([0-9]* ns\|unknown\)' \
			"$work/a.$format" || fail "$format: no error bounds"
		[ "$arrows" = 40 ] || fail "$format: $arrows messages, not 40"
		says '20 BEGIN or END events have no counterpart'
		says '20 slices are split in two' ;;
	esac
done
run 3 export -f text -o "$work/a.txt" "$rec"
run 3 dump --utc "$rec"
cmp "$work/out" "$work/a.txt" || fail "text is not what dump prints"

# exportcheck.py finds a difference of one nanosecond, one letter, one thread ID.
for wrong in s/1763678962123458426/1763678962123458427/ s/,plain,/,plaid,/ \
	s/,1,101,/,1,102,/ s/,instant,[0-9]*,/,instant,7,/; do
	sed "$wrong" "$work/a.csv" >"$work/wrong.csv"
	! /usr/bin/python3 "$here/exportcheck.py" csv "$work/wrong.csv" \
		"$work/truth" >/dev/null || fail "exportcheck.py does not find $wrong"
done

# Both versions of babeltrace warn only of the lost events.
babeltrace2 "$work/a.ctf" >/dev/null 2>"$work/err"
[ "$(grep -vc 'discarded 5 events' "$work/err")" = 0 ] || fail "babeltrace2"
babeltrace "$work/a.ctf" >"$work/out" 2>"$work/err"
says 'discarded 5 events'
[ "$(grep -vc 'discarded 5 events' "$work/err")" = 0 ] || fail "babeltrace"
[ "$(without_statedump <"$work/out" | grep -ac '^\[')" = 609 ] || fail "babeltrace: events"
otf2-print -A -Werror "$work/a.otf2/traces.otf2" >"$work/out" 2>"$work/err"
[ ! -s "$work/err" ] || fail "otf2-print"
shows 'Ticks per Seconds: 1000000000, Global Offset: 1763678962123457088'
shows 'TSCTRACE::LOST_EVENTS'
[ "$(grep -c '^MPI_SEND' "$work/out")" = 40 ] || fail "otf2-print: messages"
otf2-print -C "$work/a.otf2/traces.otf2" >"$work/out"
[ "$(grep -c '^CLOCK_OFFSET.*Offset: +0, StdDev: 1251$' "$work/out")" = 12 ] ||
	fail "clock offsets"

# --- slices of a thread that end in any order: fields that begin and end share pair them ----
cat >"$work/lines" <<'END'
@begin req i=1 text=a
@begin req i=2 text=b
@begin req i=3 text=c
@end req status=0 i=2
@end req status=0 i=3
@end req status=0 i=1
@begin plain
@begin plain
@end plain
@end plain
END
run 0 record -q -o "$work/any" -- bash -c '"$1" emit --stdin <"$2"' - "$ctl" "$work/lines"
run 0 dump --json "$work/any"
cp "$work/out" "$work/any.truth"
for format in json perfetto otf2; do
	[ "$format" != otf2 ] || has_wing otf2 || continue
	run 0 export -f "$format" -o "$work/any.$format" "$work/any"
	says ' 1 slices are split in two'
	! grep -q 'agree in their fields' "$work/err" || fail "$format: ambiguous"
	check "$format" "$work/any.$format" "$work/any.truth"
done
# The ends' field has the value of no open slice, of two and of one.
printf '@begin req i=1\n@begin req i=2\n@end req i=3\n@end req i=4\n@begin one i=1\n@end one i=2\n' \
	>"$work/lines"
run 0 record -q -o "$work/unclear" -- bash -c '"$1" emit --stdin <"$2"' - "$ctl" "$work/lines"
run_says 0 ': 3 END events agree in their fields with no open slice of their name' \
	export -f json -o "$work/unclear.json" "$work/unclear"
if has_wing report; then
	run 0 report -o "$work/unclear.html" "$work/unclear"
	grep -q '3 ends agree in their fields with no open span of their name' \
		"$work/unclear.html" || fail "the page does not say that spans are ambiguous"
fi

# A recording of a real program
run 0 record -q -o "$work/b" -- "$emit" 2000 2
run 0 dump --json --error "$work/b"
cp "$work/out" "$work/b.truth"
for format in ctf ctf2 otf2 perfetto json csv; do
	run 0 export -q -f "$format" -o "$work/b.$format" "$work/b"
	[ ! -s "$work/err" ] || fail "-q prints something"
	check "$format" "$work/b.$format" "$work/b.truth"
done
[ "$(babeltrace_events "$work/b.ctf")" = 4001 ] || fail "babeltrace2: events"

# babeltrace2 finds the same losses in the export and in the recording.
# DIR: prints the number of lost events, and of places where events were lost
lost_in() {
	babeltrace2 "$1" 2>&1 >/dev/null | sed -n 's/.*discarded \([0-9]*\) .*/\1/p' |
		awk '{ sum += $1 } END { print sum, NR }'
}
run 3 record -q --blocks 2 --block-size 4096 -o "$work/lossy" -- "$emit" 50000 2
run 3 export -f ctf -o "$work/lossy.ctf" "$work/lossy"
lost=$(lost_in "$work/lossy.ctf")
[ "${lost% *}" -gt 0 ] || fail "nothing was lost: $lost"
[ "$lost" = "$(lost_in "$work/lossy")" ] ||
	fail "lost: $lost in the export, $(lost_in "$work/lossy") before"
run 3 export -f ctf2 -o "$work/lossy.ctf2" "$work/lossy"
ctf2_lost=$(cd "$here" && python3 -c 'import sys, ctf2; print(ctf2.read(sys.argv[1])[1])' \
	"$work/lossy.ctf2")
[ "$ctf2_lost" = "${lost% *}" ] || fail "lost: $ctf2_lost in CTF 2, ${lost% *} in CTF 1.8"
# babeltrace2 reads CTF 2 from version 2.1 on.
if babeltrace2 "$work/a.ctf2" >"$work/out" 2>"$work/err"; then
	[ "$(grep -vc 'discarded 5 events' "$work/err")" = 0 ] || fail "babeltrace2: CTF 2"
	[ "$(babeltrace_events "$work/b.ctf2")" = 4001 ] || fail "babeltrace2: CTF 2: events"
	[ "$(lost_in "$work/lossy.ctf2")" = "$lost" ] || fail "babeltrace2: CTF 2: losses"
fi

# Compares the CSV export by each filter with a selection from the whole export.
selected() {	# PYTHON-CONDITION OPTION...
	run 3 export -f csv -o "$work/part.csv" "${@:2}" "$rec"
	/usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1], errors="surrogateescape"):
    e = json.loads(line)
    if eval(sys.argv[2]):
        print(line, end="")' "$work/truth" "$1" >"$work/part"
	[ -s "$work/part" ] || fail "nothing is selected by $1"
	check csv "$work/part.csv" "$work/part"
}
first=1763678962123457949	# time of the first event
begin=1763678962123457088
selected 'e["cpu"] != 1' --cpu 0,2
selected 'e["cpu"] != 1' --cpu 0 --cpu 2-99
selected 'e["tid"] in (0, 102)' --thread 0,102
selected 'e["event"] == "outer"' --event outer
selected 'e["event"] == "outer" and e["kind"] == "end"' --event 'o*/end'
selected 'e["kind"] == "counter" or e["event"] == "word"' \
	--event '*/counter' --event word
selected True --node 0
selected True --node "$(printf 'node "1", \303\251')"
selected "int(e['time_ns']) >= $begin + 20000 and int(e['time_ns']) < $begin + 50000" \
	--from +20us --to +50us
selected "int(e['time_ns']) >= $((first + 1))" --from $((first + 1))
selected "int(e['time_ns']) < $((first + 1))" --to $((first + 1))
selected "int(e['time_ns']) < 1763678962123500000" --to 2025-11-20T22:49:22.1235Z
TZ=UTC selected "int(e['time_ns']) >= 1763678962123500000" --from 22:49:22.1235
selected "e['cpu'] == 0 and e['tid'] == 100 and e['event'] == 'inner' and int(e['time_ns']) >= $begin + 40000" \
	--cpu 0 --thread 100 --event inner --from +40us
for format in ctf ctf2 otf2 perfetto json; do
	run 3 export -f $format -o "$work/c.$format" --event inner --event packet \
		--cpu 0-1 --from +40us "$rec"
	/usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1], errors="surrogateescape"):
    e = json.loads(line)
    if e["event"] in ("inner", "packet") and e["cpu"] < 2 and \
            int(e["time_ns"]) >= int(sys.argv[2]):
        print(line, end="")' "$work/truth" $((begin + 40000)) >"$work/part"
	check $format "$work/c.$format" "$work/part"
done
run_shows 3 '"ts":0.861,"ph":"i"' export -f json --relative -o - --to +1us "$rec"
shows "\"baseTimeNanoseconds\":$begin,"
run_shows 3 '^861,' export -f csv --relative -o - --to +1us "$rec"

# An export without events is readable.
for format in ctf ctf2 otf2 perfetto json csv text; do
	run 3 export -f $format -o "$work/empty.$format" --to +0 "$rec"
done
otf2-print -Werror "$work/empty.otf2/traces.otf2" >/dev/null
/usr/bin/python3 -m json.tool "$work/empty.json" >/dev/null

# Output file and default name
cd "$work"
run 3 export -f json a/
[ -f a.json ] || fail "the default name"
run 3 export -o of-csv.csv "$rec"
head -n 1 of-csv.csv | grep -q ^time_ns, || fail "the format by the file name"
echo old >old.txt && ln -s old.txt link.txt
run 3 export -q -o link.txt "$rec"
[ -L link.txt ] || fail "a link was replaced"
cmp -s old.txt a.txt || fail "output through a link"
mkdir empty && run 3 export -f ctf -o empty/ "$rec"
[ -s empty/metadata ] || fail "into an empty directory"
[ "$(stat -c %a a.json empty)" = "600
700" ] || fail "others may read it"
run 3 export -f text -o /dev/null "$rec"
[ -c /dev/null ] || fail "/dev/null was replaced"
# The default name of the output is the recording's name, also if that is given as ".".
rm a.json
(cd a && run 3 export -q -f json .)
[ -f a.json ] || fail "the default name of ."
(mkdir -p a.sub && cd a.sub && run 3 export -q -f csv ../a/.)
[ -f a.csv ] && [ -z "$(ls -A a.sub)" ] || fail "the default name of a/."
"$ctl" export -f csv -o - "$rec" 2>err | head -n 1 >/dev/null || true
[ ! -s err ] || fail "an error message for a closed pipe"
run_says 1 'written by another tracer' dump a.ctf
cd "$top"

# Invalid arguments, and places that cannot be written to
before=$(ls -A "$work")
run_says 2 'no output format; use --format' export "$rec"
run_says 2 'missing recording' export -f json
run_says 2 '--output: empty name' export -f json -o '' "$rec"
run 2 export -f '' "$rec"
run_says 2 'invalid format .xml.; use ctf, ctf2, otf2' export -f xml "$rec"
run 2 export -f json "$rec" "$rec"
run_says 2 'otf2 is written to a directory' export -f otf2 -o - "$rec"
run 2 export -f ctf --relative "$rec"
run_says 2 "'yesterday' is not a time" export -f json --from yesterday "$rec"
run 2 export -f json --cpu 1- "$rec"
run 2 export -f json --thread x "$rec"
run_says 1 'from is later than --to' export -f json --from +1 --to +0.5 "$rec"
run_says 1 'nonesuch: the recording has no such event' export -f json --event nonesuch "$rec"
run_says 1 'the recording has CPUs 0 to 2' export -f json --cpu 3 "$rec"
run_says 1 'no such node; it has node' export -f json --node other "$rec"
run 1 export -f json "$work/none"
run 1 export -f json -o "$work/none/x" "$rec"
says 'No such file or directory; write to another directory'
run_says 1 'is not empty' export -f ctf -o "$work/a.ctf" "$rec"
run_says 1 'exists and is not a directory' export -f ctf -o "$work/a.json" "$rec"
run_says 1 'is a directory' export -f json -o "$work/a.ctf" "$rec"
nothing_left "$work"

# After a full disk or an interrupt, no output remains.
mkdir "$work/big"
"$kinds" "$work/big" 6000
mkdir "$work/room"
before=
for format in ctf ctf2 otf2 perfetto json csv text; do
	run 1 export -f $format -o /dev/full "$work/big"
	(
		ulimit -f 100
		run 1 export -f $format -o "$work/room/x" "$work/big"
	)
	says "room/x: File too large; raise 'ulimit -f'"
	nothing_left "$work/room"
	interrupt INT 3 export -f $format -o "$work/room/x" "$work/big"
done

# 290 threads, of which at most 256 OTF2 files are open at a time. A thread whose file
# could not be opened at once has the same file as in an export of that thread alone; the
# messages of all threads are exported.
mkdir "$work/threads"
"$helpers/pages" "$work/threads" many 290 400000
few=(--event job --event level --event tick --event mark)
run 0 export -f otf2 -o "$work/all.otf2" "${few[@]}" "$work/threads"
says '300000 events of 290 threads'
for nr in 0 255 256 270 289; do
	run 0 export -q -f otf2 -o "$work/one-$nr.otf2" "${few[@]}" \
		--thread $((1000 + nr * 7 % 290)) "$work/threads"
	[ "$(wc -c <"$work/one-$nr.otf2/traces/0.evt")" -gt 20000 ] ||
		fail "thread $nr: too few events"
	cmp "$work/one-$nr.otf2/traces/0.evt" "$work/all.otf2/traces/$nr.evt" ||
		fail "thread $nr is not the same among others"
done
run 0 export -q -f otf2 -o "$work/mail.otf2" --event mail "$work/threads"
otf2-print "$work/mail.otf2/traces.otf2" | awk '
	$1 ~ /^MPI_/ { nr[$1, $2 > 255]++ }
	END { print nr["MPI_SEND", 0] + nr["MPI_SEND", 1], nr["MPI_SEND", 1],
		nr["MPI_RECV", 0] + nr["MPI_RECV", 1] }' >"$work/out"
grep -qx '50000 [1-9][0-9]* 50000' "$work/out" || fail "messages: $(cat "$work/out")"
(
	ulimit -f 500
	run 1 export -f otf2 -o "$work/room/x" "$work/threads"
)
says "room/x: File too large; raise 'ulimit -f'"
before='' nothing_left "$work/room"

# Of a damaged recording, the readable part is exported, and the damage is reported. Slices are
# known until the last whole packet of the file that is cut off ends.
mkdir "$work/cut"
"$kinds" "$work/cut" 500
truncate -s -100 "$work/cut/default_2"
until=$(cd "$here" && python3 -c 'import sys, unknowncheck
print(max(end for channel, cpu, _, end, _ in unknowncheck.packets_of(sys.argv[1])
          if (channel, cpu) == ("default", 2)) + 1)' "$work/cut")
for format in ctf ctf2 otf2 perfetto json csv; do
	to=(--to "$until")
	[[ $format != c* ]] || to=()
	run 3 dump --json "${to[@]}" "$work/cut"
	cp "$work/out" "$work/cut.truth"
	run_says 3 'cut off in packet' export -f $format -o "$work/cut.$format" "${to[@]}" \
		"$work/cut"
	check $format "$work/cut.$format" "$work/cut.truth"
done
[ "$(wc -l <"$work/cut.truth")" -gt 10000 ] || fail "the recording is cut off before its end"

# An export states the largest bound of its times: that of each event, or a larger one. So
# it is for events after the end that the metadata of a killed recorder states, and for
# those before the begin that changed metadata states.
for d in whole killed early; do
	mkdir "$work/$d"
	"$helpers/made" "$work/$d"
done
as_killed "$work/killed"
sed -i -e 's/span = "begin=10000000000/span = "begin=12000000000/' \
	-e '/^\tclock_real = /s/$/\n\tclock_line_0 = "base_ns=1767225611500000030 base_tsc=11500000000 until_tsc=23500000000 mult=72057594037927936 error_ps=70000 epoch=2 status=2 cause=1";/' \
	"$work/early/metadata"
for d in whole killed early; do
	run 3 export -q -f json -o "$work/$d.json" "$work/$d"
	run 3 export -q -f csv -o "$work/$d.csv" "$work/$d"
done
for d in whole=1501 killed=4000501 early=1501; do
	holds "$work/${d%=*}.json" "j['otherData']['error_ns'] == j['otherData']['clock_error_ns'] ==
		max(int(row['error_ns']) for row in csv.DictReader(open('$work/${d%=*}.csv'))) ==
		${d#*=}"
done
