#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""statecheck.py STAT PRINTED <DUMP

Compares `stat --threads --json` with the states of threads that follow from the events in `dump
--json`, to the nanosecond. Compared are the threads of which states.c printed NAME TID CPU-TIME:
these began and ended in the recording."""
import json
import sys

def close_to(value, wanted):
    return wanted <= value <= wanted + wanted // 64

def figures(moments):
    """Figures of a thread, by its moments (time, "out", prev_state), (time, "in") and
    (time, "wake"). None: it did not begin and end in the recording."""
    sums = dict(running=0, runnable=0, blocked=0, off_cpu=0)
    latencies, runs, wakings = [], 0, 0
    state, since, woken = "unknown", 0, None
    for time, what, *prev_state in moments:
        if what == "wake":
            if state in ("waits", "unknown") and woken is None:
                woken = time
        elif what == "in":
            if state == "unknown" and woken is None:
                return None
            if state == "waits" and woken is None:
                sums["off_cpu"] += time - since
            else:
                begin = since if state == "ready" else woken
                if state == "waits":
                    sums["blocked"] += woken - since
                wakings += state != "ready"
                sums["runnable"] += time - begin
                latencies.append(time - begin)
            runs += 1
            state, since, woken = "runs", time, None
        else:
            if state != "runs":
                return None
            sums["running"] += time - since
            state = "dead" if prev_state[0] & 0x30 else "waits" if prev_state[0] & 0xff else "ready"
            since, woken = time, None
    return (sums, sorted(latencies), runs, wakings) if state == "dead" else None

def moments_of(events):
    """Moments by tid, from (time, "switch", prev, prev_state, next) and (time, "waking", tid)."""
    moments = {}
    for time, what, *rest in events:
        if what == "switch":
            moments.setdefault(rest[0], []).append((time, "out", rest[1]))
            moments.setdefault(rest[2], []).append((time, "in"))
        else:
            moments.setdefault(rest[0], []).append((time, "wake"))
    return moments

def dumped(lines):
    for e in map(json.loads, lines):
        f, time = e["fields"], int(e["time_ns"])
        if e["event"] == "sched_switch":
            yield time, "switch", f["prev_tid"], f["prev_state"], f["next_tid"]
        elif e["event"] in ("sched_waking", "sched_wakeup_new"):
            yield time, "waking", f["tid"]

def compare(row, sums, latencies, runs, wakings):
    for key, value in sums.items():
        assert row[key + "_ns"] == value, (row, key, value)
    assert (row["switched_in"], row["wakings"], row["latencies"]) == \
        (runs, wakings, len(latencies)), (row, runs, wakings, len(latencies))
    assert row["latency_min_ns"] == latencies[0] and row["latency_max_ns"] == latencies[-1], row
    for key, part in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
        wanted = latencies[max(0, (len(latencies) * part + 999) // 1000 - 1)]
        assert close_to(row["latency_" + key + "_ns"], wanted), (row, key, wanted)

def main():
    stat = json.load(open(sys.argv[1]))
    rows = {r["tid"]: r for r in stat["thread_states"]}
    printed = [line.split() for line in open(sys.argv[2])]
    assert len(printed) == 5
    moments = moments_of(dumped(sys.stdin))
    for name, tid, cpu_ns in printed:
        found = figures(moments[int(tid)])
        assert found, (name, moments[int(tid)])
        compare(rows[int(tid)], *found)
    for name, tid, cpu_ns in printed:
        row = rows[int(tid)]
        assert row["name"] == name, row
        # Its own clock stopped before it ended.
        assert row["running_ns"] >= int(cpu_ns), (row, cpu_ns)
    by_name = {name: rows[int(tid)] for name, tid, _ in printed}
    sleeper, a, b = by_name["sleeper"], by_name["spin_a"], by_name["spin_b"]
    assert sleeper["blocked_ns"] + sleeper["runnable_ns"] + sleeper["off_cpu_ns"] >= 100e6, sleeper
    # While one of them ran, the other one waited for the CPU.
    assert a["runnable_ns"] + b["runnable_ns"] >= 50e6, (a, b)
    assert by_name["ping"]["wakings"] and by_name["pong"]["wakings"], by_name

main()
