#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py DUMP STAT SUMMARY PERF PIDS: compares a recording with what perf recorded of a
cgroup in the same time.

DUMP is of `dump --json`, STAT of `stat --json`, SUMMARY of `record --json`, PERF the text of
`perf script`, and PIDS has a line "all" if the recording is of all processes, else it is empty.
Prints the numbers of system calls and switches, "ours perf" each, then numbers of stacks.
"""
import collections
import json
import re
import statistics
import sys
import time

RT_SIGRETURN = 15
CALLS = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"


def read_perf(path):
    """Counts begins and ends of (process, number of the call); times of begins and switches"""
    calls, switches, tids = collections.Counter(), collections.defaultdict(list), set()
    waiting, times = set(), collections.defaultdict(list)
    line_of = re.compile(r"\s(-?\d+)/(-?\d+)\s+([\d.]+):\s+(\S+):(\S+): (.*)")
    for line in open(path, errors="replace"):
        found = line_of.search(line)
        if not found:
            continue
        pid, tid, at, _, event, text = found.groups()
        if line.lstrip().startswith("unshare "):  # waits for the container
            waiting.add(int(pid))
        if event == "sched_switch":  # of all threads: perf leaves a cgroup before they end
            of = int(re.search(r"prev_pid=(\d+) prev_prio", text).group(1))
            switches[of].append(int(at.replace(".", "")))
        else:
            tids.add(int(tid))
            if event == "sys_enter":
                times[int(tid)].append(int(at.replace(".", "")))
            number = int(re.match(r"NR (-?\d+)", text).group(1))
            # rt_sigreturn() overwrites the register with its number.
            number = RT_SIGRETURN if number == -1 else number
            calls[event == "sys_enter", int(pid), number] += 1
    return calls, switches, tids - waiting, waiting, times


def read_ours(path, numbers, tids):
    calls, switches = collections.Counter(), collections.defaultdict(list)
    stacks, times, events = collections.Counter(), collections.defaultdict(list), 0
    for line in open(path):
        e = json.loads(line)
        events += 1
        name, kind, fields = e["event"], e["kind"], e["fields"]
        if "stack" in fields:
            frames = e.get("frames", [])
            stacks["events"] += 1
            stacks["absent"] += not any(not f["kernel"] for f in frames)
            known = [f for f in frames if not f["kernel"]]
            # An address in no file is no function; of the first one, the rest is unknown.
            stacks["one"] += len(known) == 1 or sum(
                bool(f["file"] or f["function"]) for f in known) == 1
            stacks["nameless"] += bool(known) and not (known[0]["file"] or known[0]["function"])
        if tids is not None and e["tid"] not in tids:
            continue
        if name == "sched_switch":
            switches[fields["prev_tid"]].append(int(e["time_ns"]))
            continue
        if not name.startswith("sys_"):
            continue
        if name in ("sys_enter", "sys_exit") and "id" in fields:
            number = fields["id"]
            begins, ends = name == "sys_enter", name == "sys_exit"
        else:
            number = numbers.get(name[4:], name)
            begins, ends = kind == "begin", kind != "begin"
        if begins:
            times[e["tid"]].append(int(e["time_ns"]))
        calls[True, e["pid"], number] += begins
        calls[False, e["pid"], number] += ends
    return +calls, switches, stacks, events, times


def count_switches(switches, calls, tids):
    """Counts each thread's switches from its first call to its last: perf begins before the
    recorder and ends after it, and whatever stops or wakes the frozen program then is not ours."""
    return {tid: sum(calls[tid][0] < t < calls[tid][-1] for t in switches[tid])
            for tid in tids if calls[tid]}


def main():
    dump, stat, summary, perf = sys.argv[1:5]
    stat, summary = json.load(open(stat)), json.load(open(summary))
    numbers = {name: int(number) for name, number in
               re.findall(r"#define __NR_(\w+) (\d+)", open(CALLS).read())}
    perf_calls, perf_switches, tids, waiting, perf_times = read_perf(perf)
    all_processes = sys.argv[5] == "all"
    calls, switches, stacks, events, times = read_ours(
        dump, numbers, tids if all_processes else None)
    faults = []
    for key in [key for key in [*calls, *perf_calls] if key[1] in waiting]:
        calls.pop(key, None)
        perf_calls.pop(key, None)
    for key in sorted(set(calls) | set(perf_calls), key=str):
        if calls[key] != perf_calls[key]:
            faults.append(f"{'begin' if key[0] else 'end'} of call {key[2]} of {key[1]}: "
                          f"{calls[key]}, perf {perf_calls[key]}")
    # Switches to a thread of the program from others are recorded, too.
    switches = count_switches(switches, times, tids)
    perf_switches = count_switches(perf_switches, perf_times, tids)
    faults += [f"switches of {tid}: {switches.get(tid)}, perf {perf_switches.get(tid)}"
               for tid in sorted(tids) if switches.get(tid) != perf_switches.get(tid)]
    # Times: perf has those of CLOCK_MONOTONIC, in ns or less precise.
    away = [ours - theirs for tid in tids for ours, theirs in zip(times[tid], perf_times[tid])]
    offset = time.time_ns() - time.monotonic_ns()
    if not away or abs(statistics.median(away) - offset) > 1e6:
        faults.append(f"times: {away[:1]} from CLOCK_MONOTONIC, not {offset}")
    # The account
    balances = [c["balance"] for c in summary["channels"]]
    if not all(b["exact"] and b["published"] == b["recorded"] + b["lost"] for b in balances):
        faults.append(f"the account does not close: {balances}")
    total = stat["sum"]
    if not (total["exact"] and total["published"] == total["recorded"] + total["lost"]):
        faults.append(f"stat: the account does not close: {total}")
    if events != total["recorded"] or events != sum(b["recorded"] for b in balances):
        faults.append(f"{events} events, {total}")
    if total["lost"] or total["never_published"] or any(c["lost_no_ring"] for c in summary["channels"]):
        faults.append(f"lost: {total}")
    # Stacks
    s = stat["stacks"]
    if s and s["events"] != stacks["events"]:
        faults.append(f"{stacks['events']} events with a stack, stat {s}")
    if s and s["of_program"] + s["absent"] + s["refused"] + s["missing"] != s["events"]:
        faults.append(f"stacks do not add up: {s}")
    if s and stacks["one"] != s["of_one_function"]:
        faults.append(f"{stacks['one']} stacks of one function, stat {s}")
    if s and stacks["nameless"] * 20 > s["of_program"]:
        faults.append(f"{stacks['nameless']} of {s['of_program']} stacks begin in no file")
    begins = sum(n for key, n in calls.items() if key[0])
    print(begins, sum(n for key, n in perf_calls.items() if key[0]),
          sum(switches.values()), sum(perf_switches.values()),
          "stacks", json.dumps(s), *faults[:20], sep="\n" if faults else " ")
    sys.exit(bool(faults))


main()
