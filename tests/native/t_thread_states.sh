#!/bin/bash
# SPDX-License-Identifier: MIT
# States of threads with known causes: states.c makes them, statecheck.py compares what stat
# --threads says with the events, and with an export to Perfetto; pagestates.py with the page.
# test-wing: threads formats kernel report stacks query
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events

check() {	# DIR
	"$ctl" stat --threads --json "$work/$1" >"$work/$1.json"
	"$ctl" dump --json "$work/$1" >"$work/$1.dump"
	"$ctl" export -q -f perfetto -o "$work/$1.pftrace" "$work/$1"
	python3 "$here/statecheck.py" "$work/$1.json" "$work/$1.pftrace" "$work/$1.printed" <"$work/$1.dump" 2>"$work/err" ||
		fail "$1: $(tail -n 1 "$work/err")"
	check_page "$1"
}

check_page() {	# DIR
	"$ctl" report -q -o "$work/$1.html" "$work/$1"
	"$ctl" query --json "$work/$1" 'select * from states' >"$work/$1.states"
	drawn=$(python3 "$here/pagestates.py" "$work/$1.html" "$work/$1.json" "$work/$1.states" 2>&1) ||
		fail "$1: the page: $(tail -c 500 <<<"$drawn")"
	[ "${drawn% *}" -gt 10 ] || fail "$1: the page has states: $drawn"
}

# --- the command, and the whole system --------------------------------------------------------
for which in command all; do
	arguments=("$work/$which" -e sched -e syscalls -- sh -c
		"'$helpers/states' >'$work/$which.printed'")
	[ $which = all ] || run 0 record -q -o "${arguments[@]}"
	[ $which = command ] || record_system "${arguments[@]}"
	check $which
done
# More times than a page draws individually: the longest are drawn, and the sums are right.
# The rings have room for all of them, if the recorder does not run for a while.
run 0 record -q -e sched --blocks 4096 -o "$work/many" -- python3 -c 'import os
(a, b), (c, d) = os.pipe(), os.pipe()
if os.fork():
    for i in range(50000):
        os.write(b, b"x")
        os.read(c, 1)
else:
    for i in range(50000):
        os.read(a, 1)
        os.write(d, b"x")'
"$ctl" stat --threads --json "$work/many" >"$work/many.json"
check_page many
[ "${drawn% *}" -le 60000 ] && [ "${drawn#* }" -gt 3 ] || fail "many: the page has states: $drawn"

run 0 stat --threads "$work/command"
shows '^thread  *running ms  *runnable ms  *blocked ms  *off CPU ms  *unknown ms  *switched in'
shows ' sleeper'

# A filter that leaves out switches: Perfetto's rows lack runs, which export says.
lacks='a filter leaves out switches of threads: the rows of CPUs, .* lack times in which threads ran'
for option in --comm=sleeper '--where=prev_prio > 0' --event=sched_waking; do
	run_says 0 "$lacks" export -f perfetto -o "$work/part.pftrace" "$option" "$work/command"
done
for option in --event='sched_*' --from=+0 --cpu=0; do
	run 0 export -f perfetto -o "$work/part.pftrace" "$option" "$work/command"
	! grep -q "$lacks" "$work/err" || fail "$option: no switch is left out"
done
run 0 record -q -e sched_waking -o "$work/wakings" -- sleep 0.1
run 0 export -f perfetto -o "$work/part.pftrace" --tid 0-4294967295 "$work/wakings"
! grep -q "$lacks" "$work/err" || fail "the recording has no switches"

# --- filters of the reader: the parts of the states that they select ----------------------------
"$ctl" query --json "$work/command" 'select * from states' >"$work/states"
while read -r options; do
	# shellcheck disable=SC2086
	"$ctl" stat --threads --json $options "$work/command" >"$work/out"
	python3 - "$work/states" "$work/out" "$options" <<'END' || fail "stat --threads $options: other times"
import collections, json, sys
rows, stat = [json.loads(i) for i in open(sys.argv[1])], json.load(open(sys.argv[2]))
options = sys.argv[3].split()
given = dict(zip(options[::2], options[1::2]))
first, last = (int(stat["begin_ns"]) + int(given[o][1:-2]) * 10**6 if o in given else limit
               for o, limit in (("--from", 0), ("--to", 1 << 62)))
wanted = collections.Counter()
for r in rows:
    ns = min(int(r["until_ns"]), last) - max(int(r["from_ns"]), first)
    if (ns > 0 and given.get("--comm", r["thread"]) == r["thread"] and
            ("--cpu" not in given or r["cpu"] == int(given["--cpu"]))):
        wanted[r["tid"], r["state"].lower().replace(" ", "_") + "_ns"] += ns
found = {(t["tid"], key): t[key] for t in stat["thread_states"] for key in t
         if key.endswith("_ns") and "latency" not in key and t[key]}
assert wanted == found and (wanted or "--cpu" in given), (wanted, found)
END
done <<END
--from +30ms
--from +30ms --to +100ms
--comm sleeper
--cpu 0
END

# --- stacks by the time off the CPU -----------------------------------------------------------
# Repeats until the switch back to the sleeper is recorded: where the kernel of a guest hides some
# switches, it may not be.
until run 0 record -q -e sched --stack -o "$work/stacks" -- "$helpers/states" &&
		"$ctl" dump --json "$work/stacks" >"$work/dump" && python3 - "$work/dump" >"$work/slept" <<'END'
import json, sys
out = None
for e in map(json.loads, open(sys.argv[1])):
    f = e["fields"]
    if e["event"] == "sched_switch" and f["prev_comm"] == "sleeper":
        out = int(e["time_ns"]), "nanosleep" in str(e.get("frames"))
    elif e["event"] == "sched_switch" and f["next_comm"] == "sleeper" and out:
        if out[1]:	# also if it was preempted there
            print(int(e["time_ns"]) - out[0])
        out = None
    elif e.get("thread") == "sleeper" and out:
        sys.exit(1)
END
	[ "$(awk '{ n += $1 } END { print n + 0 }' "$work/slept")" -ge 100000000 ]
do
	rm -r "$work/stacks"
done
run 0 export -q -f folded --off-cpu -o - "$work/stacks"
[ "$(awk '/nanosleep/ { n += $NF } END { print n }' "$work/out")" = "$(awk '{ n += $1 } END { print n }' "$work/slept")" ] ||
	fail "the stacks of nanosleep() have not the time $(cat "$work/slept")"
run 2 export -q -f json --off-cpu -o - "$work/stacks"
run 0 report -q -o "$work/page.html" "$work/stacks"
grep -q 'sched_switch: [1-9][0-9.]* ms off CPU</summary>' "$work/page.html" || fail "the page counts switches"
run 1 export -q -f folded --off-cpu -o - "$work/command"

# --- switches alone: it is unknown when a thread was woken ------------------------------------
run 0 record -q -e sched_switch -o "$work/switches" -- "$helpers/states"
"$ctl" stat --threads --json "$work/switches" >"$work/out"
holds "$work/out" "all(t['blocked_ns'] == 0 and t['wakings'] == 0 for t in j['thread_states'])"
holds "$work/out" "[t['off_cpu_ns'] > 1e8 for t in j['thread_states'] if t['name'] == 'sleeper'] == [True]"

# --- merged: recorders of one node that select other threads, one after the other, and at a time -
check_merged() {	# DIR DIR PART...: JSON of stat, of what the threads did
	rm -rf "$work/m"
	run 0 merge -q --force -o "$work/m" "$work/$1" "$work/$2"
	"$ctl" stat --threads --json "$work/m" >"$work/m.json"
	"$ctl" export -q -f perfetto -o "$work/m.pftrace" "$work/m"
	python3 "$here/statecheck.py" --merged "$work/m.json" "$work/m.pftrace" "${@:3}" 2>"$work/err" ||
		fail "merged $1, $2: $(tail -n 1 "$work/err")"
}
check_merged command all "$work"/{command,all}.json
# shellcheck disable=SC2016 # for the inner shell
record_system "$work/outer" -e sched -- \
	sh -c 'rm -rf "$2" && exec "$1" record -q -e sched -o "$2" -- "$3"' \
	sh "$ctl" "$work/inner" "$helpers/states"
"$ctl" stat --threads --json "$work/outer" >"$work/outer.json"
check_merged outer inner "$work/outer.json"
check_merged inner outer "$work/outer.json"

# --- merged: nothing is known between two recordings, and after the first one -------------------
record_system "$work/before" -e sched_switch -- "$helpers/states"
sleep 0.3
record_system "$work/after" -e sched -- true
run 0 merge -q -o "$work/merged" "$work/before" "$work/after"
for which in before after merged; do
	"$ctl" stat --threads --json "$work/$which" >"$work/$which.json"
done
python3 - "$work"/{merged,before,after}.json <<'END' || fail "more is known of threads than was recorded"
import json, sys
def known(path):
    sums = {}
    for t in json.load(open(path))["thread_states"]:
        for state in "running", "runnable", "blocked", "off_cpu":
            for name in state, "known":
                sums[t["tid"], name] = sums.get((t["tid"], name), 0) + t[state + "_ns"]
    return sums
merged, *parts = map(known, sys.argv[1:])
assert any(merged.values())
for key, ns in merged.items():
    # Each time is rounded.
    wanted = sum(part.get(key, 0) for part in parts)
    if key[1] in ("running", "known"):
        assert ns <= wanted * 1.001 + 100000, (key, ns, wanted)
END

# --- filters: unknown is what they may hide ---------------------------------------------------
run 0 record -q -e sched --cpu 0 -o "$work/cpu" -- "$helpers/states"
"$ctl" stat --threads --json "$work/cpu" >"$work/out"
holds "$work/out" "all(t['blocked_ns'] + t['runnable_ns'] + t['off_cpu_ns'] == 0 for t in j['thread_states'])"
run 0 record -q -e sched --comm sleeper -o "$work/comm" -- "$helpers/states"
"$ctl" stat --threads --json "$work/comm" >"$work/out"
holds "$work/out" "[t['name'] for t in j['thread_states']] == ['sleeper']"

run 0 record -q -e sched --where 'prev_state == 0' -o "$work/where" -- "$helpers/states"
run_shows 0 'thread states: unknown: a condition or the rate limit of the recorder may have hidden' \
	stat --threads "$work/where"

# --- no switches at all -----------------------------------------------------------------------
run 0 record -q -e sys_enter -o "$work/none" -- true
run_shows 0 'no switches of selected threads; record with -e sched' stat --threads "$work/none"
