#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of OTF2 archives written by libotf2's Python bindings: times, definitions and
# events against exact arithmetic; damaged, truncated and duplicate archives; a full
# disk, interrupts, a crash.
# test-wing: otf2
. "$(dirname "$0")/record.sh"
need mount umount otf2-print script

check_merge() {	# RESULT real|text NAME...
	local names=("${@:3}")
	otf2-print "$work/$1/traces.otf2" >"$work/printed" 2>"$work/err" ||
		fail "otf2-print $1"
	[ ! -s "$work/err" ] || fail "otf2-print prints warnings"
	(cd "$work" && /usr/bin/python3 "$here/otf2_check.py" "$1" "$2" "${names[@]}") \
		>"$work/out" 2>"$work/err" || fail "otf2_check.py $*"
	cat "$work/out"
}

copy() {	# NAME: copies an archive to $work/x, to be damaged
	rm -rf "$work/x"
	cp -r "$work/$1" "$work/x"
}

# Archives a, b and c are merged exactly. The archives have three clock resolutions,
# times above 2^53, times before the clock's offset, clock offsets of a location, an
# event file of several chunks, events on one tick, and a location without events.
make_archives
make_archive c 2 <<END
{"res": 1000003, "offset": 100, "length": 77, "real": 1699999999999999999,
 "seed": 3, "locations": {"c0": {"times": [99, 101, 150, 177]},
 "c1": {"times": [$(seq -s ', ' 100 7 84000)]}}}
END
[ "$(stat -c %s "$work/c/traces/5.evt")" -gt 262144 ] || fail "one chunk: no test"
for how in real text; do
	run 0 merge -q --align $how -o "$work/$how" "$work/a" "$work/b/traces.otf2" "$work/c/"
	[ ! -s "$work/err" ] || fail "-q prints something"
	check_merge $how $how a b c
done
run 0 merge --json -o "$work/auto" "$work/a" "$work/b" "$work/c"
[ "$(grep -c '"aligned": "real"' "$work/out")" = 3 ] || fail "not aligned by real time"
holds "$work/out" 'j["events"] == sum(i["events"] for i in j["inputs"]) > 12000' \
	'j["locations"] == 7 and j["clock"]["resolution"] == 10**9' \
	'0 < j["definitions"] < sum(i["definitions"] for i in j["inputs"]) - 60'
cmp -s "$work/auto/traces/0.evt" "$work/real/traces/0.evt" ||
	fail "the default is not --align real"
run 0 merge -o "$work/alone" "$work/b"
check_merge alone real b

# A merged archive can be merged again. Duplicate inputs are rejected without --force,
# and an archive without the time of day is rejected with --align real.
make_archive d 1 <<END
{"res": 3000000000, "offset": 18446744073709000001, "length": 551000,
 "real": 1700000001000000001, "seed": 4,
 "locations": {"d0": {"times": [18446744073709000001, 18446744073709551000]}}}
END
run 0 merge -q -o "$work/ad" "$work/a" "$work/d"
check_merge ad real a d
make_archive e 3 <<END
{"res": 7, "offset": 0, "length": 70, "real": 1700000100000000003, "seed": 5,
 "locations": {"e0": {"times": [0, 1, 2, 69]}}}
END
run 0 merge -q -o "$work/ade" "$work/ad" "$work/e"
check_merge ade real a d e
refused "a/traces.otf2: holds the same trace as $work/ade/traces.otf2" "$work/ade" "$work/a"
refused "given twice" "$work/a" "$work/a"
cp -r "$work/a" "$work/x"
refused "holds the same trace" "$work/a" "$work/x"
rm -r "$work/x"
run 0 merge -q --force -o "$work/twice" "$work/a" "$work/a"
[ "$(find "$work/twice/traces" -name '*.evt' | wc -l)" = 6 ] || fail "not twice"
# Some programs write a time of day of 0, as they do not know it.
for real in "" '"real": 0, '; do
	rm -rf "$work"/{f,af,fa}
	make_archive f 2 <<END
{"res": 1000000, "offset": 5, "length": 10, $real"seed": 6,
 "locations": {"f0": {"times": [5, 15]}}}
END
	refused "f/traces.otf2: states no time of day of its start" --align real "$work/a" "$work/f"
	refused "f/traces.otf2: states no time of day of its start" --align real "$work/f" "$work/a"
	run 0 merge -o "$work/af" "$work/a" "$work/f"
	says "f/traces.otf2: states no time of day of its start; in the result, .*f/traces.otf2 starts at the same moment as .*a/"
	says "archives aligned by the time of day: 1, by their beginning: 1; the error between times of two"
	check_merge af text a f
	run 0 merge -q -o "$work/fa" "$work/f" "$work/a"
	check_merge fa text f a
done

# An archive that gives definitions twice: the last ones count, and are as in archive h.
make_archive h 1 <<END
{"res": 1000000000, "offset": 7, "length": 100, "real": 1700000000000000000, "seed": 7,
 "locations": {"h0": {"times": [7, 8, 100]}, "h1": {"times": [9]}}}
END
# Its locations state fewer events than they have.
sed 's/"seed"/"twice": true, "count": 2, "seed"/' "$work/h.json" | make_archive again 1
for names in "a again" "again a" again; do
	rm -rf "$work/o"
	paths=()
	for name in $names; do
		paths+=("$work/$name")
	done
	run 0 merge -o "$work/o" "${paths[@]}"
	says "again/traces.def: [0-9]* definitions, such as String [0-9]*, are repeated later in the file, [1-9] of them with other content; the last one of each is used"
	says 'again/traces/[0-9]*.evt: has 79 events, but the definition of the location states 2; all'
	[ "$(grep -c 'are repeated later\|has 79 events' "$work/err")" = 2 ] || fail "said more than once"
	check_merge o real ${names/again/h}
done
rm -rf "$work/o"

# A time that the first archive's clock cannot represent
refused "a/traces/0.evt: event 1 (.*): time 9007199254741001 is outside" "$work/e" "$work/a"
rm -rf "$work/o"

# Markers of archive b get times of archive a's clock: 13 ticks of b are 4.49 ticks of
# a, 100 ticks of b are 34.6 ticks of a, and b began 777 ns after a.
copy b
otf2-marker --add-def things odd HIGH "$work/x/traces.otf2"
otf2-marker --add-def things even NONE "$work/x/traces.otf2"
otf2-marker --add things odd 1152921504606846990+100 LOCATION:1 here "$work/x/traces.otf2"
otf2-marker --add things even 1152921504606846977 GLOBAL all "$work/x/traces.otf2"
cp -r "$work/x" "$work/marked"
run 0 merge -q -o "$work/o" "$work/a" "$work/d" "$work/marked"
otf2-marker "$work/o/traces.otf2" >"$work/out"
shows 'Time: 9007199254741778, Duration 0, Scope: GLOBAL, Text: "all"'
location=$(otf2-print -G "$work/o/traces.otf2" | sed -n 's/^LOCATION  *\([0-9]*\)  Name: "b0".*/\1/p')
[ "${location:-1}" != 1 ] || fail "location 1 is free: no test"
shows "Time: 9007199254741782, Duration 35, Scope: LOCATION:$location, Text: \"here\""
rm -r "$work/o"

# Paths without an archive, and incomplete archives, are rejected.
refused 'none: No such file or directory' "$work/none" "$work/a"
refused 'neither an OTF2 archive.*nor a recording' "$work/a" "$work"
refused 'a.json: not an OTF2 archive; give the directory of a recording' "$work/a" "$work/a.json"
"$ctl" record -q -o "$work/recording" -- "$emit" 10
# Recordings among archives are merged as if they had been exported to OTF2 before.
"$ctl" record -q -o "$work/more" -- "$emit" 20
run 0 merge -q -o "$work/both" "$work/recording" "$work/more"
"$ctl" export -q -f otf2 -o "$work/both.otf2" "$work/both"
run 0 merge -q -o "$work/want" "$work/a" "$work/both.otf2" "$work/b"
run 0 merge --json -o "$work/o" "$work/a" "$work/recording" "$work/b" "$work/more"
shows '"path": "recordings"'
otf2-print -G "$work/want/traces.otf2" >"$work/printed"
otf2-print "$work/want/traces.otf2" >>"$work/printed"
otf2-print -G "$work/o/traces.otf2" >"$work/printed2"
otf2-print "$work/o/traces.otf2" >>"$work/printed2"
[ "$(grep -c 'Region: "tick"' "$work/printed2")" = 60 ] || fail "the recordings are missing"
# The export states bounds of its own times; of the merged times, none is known.
grep -q 'TSCTRACE::NODE_ERROR_NS' < <(otf2-print -I "$work/both.otf2/traces.otf2") ||
	fail "the export states no bound: no test"
otf2-print -I "$work/want/traces.otf2" >"$work/out"
grep -A 1 'TSCTRACE::ALIGNMENT' "$work/out" | grep -q 'time of day' ||
	fail "the archive does not state how it was aligned: $(cat "$work/out")"
! grep 'TSCTRACE::.*_ERROR_NS' "$work/out" || fail "a bound that nothing shows"
# Only the property TSCTRACE::INPUTS of the two archives may differ: it lists the trace
# ids of the merged archives, and the exported archive has a trace id of its own.
cmp <(grep -v 'TSCTRACE::INPUTS' "$work/printed") \
	<(grep -v 'TSCTRACE::INPUTS' "$work/printed2") || fail "not as if they had been exported"
[ -z "$(find "$work" -maxdepth 1 -name '.o.*')" ] || fail "an intermediate result is left"
rm -r "$work/o"
run 0 merge -q -o "$work/recordings.otf2" "$work/recording" "$work/more"
[ "$(otf2-print "$work/recordings.otf2/traces.otf2" | grep -c 'ENTER.*Region: "tick"')" = 30 ] ||
	fail "recordings alone, as an archive"
refused "recording: given twice" "$work/a" "$work/recording" "$work/recording"
# Exports of the same recording are duplicates, though each has its own archive number.
"$ctl" export -q -f otf2 -o "$work/e1.otf2" "$work/recording"
"$ctl" export -q -f otf2 -o "$work/e2.otf2" "$work/recording"
refused "e2.otf2/traces.otf2: holds the same trace as $work/e1.otf2/traces.otf2" "$work/e1.otf2" "$work/e2.otf2"
refused "recording: holds the same trace as $work/e1.otf2" "$work/e1.otf2" "$work/recording"
refused "e1.otf2/traces.otf2: holds the same trace as $work/both" "$work/both" "$work/a" "$work/e1.otf2"
refused "e1.otf2/traces.otf2: holds the same trace as $work/both.otf2" "$work/both.otf2" "$work/e1.otf2"
run 0 merge -q -o "$work/ae" "$work/a" "$work/e1.otf2"
refused "recording: holds the same trace as $work/ae/" "$work/ae" "$work/recording"
run 2 merge -o "$work/o" --resolution 2G "$work/a" "$work/recording"
copy b && cp "$work/x/traces.otf2" "$work/x/more.otf2"
refused 'x: holds several archives' "$work/a" "$work/x"
copy b && rm "$work/x/traces.otf2"
refused 'x: neither an OTF2 archive' "$work/a" "$work/x"
refused 'x/traces.otf2: No such file' "$work/a" "$work/x/traces.otf2"
: >"$work/x/traces.otf2"
refused 'x/traces.otf2: empty; is the archive still being written?' "$work/a" "$work/x"
copy b && truncate -s -3 "$work/x/traces.otf2"
refused 'x/traces.otf2: cannot be opened: ' "$work/a" "$work/x"
copy b		# changes the number of properties from 2 to 2^32 - 1
printf '\377\377\377\377' | dd of="$work/x/traces.otf2" bs=1 seek=49 conv=notrunc status=none
refused 'x/traces.otf2: cannot be opened: .*Memory allocation failed' "$work/a" "$work/x"
copy b && truncate -s -20 "$work/x/traces.def"
refused 'x/traces.def: byte [0-9]*: truncated after definition [0-9]*$' "$work/a" "$work/x"
copy b && rm "$work/x/traces.def"
refused 'x/traces.def: No such file' "$work/a" "$work/x"
copy b && mv "$work/x/traces/1.evt" "$work/x/traces/99.evt"
refused 'x/traces/99.evt: belongs to no defined location' "$work/a" "$work/x"
refused 'x/traces/1.evt: No such file or directory; 7[0-9] events were expected' \
	--force "$work/a" "$work/x"
copy b && cp "$work/x/traces/1.evt" "$work/x/traces/99.evt"
run 3 merge --force -o "$work/o" "$work/a" "$work/x"
says 'x/traces/99.evt: belongs to no defined location; dropped'
rm -r "$work/o"
copy b && : >"$work/x/traces.marker"
refused 'x/traces.marker: byte 0: truncated' "$work/a" "$work/x"
run 2 merge "$work/a"
run 2 merge -o "$work/o"
run 2 merge -o "$work/o" --align nonsense "$work/a"
run_says 1 'output directory .*/a is not empty; use a new one with -o' merge -o "$work/a" "$work/b"

# An event file is truncated in its last chunk, at the end of its first chunk, and near
# its beginning. merge rejects the file; with --salvage, merge keeps the events before
# the end of the file.
copy c
for size in $(($(stat -c %s "$work/x/traces/5.evt") - 1000)) 262144 30; do
	truncate -s "$size" "$work/x/traces/5.evt"
	refused "x/traces/5.evt: byte $size: truncated after event [0-9]*; use --salvage to keep" "$work/a" "$work/x"
	run 3 merge --salvage --json -o "$work/o" "$work/a" "$work/x"
	says "x/traces/5.evt: byte $size: truncated"
	holds "$work/out" 'j["inputs"][1]["events"] + j["inputs"][1]["missing"] == 12065' \
		'not j["inputs"][1]["complete"]' "(j['inputs'][1]['missing'] > 11000) == ($size < 100)"
	otf2-print "$work/o/traces.otf2" >"$work/printed" 2>&1 || fail "otf2-print"
	rm -r "$work/o"
done

copy a && rm "$work/x/traces/0.evt" && mkfifo "$work/x/traces/0.evt"
refused 'x/traces/0.evt: not a regular file; use --salvage' "$work/b" "$work/x"
run 3 merge --salvage -q -o "$work/o" "$work/b" "$work/x"
says '79 events were unreadable and are missing'
rm -r "$work/o"

# An archive is rejected if its SystemTreeNode refers to itself as its parent, or to an
# undefined String as its name.
damage() {	# FILE OLD NEW: replaces bytes, both given in hexadecimal
	/usr/bin/python3 - "$@" <<'END' || fail "nothing to damage"
import sys
path, old, new = sys.argv[1], *(bytes.fromhex(x) for x in sys.argv[2:])
data = open(path, "rb").read()
assert data.count(old) == 1, data.count(old)
open(path, "wb").write(data.replace(old, new))
END
}
# Finds the record of SystemTreeNode 0: bytes for the type (12), the length (6), number
# 0, name and class (the same String, 2 bytes each), and no parent (ff).
copy a
tree=$(/usr/bin/python3 - "$work/x/traces.def" <<'END'
import re, sys
data = open(sys.argv[1], "rb").read()
print(re.search(rb"\x0c\x06\x00\x01(.)\x01\1\xff", data).group(0).hex())
END
)
damage "$work/x/traces.def" "$tree" "${tree%ff}00"
refused 'x/traces.def: SystemTreeNode 0 refers to itself, directly or indirectly' "$work/b" "$work/x"
damage "$work/x/traces.def" "${tree%ff}00" "${tree:0:6}01f0${tree:10}"
refused 'x/traces.def: SystemTreeNode 0 refers to undefined String 240' "$work/b" "$work/x"

# merge leaves no partial result if the disk is full, libotf2 crashes, or a signal
# interrupts merge. On a terminal, merge shows its progress.
run_limited 100 1 merge -o "$work/o" "$work/a" "$work/c"
says "$work/o: File too large; raise 'ulimit -f'"
none_left
"$ctl" record -q -o "$work/full" -- "$emit" 30000 || [ $? = 3 ] || fail "a long recording"
mkdir "$work/small"
if mount -t tmpfs -o size=300k tmpfs "$work/small" 2>/dev/null; then
	at_exit+=('umount "$work/small" 2>/dev/null')
	run 1 merge -o "$work/small/o" "$work/a" "$work/c"
	says 'small/o: No space left on device; free some space'
	[ -z "$(ls -A "$work/small")" ] || fail "a partial result on the full disk"
	run 1 export -f otf2 -o "$work/small/o" "$work/full"
	says 'small/o: No space left on device; free some space'
	[ -z "$(ls -A "$work/small")" ] || fail "a partial export on the full disk"
fi
# A full device as standard output causes one error line.
exits 1 "$ctl" export -q -f csv -o - "$work/full" >/dev/full 2>"$work/err"
[ "$(wc -l <"$work/err")" = 1 ] || fail "more than one error line: $(cat "$work/err")"
LD_PRELOAD=$helpers/otf2_shim.so OTF2_SHIM=crash \
	refused 'b/traces/1.evt: damaged: libotf2 crashed when it read this archive (Segmentation fault)' "$work/b"
has_begun_to_read() { [ -n "$(find "$work" -path '*/.o.*/traces')" ]; }
for signal in INT TERM; do
	: >"$work/err"
	LD_PRELOAD=$helpers/otf2_shim.so OTF2_SHIM=sleep env --default-signal=INT \
		"$ctl" merge -o "$work/o" "$work/b" >"$work/out" 2>"$work/err" & track pid
	wait_for "it reads the archive" has_begun_to_read
	[ ! -e "$work/o" ] || fail "it did not sleep"
	kill -$signal $pid
	# Further signals arrive while merge deletes its output.
	for ((i = 0; i < 20; i++)); do
		kill -INT $pid 2>/dev/null || break
	done
	exits 1 wait $pid
	says 'o: interrupted; no result was written'
	none_left
done
LD_PRELOAD=$helpers/otf2_shim.so OTF2_SHIM=sleep script -qec \
	"$ctl merge -o $work/o $work/e" "$work/typed" >/dev/null </dev/null
grep -q '\[#* *\] *[0-9]* %.* M events/s' "$work/typed" || fail "no progress is shown"
[ -e "$work/o/traces.otf2" ] || fail "no result"
