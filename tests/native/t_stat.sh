#!/bin/bash
# SPDX-License-Identifier: MIT
# Figures of stat for a generated recording with known system calls, switches, losses
# and times.
# test-fast: yes
. "$(dirname "$0")/record.sh"

mkdir "$work/a"
"$helpers/made" "$work/a"

threads=	# without the wing, there are no figures of threads and system calls
! has_wing threads || threads=threads

run_says 3 '9 events were lost while recording: full 7 no_ring 2' stat "$work/a"
cat >"$work/want" <<'END'
command    make
host       node\x1b
kernel     6.1
recorded   2026-01-01 00:00:10.000000 to 2026-01-01 00:00:20.000000, 10.000000 s
rings      module
clock      tsc at 1000.000000 MHz (within 12 ppb), holdover by module; times within 1501 ns of CLOCK_REALTIME
           DISRUPTED during the recording (a step, a suspend): times before and after it cannot be compared
utc        times within 3001501 ns, as stated by ClockBound
files      682 bytes, 62.00 bytes/event, 17.09 of it payload
ticks      tsc; up to 1 more event on the same tick as the first event of the tick

CPU              events        per s         first          last         lost
0                     7          0.7     +0.000000     +5.000000            0
1                     4          0.4     +3.000000     +6.000000            7  kernel full 7
all                  11          1.1     +0.000000     +6.000000            7

channel          event                    kind           events        per s         first          last bytes each    payload
kernel           sys_enter                instant             4          0.4     +1.000000     +5.000000      27.00      16.00
kernel           sys_exit                 instant             4          0.4     +0.000000     +4.000000      23.25      16.00
kernel           sched_switch             instant             3          0.3     +3.000000     +6.000000      27.00      20.00
1 more definition without events

system call               calls     errors       total ms      mean us       max us
write                         1          0       2000.000  2000000.000  2000000.000
read                          2          0          4.000     2000.000     3000.000
1 more call without a return

thread           events        per s         first          last  switched in  name
1                     4          0.4     +1.000000     +3.003000            -
0                     3          0.3     +3.000000     +6.000000            -  (idle)
2                     2          0.2     +2.000000     +4.000000            -
3                     1          0.1     +0.000000     +0.000000            -
4                     1          0.1     +5.000000     +5.000000            -
12                    0          0.0             -             -            -  two\x07
11                    0          0.0             -             -            -  one
END
if [ ! "$threads" ]; then
	sed -i '/^system call /,$d' "$work/want"
	echo 'threads and system calls: this trace-ctl was built without tools/wings/threads' \
		>>"$work/want"
fi
TZ=UTC run 3 stat "$work/a"
diff "$work/want" "$work/out" || fail "stat prints other text"

# Unreadable events are in no figure other than "unreadable".
cp -r "$work/a" "$work/cut"
size=$(($(stat -c %s "$work/cut/kernel_0") - 1))
truncate -s $size "$work/cut/kernel_0"
run 3 stat "$work/cut"
shows '^damaged  *1 of the 11 recorded events are unreadable; all other figures are of the readable 10$'
shows "^files  *$((682 - 1)) bytes, "
shows '^0  *6 .* 0  unreadable 1$'
shows '^all  *10 .* 7  unreadable 1$'
run 3 stat --json "$work/cut"
[ "$(number unreadable "$work/out")" = 1 ] || fail "unreadable in JSON"

run 3 stat --json "$work/a"
tr -d ' \n' <"$work/out" >"$work/flat"
for want in '"begin_ns":"1767225610000000000"' '"end_ns":"1767225620000000000"' \
		'"events":11' '"rate_hz":1000000000.0' '"error_ns":1501' \
		'"timestamps":"tsc","sync_every":0,"sync_every_ns":0,"sync_every_bytes":0,"bytes":682,"payload_bytes":188,' \
		'"most_on_tick":1}' '"rate_error_ppb":12' '"disrupted":true' '"lost_no_ring":2' \
		${threads:+'{"number":1,"name":"write","compat":false,"calls":1,"timed":1,"errors":0,"total_ns":2000000000,"mean_ns":2000000000,"max_ns":2000000000},{"number":0,"name":"read","compat":false,"calls":2,"timed":2,"errors":0,"total_ns":4000000,"mean_ns":2000000,"max_ns":3000000}'} \
		'{"channel":"kernel","event":"never","kind":"counter","count":0,'; do
	grep -qF -- "$want" "$work/flat" || fail "JSON without $want"
done
python3 - "$work/out" $threads <<'END' || fail "JSON"
import json, sys
s = json.load(open(sys.argv[1]))
begin = int(s["begin_ns"])
def told(t):
    at = lambda k: None if t[k] is None else (int(t[k]) - begin) / 1e9
    return t["events"], round(t["per_s"], 3), at("first_ns"), at("last_ns")
assert [told(c) for c in s["cpus"]] == [(7, .7, 0, 5), (4, .4, 3, 6)], s["cpus"]
assert [(n["name"], n["lost"]) + told(n) for n in s["nodes"]] == \
    [("node\x1b", 7, 11, 1.1, 0, 6)], s["nodes"]
with_threads = len(sys.argv) > 2
assert with_threads == (s["threads"] is not None), s["threads"]
assert not with_threads or \
    [(t["tid"], t["name"], t["switched_in"]) + told(t) for t in s["threads"]] == [
    (1, "", None, 4, .4, 1, 3.003), (0, "", None, 3, .3, 3, 6), (2, "", None, 2, .2, 2, 4),
    (3, "", None, 1, .1, 0, 0), (4, "", None, 1, .1, 5, 5),
    (12, "two\a", None, 0, 0, None, None), (11, "one", None, 0, 0, None, None)], s["threads"]
assert [(e["event"], e["payload_bytes"]) + told(e) for e in s["by_event"]] == [
    ("sys_enter", 64, 4, .4, 1, 5), ("sys_exit", 64, 4, .4, 0, 4),
    ("sched_switch", 60, 3, .3, 3, 6), ("never", 0, 0, 0, None, None)], s["by_event"]
# The bytes of a file that belong to no event are headers of 80 bytes: one of an empty
# packet, and one of a packet with events; CPU 1 has another empty one.
for by in ["cpus", "by_event", "nodes"] + ["threads"] * with_threads:
    assert sum(t["bytes"] for t in s[by]) == s["files"]["bytes"] - 5 * 80, by
    assert sum(t["payload_bytes"] for t in s[by]) == s["files"]["payload_bytes"], by
END

# --top limits the lines of each list; a last line sums up the others.
run 3 stat --top 2 "$work/a"
for line in 'kernel  *sys_enter  *instant  *4 ' ' 1 other  *3  *0\.3 ' \
		${threads:+'^1  *4 ' '^0  *3 ' '^write  *1 ' \
		'^5 others  *4  *0\.4  *+0\.000000  *+5\.000000  *-$'}; do
	shows "$line"
done
! grep -q '^2  *2 ' "$work/out" || fail "--top 2 shows three threads"
for number in 0 -1 '' 1x 2147483648 18446744073709551617; do
	run 2 stat -n "$number" "$work/a"
	says "--top: '$number' is not a number from 1 to 2147483647"
done
run 3 stat -n 1 "$work/a"
[ ! "$threads" ] || shows '^1 other  *2  *0  *4\.000  *2000\.000  *3000\.000$'
shows '^1 other  *4  *0\.4  *+3\.000000  *+6\.000000  *7$'
shows '^all  *11  *1\.1 '
run_shows 3 '^kernel  *never  *counter  *0 ' stat --all "$work/a"
[ ! "$threads" ] || shows '^11  *0 .* -  one$'
run_says 2 "top: '0' is not a number from 1 to 2147483647" stat --top 0 "$work/a"
run 2 stat --top x "$work/a"

# The three errors are kept apart: to CLOCK_REALTIME, to UTC, and between nodes.
run 3 stat --json "$work/a"
holds "$work/out" '[j["clock"][k + "error_ns"] for k in ("", "clock_", "node_", "utc_")] ==
	[1501, 1501, None, 3001501]'
run 3 dump --error=utc "$work/a"
[ "$(grep -o '+- *[0-9]*ns' "$work/out" | tr -d ' ' | sort | uniq -c | tr -s ' ')" = \
" 3 +-2001501ns
 8 +-3001501ns" ] || fail "dump --error=utc"
run_says 2 "\-\-error: invalid value 'gps'; use common, clock or utc" dump --error=gps "$work/a"

# Many nodes: threads and CPUs of different nodes are separate, and all are listed.
mkdir "$work/many"
"$helpers/made" "$work/many" many
run 3 stat --json "$work/many"
python3 - "$work/out" $threads <<'END' || fail "many nodes"
import json, sys
s = json.load(open(sys.argv[1]))
nodes = [(n["name"], n["events"], n["error_ns"], n["residual_ns"], n["lost"]) for n in s["nodes"]]
assert nodes == [("one", 3, 100, None, 0), ("two", 2, 7000, 40.26, 5),
                 ("three", 0, None, None, 0)], nodes
threads = [(t["node"], t["tid"], t["events"]) for t in s["threads"] or []]
assert threads == ([(0, 7, 3), (1, 7, 2)] if len(sys.argv) > 2 else []), threads
assert [(c["node"], c["cpu"], c["events"]) for c in s["cpus"]] == \
    [(0, 0, 2), (0, 1, 1), (1, 0, 2)], s["cpus"]
# A sys_exit event is not matched with the sys_enter event of a thread with the same id
# on another node, so stat finds no time of a system call.
assert all(c["timed"] == 0 and c["max_ns"] is None for c in s["system_calls"] or []), \
    s["system_calls"]
END
run_shows 3 '^one  *3 .* 0  *100  *- auto ' stat "$work/many"
shows '^two  *2 .* 5  *7000  *40\.3 spline '
shows '^three  *0 .* -  *-  *0  *?  *-  *- '
[ ! "$threads" ] || shows '^two  *7  *2 '
run 3 dump "$work/many"
[ "$(wc -l <"$work/out")" = 5 ] || fail "dump of many"
[ "$(sed 's/^[0-9:.]* //; s/\(\[00.\]\).*/\1/' "$work/out" | sort | uniq -c | sed 's/^ *//')" = \
"2 one   [000]
1 one   [001]
2 two   [000]" ] || fail "nodes in columns"
run 3 dump --node two --error "$work/many"
[ "$(grep -c ' +- *7000ns two ' "$work/out")" = 2 ] || fail "dump --node --error"
run 3 dump --node 0 --cpu 1 "$work/many"
[ "$(wc -l <"$work/out")" = 1 ] || fail "dump --node --cpu"

# A line of the clock narrows the bounds of the events in its range, and of no others. Lines
# that contradict it narrow none, and are reported.
line() {	# NUMBER BASE UNTIL OFF_NS ERROR_PS
	printf '\\n\\tclock_line_%u = "base_ns=%u base_tsc=%u until_tsc=%u mult=%u error_ps=%u epoch=2 status=2 cause=1";' \
		"$1" $((1767225600000000000 + $2 + $4)) "$2" "$3" $((1 << 56)) "$5"
}
cp -r "$work/a" "$work/lines"
sed -i "/^\\tclock_real = /s/\$/$(line 0 11500000000 13500000000 30 70000)/" "$work/lines/metadata"
TZ=UTC run 3 stat "$work/lines"
shows 'times within 1501 ns of CLOCK_REALTIME$'
shows '^  *events within 102 to 1501 ns, half of them within 1501 ns$'
TZ=UTC run 3 dump --error "$work/lines"
[ "$(grep -c '^00:00:1[23].* +- *102ns' "$work/out")" = 5 ] || fail "dump --error: in the range"
[ "$(grep -c '^00:00:1[01456].* +- *1501ns' "$work/out")" = 6 ] || fail "dump --error: elsewhere"
run 3 stat --json "$work/lines"
holds "$work/out" 'j["clock"]["contradictory_lines"] == 0' \
	'j["clock"]["event_error_ns"] == {"min": 102, "median": 1501, "max": 1501, "unknown": 0}'
sed -i "/^\\tclock_line_0 = /s/\$/$(line 1 13000000000 14000000000 400 20000)/" "$work/lines/metadata"
TZ=UTC run 3 stat "$work/lines"
shows '^  *2 of 2 lines of the clock.s history CONTRADICT other lines'
! grep -q 'events within' "$work/out" || fail "contradictory lines narrow bounds"

# Of a killed recorder there are events after the end that the metadata states, here 4 s: the
# bounds to CLOCK_REALTIME and to UTC grow up to the last one.
cp -r "$work/a" "$work/killed"
as_killed "$work/killed"
run 3 stat --json "$work/killed"
holds "$work/out" 'j["clock"]["clock_error_ns"] == 4000501' \
	'4000501 + 3000000 + 2000000 <= j["clock"]["utc_error_ns"] <= 4000501 + 3000000 + 2000501'
# The number of lost events is that of the whole recording.
run_says 3 '^trace-ctl stat: 7 events were lost while recording' stat --to +1 "$work/killed"

# Times before a disruption are by the clock after it: without a line of their own epoch,
# nothing is known of them.
cp -r "$work/a" "$work/broken"
sed -i 's/^\tclock_real = "base_ns=1767225600000000000 base_tsc=0 /\tclock_real = "base_ns=1767225612500000000 base_tsc=12500000000 /' \
	"$work/broken/metadata"
TZ=UTC run 3 stat "$work/broken"
shows 'holdover by module; for a part of the time, no bound of the times is known$'
shows '^  *events within 1501 to 1501 ns, half of them within 1501 ns; 4 events without a bound$'
shows '^utc  *for a part of the time, no bound of the times is known$'
run 3 stat --json "$work/broken"
holds "$work/out" 'all(j["clock"][k + "error_ns"] is None for k in ("", "clock_", "utc_"))' \
	'j["clock"]["event_error_ns"] == {"min": 1501, "median": 1501, "max": 1501, "unknown": 4}'

# --- a part of the time: its events, their rate and sizes; damage elsewhere is not read -----------
mkdir "$work/window"
"$helpers/spans" "$work/window" 200000 5
"$ctl" dump --json "$work/window" >"$work/all"
run 0 stat --json --all --from +3 --to +4 "$work/window"
python3 - "$work/all" "$work/out" <<'END' || fail "a part of the time"
import collections, json, sys
all_events = [e for e in map(json.loads, open(sys.argv[1])) if 3e9 <= e["rel_ns"] < 4e9]
stat = json.load(open(sys.argv[2]))
want = collections.Counter((e["event"], e["kind"]) for e in all_events)
got = {(e["event"], e["kind"]): e for e in stat["by_event"] if e["events"]}
assert {k: e["events"] for k, e in got.items()} == want and sum(want.values()) > 1000, (want, got)
assert all(abs(e["per_s"] - e["events"]) < 1e-3 * e["events"] for e in got.values()), got
assert sum(c["events"] for c in stat["cpus"]) == len(all_events)
files = stat["files"]
assert files["payload_bytes"] / len(all_events) < files["bytes_per_event"] < 40, files
assert files["bytes"] > 1000000, files
END
for file in "$work"/window/default_?; do
	for at in 40000 $(($(stat -c %s "$file") - 40000)); do
		printf 'XXXXXXXX' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	done
done
run 3 stat "$work/window"
run_shows 0 'all time stamps of the selected events of a channel on one CPU are distinct' \
	stat --from +3 --to +4 "$work/window"
run 0 stat --from +3 --to +4 --json "$work/window"
