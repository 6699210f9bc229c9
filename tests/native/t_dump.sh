#!/bin/bash
# SPDX-License-Identifier: MIT
# dump: every field type, every form of time, selections; control characters in events
# do not reach a terminal.
# test-fast: yes
. "$(dirname "$0")/record.sh"

run 0 record -q -o "$work/a" -- "$emit" 3000 2
run 0 dump --event every "$work/a"
cat >"$work/want" <<'END'
every u8=255 u16=65535 u32=4294967295 u64=18446744073709551615 s8=-128 s16=-32768 s32=-2147483647 s64=-9223372036854775808 f32=0.1 f64=1.4 text="\x1b]0;x\x07 \"q\" \\ é\xff" bytes=01020304 chars="eight b" hex=0xdeadbeef call=read(0)
END
# A core build has no names of system calls.
[ -e "$out/lib/syscalls" ] || sed -i 's/read(0)/0/' "$work/want"
sed 's/^[^]]*\] *[0-9]* //' "$work/out" | diff "$work/want" - ||
	fail "fields as text"
run 0 dump --json --event every "$work/a"
# shellcheck disable=SC2028
want='"fields":{"u8":255,"u16":65535,"u32":4294967295,"u64":"18446744073709551615","s8":-128,"s16":-32768,"s32":-2147483647,"s64":"-9223372036854775808","f32":0.1,"f64":1.4,"text":"\u001b]0;x\u0007 \"q\" \\ é�","bytes":"01020304","chars":"eight b","hex":3735928559,"call":"read"}}'
[ -e "$out/lib/syscalls" ] || want=${want/\"read\"/0}
grep -qF -- "$want" "$work/out" ||
	fail "fields as JSON, wanted $want"

# Integers are numbers up to 2^53, and strings beyond.
mkdir "$work/kinds"
"$helpers/kinds" "$work/kinds" 1
run 3 dump --json --event every --event load "$work/kinds"
shows '"u64":9007199254740992,.*"s64":9007199254740992,'
shows '"big":"9007199254740993","small":"-9007199254740993",'

# Prints times as local time, UTC, ticks (--raw) and differences (--delta).
run 0 dump -n 5 "$work/a"
[ "$(wc -l <"$work/out")" = 5 ] || fail "-n"
[ "$(grep -cE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9} \[[0-9]{3}\] ' "$work/out")" = 5 ] ||
	fail "local time"
run 0 dump --utc -n 5 "$work/a"
[ "$(grep -c "^$(date -u +%Y)-[-0-9]*T[:0-9]*\.[0-9]\{9\}Z " "$work/out")" = 5 ] ||
	fail "UTC"
TZ=UTC run 0 dump -n 1 "$work/a"
local_time=$(cut -d ' ' -f 1 "$work/out")
run_shows 0 "T${local_time}Z " dump --utc -n 1 "$work/a"
run 0 dump --raw "$work/a"
cut -d ' ' -f 1 "$work/out" | sort -nc || fail "stamps fall"
run 0 dump --delta "$work/a"
head -n 1 "$work/out" | grep -q '^+0\.000000000 ' || fail "the first delta"
! grep -vqE '^\+[0-9]+\.[0-9]{9} ' "$work/out" || fail "deltas"

# dump --stamps prints, after a header, the unique stamp (51 bits of tick, 13 of event
# number) of each event, and two conversions of the stamp to seconds.
run 0 dump --stamps "$work/a"
[ "$(grep -cE '^0: +[0-9]+ +[0-9]+\.[0-9]{9} +[0-9]+\.[0-9]{9} \[' "$work/out")" = \
	"$(($(wc -l <"$work/out") - 1))" ] || fail "--stamps"
run 0 dump --json --stamps --event tick "$work/a"
python3 -c '
import json, sys
next(sys.stdin)
for line in sys.stdin:
    u = json.loads(line)["unique"]
    assert int(u["stamp"]) == u["tick"] << 13 | u["event"], line
    assert u["segment"] == 0 and u["event"] < 8192, line
    assert u["accurate_ns"] <= u["legacy_ns"] <= u["accurate_ns"] + 1, line
' <"$work/out" || fail "--json --stamps"
# Unique stamps of a generated recording: after 2^51 ticks, a segment with stamps from 0
# begins, which dump reports.
mkdir "$work/long"
"$helpers/made" "$work/long" long
timeout 300 "$ctl" dump --stamps "$work/long" >"$work/out" 2>"$work/err" || [ $? = 3 ] ||
	fail "--stamps past 2^51"
says 'segment 1 of CPU 0 begins: the ticks of stamps start from 0 again; all its events are later'
says 'segment 2 of CPU 1 begins'
sed 1d "$work/out" | awk '{ print $1, $2, $3, $4 }' >"$work/stamps"
diff - "$work/stamps" <<END || fail "stamps past 2^51"
0: $((1000000000 << 13)) 1.000000000 1.000000000
0: $((1000000000 << 13 | 1)) 1.000000000 1.000000000
1: 0 2251799.813685248 2251799.813685248
1: 1 2251799.813685248 2251799.813685248
2: $((5 << 13)) 4503599.627370501 4503599.627370501
END

# By the event bits and the nominal period in the metadata and in the header of dump, any
# program gets the same times: see stampcheck.py.
check_stamps() {	# DIR
	python3 "$here/stampcheck.py" "$ctl" "$1" >"$work/out" ||
		fail "stamps of $1: $(cat "$work/out")"
}
check_stamps "$work/a"
check_stamps "$work/long"
for kind in tsc/16 tsc/256 interpolated system system/16 system-interpolated; do
	run 0 record -q --timestamps "$kind" -o "$work/as-${kind/\//-}" -- "$emit" 3000 2
	check_stamps "$work/as-${kind/\//-}"
done
run 0 merge -q -o "$work/merged" "$work/a"
check_stamps "$work/merged"

# Options that select events by CPU, name or kind, or limit their number
run 0 dump "$work/a"
all=$(wc -l <"$work/out")
sum=0
for ((cpu = 0; cpu < $(nproc --all); cpu++)); do
	run 0 dump --cpu "$cpu" "$work/a"
	sum=$((sum + $(wc -l <"$work/out")))
done
[ "$sum" = "$all" ] || fail "--cpu: $sum of $all"
run 0 dump --event tick "$work/a"
[ "$(wc -l <"$work/out")" = $((all - 1)) ] || fail "--event"
run 0 dump --event tick --event every "$work/a"
[ "$(wc -l <"$work/out")" = "$all" ] || fail "--event twice"
run 0 dump --event every/instant "$work/a"
[ "$(wc -l <"$work/out")" = 1 ] || fail "--event NAME/KIND"
run_says 1 'every/begin: the recording has no such event' dump --event every/begin "$work/a"
run 1 dump --event every/ "$work/a"
run 0 dump -n 0 "$work/a"
[ ! -s "$work/out" ] || fail "-n 0"
run 0 dump --event 'ev*/inst*' "$work/a"
[ "$(wc -l <"$work/out")" = 1 ] || fail "--event GLOB/GLOB"
run 0 dump --cpu "0-$(($(nproc --all) - 1))" "$work/a"
[ "$(wc -l <"$work/out")" = "$all" ] || fail "--cpu with all"

# Compares events selected by thread, time or node with the output of all events.
run 0 dump --json "$work/a"
cp "$work/out" "$work/json"
run 0 stat --json "$work/a"
python3 -c '
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    assert e["rel_ns"] == int(e["time_ns"]) - int(sys.argv[2]), line
' "$work/json" "$(number begin_ns "$work/out")" || fail "time since the begin"
# jq 1.6 has numbers of 53 bits.
sed 's/.*"time_ns":"\([0-9]*\).*/\1/' "$work/json" >"$work/times"
! command -v jq >/dev/null || jq -r .time_ns "$work/json" | cmp - "$work/times" || fail "jq"
tid=$(sed -n '2s/.*"tid":\([0-9]*\).*/\1/p' "$work/json")
run 0 dump --json --tid "$tid" "$work/a"
grep "\"tid\":$tid," "$work/json" | cmp - "$work/out" || fail "--tid"
from=$(sed -n 100p "$work/times")
to=$(sed -n 200p "$work/times")
run 0 dump --json --from "$from" --to "$to" "$work/a"
awk -v f="$from" -v t="$to" '{ n += $1 "" >= f "" && $1 "" < t "" } END { print n }' "$work/times" |
	# compares times as text, as awk numbers have 53 bits
	grep -qx "$(wc -l <"$work/out")" || fail "--from, --to"
[ "$(wc -l <"$work/out")" -ge 50 ] || fail "--from, --to: too few"
run 0 dump --node 0 "$work/a"
[ "$(wc -l <"$work/out")" = "$all" ] || fail "--node 0"
run 0 dump --node "$(uname -n)" "$work/a"
[ "$(wc -l <"$work/out")" = "$all" ] || fail "--node NAME"

# Thread and event are in the same columns in all lines; no line ends with a blank.
run 0 dump --event tick "$work/a"
[ "$(sed 's/^\([^]]*\] *[0-9]* \).*/\1/; s/./x/g' "$work/out" | sort -u | wc -l)" = 1 ] ||
	fail "columns"
run 0 dump "$work/a"
! grep -q ' $' "$work/out" || fail "blanks at an end"
shows '\] *[0-9]* tick  *[a-z]*='

# Colours are printed only on request or to a terminal; the text is the same.
run 0 dump -n 20 "$work/a"
! grep -q $'\033' "$work/out" || fail "colours in a file"
cp "$work/out" "$work/plain"
NO_COLOR=1 run 0 dump -n 20 --color=always "$work/a"
[ "$(grep -c $'\033\\[1mtick' "$work/out")" -ge 19 ] || fail "--color=always"
sed 's/\x1b\[[0-9]*m//g' "$work/out" | cmp - "$work/plain" ||
	fail "--color=always changes more than colours"
on_terminal() {	# VARIABLE=VALUE...
	env TERM=xterm "$@" script -qec "'$ctl' dump -n 1 '$work/a'" /dev/null </dev/null
}
grep -q $'\033\\[1m' < <(on_terminal A=b) || fail "no colours on a terminal"
! grep -q $'\033\\[1m' < <(on_terminal NO_COLOR=1) || fail "colours in spite of NO_COLOR"
! grep -q $'\033\\[1m' < <(on_terminal TERM=dumb) || fail "colours on a dumb terminal"
run 0 dump -n 20 --color=never "$work/a"
cmp "$work/out" "$work/plain" || fail "--color=never"
run_says 2 'color: invalid value .blue.; use auto, always or never' dump --color=blue "$work/a"

# dump shows the error bound of times.
run 0 dump -n 20 --error "$work/a"
[ "$(grep -cE '^[0-9:.]+ \+- *[0-9]+ns \[' "$work/out")" = 20 ] || fail "--error"
ns=$(sed -n '1s/.*+- *\([0-9]*\)ns.*/\1/p' "$work/out")
run 0 dump -n 1 --error --json "$work/a"
[ "$(number error_ns "$work/out")" = "$ns" ] ||
	shows "\"error_ns\":$ns}"

# Invalid input is refused with the reason.
run_says 1 'nonesuch: the recording has no such event; it has .*tick' dump --event nonesuch "$work/a"
run 1 dump --cpu 4711 "$work/a"
cpus=$(sed -n 's/^\tnr_cpus = \([0-9]*\);/\1/p' "$work/a/metadata")
[ "$cpus" = 1 ] && says 'dump: --cpu 4711: the recording has CPU 0 only' ||
	says "dump: --cpu 4711: the recording has CPUs 0 to $((cpus - 1))$"
run 1 dump --cpu "$cpus" "$work/a"
run 1 dump --node nonesuch "$work/a"
says "dump: --node nonesuch: the recording has no such node; it has $(uname -n)$"
run 1 dump --tid "$tid,4294967294-4294967295" "$work/a"
says "dump: --tid 4294967294-4294967295: the recording has no such thread; 'trace-ctl stat -a' lists"
[ ! -s "$work/out" ] || fail "events in spite of a thread that is not in the recording"
run_says 0 'dump: no event matches the filter' dump --tid "$tid" --to +0 "$work/a"
run_says 1 'dump: --from is later than --to; exchange them$' dump --from +2 --to +1 "$work/a"
for number in 2026 20260131 1769862600 0; do
	run 2 dump --from $number "$work/a"
	says "--from: '$number' is not a time: .* have 19 digits; write a date as 2026-01-31"
	run_says 2 "--to: '$number' is not a time: " dump --to $number "$work/a"
done
run 0 dump --from 2026ns "$work/a"
[ -s "$work/out" ] || fail "--from 2026ns"
run_says 2 'is out of range' dump --from 9999999999999999999 "$work/a"
run_says 2 "'' is not a time" dump --from '' "$work/a"
run_says 2 "recording's name is empty" dump ''
for number in -1 '' 1x 18446744073709551617; do
	run_says 2 "-n: '$number' is not a number from 0 to " dump -n "$number" "$work/a"
	run 2 dump --tid "$number" "$work/a"
	says "--tid: '$number' is not a thread ID list such as 0-3,8 (numbers up to 4294967295)"
done
run_says 2 '--node: empty name' dump --node '' "$work/a"
run 2 dump --event '' "$work/a"
run_says 2 "from: 'yesterday' is not a time; use" dump --from yesterday "$work/a"
run_says 1 'none: No such file or directory; name the directory' dump "$work/none"
run_says 1 "$work: not a tsctrace recording; it has no file 'metadata'" dump "$work"
run_says 1 'Not a directory' stat /dev/null
mkdir "$work/other" && printf '/* CTF 1.8 */\n\ntrace {\n' >"$work/other/metadata"
run_says 1 "not a tsctrace recording; written by another tracer" dump "$work/other"
for magic in '\x57\x1d\xd1\x75' '\x75\xd1\x1d\x57'; do
	printf "$magic"'\0\0\0/* CTF 1.8 */' >"$work/other/metadata"
	run_says 1 "not a tsctrace recording; written by another tracer, such as LTTng, as CTF 1.8 in packets; convert the trace by trace-ctl merge, built with tools/wings/ctf" dump "$work/other"
done
printf '\x1e{"type":"preamble","version":2}' >"$work/other/metadata"
run_says 1 "written by another tracer as CTF 2" dump "$work/other"
# Local times that occur twice, or do not occur
export TZ=CET-1CEST,M3.5.0,M10.5.0/3
run_says 1 "from 2026-10-25T02:30: this local time occurs twice.*at +02:00 and at +01:00; append" \
	dump --from 2026-10-25T02:30 "$work/a"
run_says 1 "to 2026-03-29 02:30: this local time does not occur" dump --to '2026-03-29 02:30' "$work/a"
run 0 dump --from 2026-10-25T02:30+02:00 "$work/a"
unset TZ
cp -r "$work/a" "$work/cut"
truncate -s -50 "$work/cut/metadata"
run 1 dump "$work/cut"
says "cut: metadata is cut off after byte $(stat -c %s "$work/cut/metadata")$"
run 1 stat "$work/cut"
rm "$work/cut/metadata" && mkdir "$work/cut/metadata"
run_says 1 'cut: metadata: not a regular file; name the directory' dump "$work/cut"
run 2 dump
run 2 dump "$work/a" "$work/a"
run_says 2 "cpu: 'x' is not a CPU list such as 0-3,8 (numbers up to [1-9]" dump --cpu x "$work/a"
run 2 dump -n -1 "$work/a"
run 2 dump -n 99999999999999999999 "$work/a"
says "n: '99999999999999999999' is not a number from 0 to 9223372036854775807"
for forms in '--raw --delta' '--delta --utc' '--utc --raw' '--raw --delta --utc'; do
	# shellcheck disable=SC2086
	run_says 2 '--utc, --raw, --relative, --stamps and --delta exclude each other' dump $forms "$work/a"
done
run 0 dump -n 1 --raw --raw "$work/a"

# A closed pipe is no error; a full disk is reported.
"$ctl" dump "$work/a" 2>"$work/err" | head -n 1 >/dev/null || true
[ ! -s "$work/err" ] || fail "an error message for a closed pipe"
exits 1 "$ctl" dump "$work/a" >/dev/full 2>"$work/err"
says 'standard output: No space left on device'
