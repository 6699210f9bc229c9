#!/bin/bash
# SPDX-License-Identifier: MIT
# What a filter, a rate limit or a loss hid is drawn as unknown: unknowncheck.py compares the page
# and an export with the events of recordings of every filter.
# test-wing: report formats
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events

# Foreign threads run at the same time, on all CPUs.
for ((i = 0; i < $(nproc); i++)); do
	while :; do sleep 0.01; done &
done
script='for i in 1 2 3; do sleep 0.02; /bin/true; done; (exec sleep 0.05); wait'

# Records into DIR; sets runs and slices, the numbers of what is drawn.
check() {	# DIR [all | COMM...]
	"$ctl" dump --json "$work/$1" >"$work/$1.dump" 2>/dev/null || true
	"$ctl" report -q -o "$work/$1.html" "$work/$1" 2>"$work/err" || [ $? = 3 ] || fail "report $1"
	"$ctl" export -q -f json -o "$work/$1.json" "$work/$1" 2>"$work/err" || [ $? = 3 ] ||
		fail "export $1"
	python3 "$here/unknowncheck.py" "$work/$1" "$work/$1.html" "$work/$1.json" "${@:2}" \
		<"$work/$1.dump" >"$work/counts" 2>"$work/err" || fail "$1: $(tail -n 1 "$work/err")"
	read -r runs slices <"$work/counts"
	echo "# $1: $runs times on CPUs, $slices slices"
}
filtered() {	# DIR TEXT
	grep -q "Other events were not recorded.*Requested were .*$2" "$work/$1.html" ||
		fail "$1: the page does not say what was requested"
	! grep -q 'All events shown' "$work/$1.html" || fail "$1: all events"
}
kernel=(-q -e sched -e syscalls)

# --- the command, a process, and all ---------------------------------------------------------
run 0 record "${kernel[@]}" -o "$work/command" -- sh -c "$script"
check command
filtered command 'processes: the command'
[ "$runs" -gt 3 ] && [ "$slices" -gt 10 ] || fail "the command is not drawn"

"$ctl" stat --json "$work/command" >"$work/out"
python3 - "$work/out" "$work/command.dump" <<'END' || fail "switches in stat"
import json, sys
callers = {e["tid"] for e in map(json.loads, open(sys.argv[2])) if e["event"][:4] == "sys_"}
for t in json.load(open(sys.argv[1]))["threads"]:
    assert (t["switched_in"] is not None) == (t["tid"] in callers), t
END

sh -c 'while :; do sleep 0.01; done' &
looping=$!
# Records as long as it takes until more than 3 times on CPUs are drawn.
names=()
draws() {	# DIR OPTION...
	rm -rf "${work:?}/$1"
	run 0 record "${kernel[@]}" -o "$work/$1" --duration 0.3 "${@:2}"
	check "$1" "${names[@]}"
	[ "$runs" -gt 3 ]
}
wait_for "the process is drawn" draws process -p $looping
filtered process "processes: $looping"

draws_all() {
	record_system "$work/all" -e sched --duration 0.3
	check all all
	[ "$runs" -gt 3 ]
}
wait_for "threads are drawn" draws_all
! grep -q 'Other events were not recorded' "$work/all.html" || fail "all: events are hidden"

# --- other filters -----------------------------------------------------------------------------
run 0 record "${kernel[@]}" --comm sh -o "$work/comm" -- sh -c "$script"
check comm
filtered comm 'comm: sh'
[ "$runs" -gt 0 ] && [ "$slices" -gt 3 ] || fail "the thread's name: nothing is drawn"
names=(sh sleep bash "${0##*/}")	# names of $looping and $$, whose calls may be on other CPUs
wait_for "CPU 0 is drawn" draws cpu -p $looping,$$ --cpu 0
filtered cpu 'cpus: 0'
run 0 record "${kernel[@]}" --where 'next_prio >= 0' -o "$work/where" -- sh -c "$script"
check where
filtered where 'where: .*next_prio'
[ "$runs" = 0 ] || fail "hidden switches: $runs times on CPUs"

# --- a rate limit, and losses -------------------------------------------------------------------
drops() {
	rm -rf "$work/limit"
	run 0 record "${kernel[@]}" -p $looping --rate-limit 5 -o "$work/limit" --duration 0.5
	grep -q 'sched_switch [1-9]' "$work/limit/metadata"
}
wait_for "switches are dropped" drops
check limit
[ "$runs" = 0 ] || fail "dropped switches: $runs times on CPUs"
filtered limit 'rate_limit: 5'
# The recorder has more than the rings hold, unless it does not run meanwhile.
has_many() {
	rm -rf "$work/lost"
	run 3 record "${kernel[@]}" --blocks 2 --block-size 4096 -o "$work/lost" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=100000
	[ "$(stat_of "$work/lost" 'sum(c["calls"] for c in s["system_calls"]) > 1000')" = True ]
}
wait_for "more than 1000 calls are recorded" has_many
check lost
grep -q 'All recorded events shown' "$work/lost.html" || fail "lost: all events"
"$ctl" stat --json "$work/lost" >"$work/out" 2>/dev/null || [ $? = 3 ] || fail "stat lost"
holds "$work/out" 'not any(c["timed"] for c in j["system_calls"] if c["name"] in ("read", "write"))' \
	'all(c["max_ns"] is None for c in j["system_calls"] if not c["timed"])'
