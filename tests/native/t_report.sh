#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl report: reportcheck.py compares the page with the recording. Each event is in
# it, drawn individually or summed up, with its time to the ns; no text of a recording
# becomes markup; its size is bounded; no incomplete file is left. With BROWSER=1 (`make
# check-browser`), Chromium opens the pages too: no error, no network request, and drawn
# items can be picked with the pointer.
# test-timeout: 600
# test-wing: report
. "$(dirname "$0")/record.sh"

# Compares a page with the output of dump. Sets: events, shown, summed, bytes
check() {	# PAGE DIR [OPTION...]
	local out
	"$ctl" dump --json "${@:3}" "$2" >"$work/truth" 2>/dev/null || true
	out=$(python3 "$here/reportcheck.py" "$1" "$work/truth" 2>&1) || fail "$1: $out"
	read -r events shown summed bytes <<<"$out"
}

# --- all kinds of content -------------------------------------------------------
mkdir "$work/a" "$work/m"
"$helpers/kinds" "$work/a" 20
"$helpers/made" "$work/m"
run 3 report "$work/a.html" "$work/a"
says '^trace-ctl report: .*a.html: 609 events, 609 of them drawn individually$'
says '5 events were lost while recording: full 5'
check "$work/a.html" "$work/a"
[ "$events $summed" = '609 0' ] || fail "$events events, $summed of them summed up"
grep -q 'All recorded events shown' "$work/a.html" || fail "no text that all is shown"
grep -q '<td class="left">full</td><td>5</td>' "$work/a.html" || fail "no losses"
run 3 report -q -o "$work/m.html" "$work/m"
check "$work/m.html" "$work/m"
[ "$events" = 11 ] || fail "$events events"
grep -q 'holdover' "$work/m.html" || fail "no clock status"
grep -q 'The clock was disrupted during the recording' "$work/m.html" || fail "no disruption"
grep -q ' lost 2 more events, of CPUs without a ring' "$work/m.html" || fail "no ring"

# The bounds of the page are those of single times: a line of the clock narrows some.
cp -r "$work/m" "$work/line"
sed -i '/^\tclock_real = /s/$/\n\tclock_line_0 = "base_ns=1767225611500000030 base_tsc=11500000000 until_tsc=13500000000 mult=72057594037927936 error_ps=70000 epoch=2 status=2 cause=1";/' \
	"$work/line/metadata"
run 3 report -q -o "$work/line.html" "$work/line"
holds "$work/line.html" 'j["nodes"][0]["error"] == [[0, 1501], [1499999999, 1501],
	[1500000000, 102], [3500000000, 102], [3500000001, 1501], [10000000000, 1501]]'

# Of a killed recorder there are events after the end that the metadata states: the bounds
# grow up to the last one, at 16 s, also if the ends of the files are damaged.
cp -r "$work/m" "$work/killed"
as_killed "$work/killed"
run 3 report -q -o "$work/killed.html" "$work/killed"
holds "$work/killed.html" 'j["nodes"][0]["error"] == [[0, 1501], [6000000000, 4000501]]' \
	're.findall(r"<b>&plusmn; ([^<]*)</b><span>largest error of a time relative to ([^<]*)<", text) ==
	[("4.0005 ms", "CLOCK_REALTIME"), ("9.001 ms", "UTC")]' \
	'any(to == j["span"] and lost == 0 for _, _, _, to, lost in j["gaps"])'

# --- recordings of a program, without and with lost events ------------------------
run 0 record -q -o "$work/b" -- "$emit" 2000 2
run 0 report -q "$work/b.html" "$work/b"
check "$work/b.html" "$work/b"
[ "$events" = 4001 ] || fail "$events events of 4001"
grep -q 'No event was lost' "$work/b.html" || fail "the page reports lost events"
run 3 record -q --blocks 2 --block-size 4096 -o "$work/lossy" -- "$emit" 50000 2
run 3 report -q "$work/lossy.html" "$work/lossy"
check "$work/lossy.html" "$work/lossy"
lost=$(sed -n 's/.* \([0-9]*\) events were lost.*/\1/p' "$work/err")
holds "$work/lossy.html" "0 < sum(gap[4] for gap in j['gaps']) <= $lost" \
	'all(0 <= gap[2] <= gap[3] <= j["span"] for gap in j["gaps"])'
# The end of a file that a killed recorder left is no place of the losses that were counted.
places() { grep -o '<td class="left">+[^<]* to +[^<]* places*</td>' "$1"; }
run 3 record -q --blocks 2 --block-size 4096 -o "$work/early" -- taskset -c 0 sh -c \
	"'$emit' 50000 1; for i in 1 2; do sleep 2; '$emit' 10 1; done"
cp -r "$work/early" "$work/cut"
sed -i 's/complete = 1/complete = 0/' "$work/cut/metadata"
run 3 report -q "$work/early.html" "$work/early"
run 3 report -q "$work/cut.html" "$work/cut"
holds "$work/cut.html" '0 in [gap[4] for gap in j["gaps"]]'
[ "$(places "$work/cut.html")" = "$(places "$work/early.html")" ] ||
	fail "counted losses: $(places "$work/cut.html"), not $(places "$work/early.html")"

# --- texts that look like markup ----------------------------------------------------
mkdir "$work/hostile"
"$helpers/pages" "$work/hostile" hostile
(cd "$work" && cp -r hostile '<script>&"x'"'"'
y' && run 0 report -q h.html '<script>&"x'"'"'
y')
check "$work/h.html" "$work/hostile"
[ "$events" = 181 ] || fail "$events events"
! grep -q '<img\|<script>document\|taken.>' "$work/h.html" || fail "a text of the recording became markup"
grep -q '&lt;script&gt;&amp;&quot;x&#39;\\u{a}y' "$work/h.html" || fail "the title is not escaped"

# --- more events than a page draws individually --------------------------------------
mkdir "$work/many"
"$helpers/pages" "$work/many" many 4000 400000
run_says 0 '400000 events, [0-9]* of them drawn individually' report "$work/many.html" "$work/many"
check "$work/many.html" "$work/many"
[ "$events" = 400000 ] && [ "$shown" -le 200000 ] && [ "$shown" -gt 20000 ] ||
	fail "$shown of $events events"
[ "$bytes" -lt 21000000 ] || fail "$bytes bytes"
grep -q 'events are summarized' "$work/many.html" ||
	fail "no text that events are summarized"
for max in 1 30000 100000000; do
	run 0 report -q --max-events $max "$work/max.html" "$work/many"
	check "$work/max.html" "$work/many"
	[ "$shown" -le $max ] && [ "$bytes" -lt 21000000 ] || fail "$max: $shown, $bytes"
done
[ "$shown" -gt 100000 ] || fail "only $shown events, with no limit"

# Sums that would take too much of the page have longer bins.
mkdir "$work/sums"
"$helpers/pages" "$work/sums" many 1499 2000000
run 0 report -q --max-events 1 "$work/sums.html" "$work/sums"
python3 "$here/reportcheck.py" "$work/sums.html" >"$work/out" 2>&1 || fail "sums: $(cat "$work/out")"
holds "$work/sums.html" 'j["binWidth"] > j["span"] // 512 + 1' 'len(text) < 6000000'
rm -r "$work/sums"

# Events of the rare kind are drawn individually, the frequent kind in sums.
holds "$work/many.html" '{("mark", "individually"), ("tick", "in sums")} <= set(re.findall(
	r"<tr><th scope=.row.>(\w+)</th><td class=.left.>\w+</td>.*?<td class=.left.>(individually|in sums)</td></tr>", text))'

# --- lengths of spans and system calls: those of stat; a click on one shows it -------------
lengths() {	# PAGE DIR [OPTION...]
	run 0 report -q "$1" "${@:2}"
	run 0 stat --json --spans --calls "${@:2}"
	out=$(python3 "$here/pagefigures.py" "$1" "$work/out" 2>&1) || fail "$*: $out"
}
mkdir "$work/spans" "$work/spans2"
"$helpers/spans" "$work/spans" 20000 1
"$helpers/spans" "$work/spans2" 20000 4 nodes
lengths "$work/spans.html" "$work/spans"
[ "$out" = '7 70' ] || fail "lengths: $out"
check "$work/spans.html" "$work/spans"
lengths "$work/part.html" "$work/spans2"
for part in '--from +0.01 --to +0.1' '--event job' '--tid 101-103' '--cpu 1'; do
	# shellcheck disable=SC2086
	lengths "$work/part.html" "$work/spans" $part
	[ "${out#* }" -gt 9 ] || fail "$part: $out"
done
# Of spans of a frequent kind, only the slowest are drawn individually.
lengths "$work/part.html" "$work/many"
[ "$out" = '1 10' ] || fail "lengths: $out"

# --- a merged recording: names, bounds and messages of its nodes --------------------
mkdir "$work/w"
"$helpers/world" "$work/w" 5
run 0 merge -q -o "$work/merged" "$work/w/a" "$work/w/b" "$work/w/c"
run 0 report -q "$work/merged.html" "$work/merged"
check "$work/merged.html" "$work/merged"
[ "$summed" = 0 ] && [ "$events" -gt 70000 ] || fail "$events events, $summed summed up"
worst='[max(e[1] for e in n["error"]) for n in j["nodes"]]'
row='[int(n) for n in re.search(r"<th scope=.row.>all</th><td class=.left.></td>" +
	r"<td>(\d+)</td>" * 4, text).groups()]'
holds "$work/merged.html" '[n["name"] for n in j["nodes"]] == ["node-a", "node-b", "node-c"]' \
	'all(len(n["error"]) > 1 for n in j["nodes"])' "$worst[0] < 1000 < $worst[1] < 300000" \
	"1000 < $worst[2] < 300000" 'j["arrows"] > 8000' \
	'sum(n["events"] for n in j["nodes"]) == j["events"]' \
	"$row[0] == j['arrows'] and $row[1] > 1000 and $row[3] == 0"
run 0 report -q --node node-b "$work/part.html" "$work/merged"
check "$work/part.html" "$work/merged" --node node-b
run 0 report -q "$work/child.html" "$work/w/b"
check "$work/child.html" "$work/w/b"
grep -q 'Exchanges kept' "$work/child.html" || fail "no sync samples"

# --- parts ----------------------------------------------------------------------------
for part in '--from +20us --to +50us' '--event outer' '--cpu 1' '--thread 100' \
	'--to +0' '--from +20us --event packet/send --cpu 0-1'; do
	# shellcheck disable=SC2086
	run 3 report -q "$work/part.html" "$work/a" $part
	# shellcheck disable=SC2086
	check "$work/part.html" "$work/a" $part
done

# A page states that its filter left out events; a time range is stated at its top.
run 3 report -q "$work/part.html" "$work/a" --event outer
grep -q 'only the events that its filter' "$work/part.html" || fail "no text about the filter"
grep -q 'All selected recorded events shown' "$work/part.html" || fail "all events, of a filter"
run 3 report -q "$work/part.html" "$work/a" --from +20us
! grep -q 'only the events that its filter' "$work/part.html" || fail "a text about no filter"

# --- output file ------------------------------------------------------------------------
cd "$work"
rm a.html
run 3 report a/
check a.html a
[ "$(stat -c %a a.html)" = 600 ] || fail "the page is readable by other users"
run 3 report -o - a
cp out o.html
check o.html a
echo old >old.html && ln -s old.html link.html
run 3 report -q link.html a
[ -L link.html ] || fail "a link was replaced"
check old.html a
"$ctl" report -q -o - a 2>err | head -n 1 >/dev/null || true
! grep -v 'events were lost' err || fail "an error is reported for a closed pipe"
cd "$top"

# --- errors --------------------------------------------------------------------------
before=$(ls -A "$work")
run_says 2 'nothing to report; give OUT.html and a RECORDING' report
run_says 2 'missing recording' report "$work/x.html"
run_says 2 'name the page before the recording' report "$work/a" "$work/x.html"
run_says 2 "use 'trace-ctl merge' to" report "$work/x.html" "$work/a" "$work/b"
run 2 report -o "$work/x.html" "$work/a" "$work/b"
run 2 report -o '' "$work/a"
run 2 report '' "$work/a"
run 2 report "$work/x.html" "$work/a" --max-events 0
run 2 report "$work/x.html" "$work/a" --max-events -1
run_says 2 'is not a number from 1' report "$work/x.html" "$work/a" --max-events 1x
run 2 report "$work/x.html" "$work/a" --from yesterday
run 2 report "$work/x.html" "$work/a" --cpu 1-
run 2 report "$work/x.html" "$work/a" --fit round
run 2 report sync "$work/a" --max-events 5
run 1 report "$work/x.html" "$work/a" --from +1 --to +0.5
run 1 report "$work/x.html" "$work/a" --event nonesuch
says 'nonesuch: the recording has no such event'
run_says 1 'the recording has no sync samples' report "$work/x.html" "$work/a" --fit hull
run 1 report "$work/x.html" "$work/none"
run 1 report "$work/none/x.html" "$work/a"
says 'No such file or directory; write to another directory'
run_says 1 'is a directory' report "$work/b" "$work/a"
nothing_left "$work"

# --- no space left, and interrupts ---------------------------------------------------
mkdir "$work/room"
before=
run 1 report -o /dev/full "$work/many"
[ -c /dev/full ] || fail "it removed a device"
says 'No space left'
(
	ulimit -f 100
	run 1 report "$work/room/x.html" "$work/many"
)
says "x.html: File too large; raise 'ulimit -f'"
nothing_left "$work/room"
for signal in INT TERM HUP; do
	interrupt $signal 0 report "$work/room/x.html" "$work/many"
done

# --- a damaged recording: the readable part is shown, the damage is reported ---------
cp -r "$work/a" "$work/cut"
truncate -s -100 "$work/cut/default_0"
run_says 3 'cut off in packet' report -q "$work/cut.html" "$work/cut"
check "$work/cut.html" "$work/cut"
grep -q 'The recording is damaged;' "$work/cut.html" || fail "the damage is not reported"

# --- a browser ----------------------------------------------------------------------------------
if [ -z "${BROWSER:-}" ]; then
	echo "report: fine"
	exit 0
fi
for page in a m lossy h many merged child spans; do
	out=$(timeout 300 python3 "$here/reportpage.py" "$work/$page.html" 2>&1) ||
		fail "in the browser: $out"
	echo "# $page: $out"
done
echo "report: fine, in a browser too"
