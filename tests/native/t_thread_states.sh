#!/bin/bash
# SPDX-License-Identifier: MIT
# States of threads with known causes: states.c makes them, statecheck.py compares what stat
# --threads says with the events.
# test-wing: threads kernel
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events

check() {	# DIR
	"$ctl" stat --threads --json "$work/$1" >"$work/$1.json"
	"$ctl" dump --json "$work/$1" >"$work/$1.dump"
	python3 "$here/statecheck.py" "$work/$1.json" "$work/$1.printed" <"$work/$1.dump" 2>"$work/err" ||
		fail "$1: $(tail -n 1 "$work/err")"
}

# --- the command, and the whole system --------------------------------------------------------
for which in command all; do
	arguments=(-e sched -e syscalls)
	[ $which = command ] || arguments+=(-a)
	run 0 record -q "${arguments[@]}" -o "$work/$which" -- sh -c "'$helpers/states' >'$work/$which.printed'"
	check $which
done
run 0 stat --threads "$work/command"
shows '^thread  *running ms  *runnable ms  *blocked ms  *off CPU ms  *unknown ms  *switched in'
shows ' sleeper'

# --- switches alone: it is unknown when a thread was woken ------------------------------------
run 0 record -q -e sched_switch -o "$work/switches" -- "$helpers/states"
"$ctl" stat --threads --json "$work/switches" >"$work/out"
holds "$work/out" "all(t['blocked_ns'] == 0 and t['wakings'] == 0 for t in j['thread_states'])"
holds "$work/out" "[t['off_cpu_ns'] > 1e8 for t in j['thread_states'] if t['name'] == 'sleeper'] == [True]"

# --- filters: unknown is what they may hide ---------------------------------------------------
run 0 record -q -e sched --cpu 0 -o "$work/cpu" -- "$helpers/states"
"$ctl" stat --threads --json "$work/cpu" >"$work/out"
holds "$work/out" "all(t['blocked_ns'] + t['runnable_ns'] + t['off_cpu_ns'] == 0 for t in j['thread_states'])"
run 0 record -q -e sched --comm sleeper -o "$work/comm" -- "$helpers/states"
"$ctl" stat --threads --json "$work/comm" >"$work/out"
holds "$work/out" "[t['name'] for t in j['thread_states']] == ['sleeper']"

# --- no switches at all -----------------------------------------------------------------------
run 0 record -q -e sys_enter -o "$work/none" -- true
run_shows 0 'no switches of selected threads; record with -e sched' stat --threads "$work/none"
