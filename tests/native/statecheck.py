#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""statecheck.py STAT PFTRACE PRINTED <DUMP

Compares `stat --threads --json` with the states of threads that follow from the events in `dump
--json`, and from those of the scheduler in an export to Perfetto, to the nanosecond. Compared are
the threads of which states.c printed NAME TID CPU-TIME: these began and ended in the recording.
How long each other thread ran is compared with its slices in the export, too.

statecheck.py --merged STAT PFTRACE STAT_OF_PART...: compares how long each thread ran in a merged
recording with its slices in the export, and with what the parts say of the threads of states.c."""
import json
import sys

NOT_RECORDED = 1 << 30	# thread that stands for an unknown one

# ---- the export, read by this file alone

def fields(data):
    """Yields (number, value) of a message; of 64-bit and 32-bit ones the bytes."""
    at = 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 2: None, 5: 4}[key & 7]
            size = varint() if size is None else size
            yield key >> 3, data[at:at + size]
            at += size

def sched_events(path):
    """Events of the scheduler in a file, in its order: (time, "switch", prev, prev_state, next, cpu)
    (time, "waking", tid, waker, cpu), (time, "fork", tid) and (time, "free", tid)."""
    clocks = {}
    for _, packet in fields(open(path, "rb").read()):
        for number, message in fields(packet):
            if number == 6:
                for _, clock in fields(message):
                    if isinstance(clock, bytes):
                        clock = dict(fields(clock))
                        clocks[clock[1]] = clock[2]
            if number != 1:
                continue
            # Without another clock, these times are of CLOCK_BOOTTIME.
            assert clocks[6] == clocks[1], clocks
            bundle = list(fields(message))
            cpu, = [v for n, v in bundle if n == 1]
            for event in [dict(fields(v)) for n, v in bundle if n == 2]:
                if 4 in event:
                    f = dict(fields(event[4]))
                    assert event[2] == f[2]
                    yield event[1], "switch", f[2], f[4], f[6], cpu
                elif 239 in event:
                    yield event[1], "fork", dict(fields(event[239]))[4]
                elif 240 in event:
                    yield event[1], "free", dict(fields(event[240]))[2]
                else:
                    yield event[1], "waking", dict(fields(event[20]))[2], event[2], cpu

def slices(events, end):
    """How long each thread ran, as Perfetto's table `sched` has it: from each switch to the next one
    of the CPU, which must be from the same thread."""
    sums, runs = {}, {}
    events = sorted(events, key=lambda e: e[0])
    for time, what, *e in events:
        if what != "switch":
            continue
        prev, _, after, cpu = e
        if cpu in runs:
            since, tid = runs[cpu]
            assert prev == tid, (time, cpu, prev, tid)
            sums[tid] = sums.get(tid, 0) + time - since
        runs[cpu] = time, after
    for since, tid in runs.values():
        sums[tid] = sums.get(tid, 0) + end - since
    return sums

# ---- states

def close_to(value, wanted):
    return wanted <= value <= wanted + wanted // 64

def figures(moments, end):
    """Figures of a thread that began in the recording, by its moments (time, "out", prev_state),
    (time, "in"), (time, "wake"), (time, "fork"), (time, "free"), and (time, "event"), which it
    wrote. None: switches to it are missing; the kernel of a guest may hide those of the host's agent."""
    sums = dict(running=0, runnable=0, blocked=0, off_cpu=0)
    latencies, runs, wakings = [], 0, 0
    state, since, woken = "unknown", 0, None
    for time, what, *prev_state in moments:
        if what == "wake":
            if state in ("waits", "unknown") and woken is None:
                woken = time
        elif what == "fork":
            assert state == "unknown" and woken is None, (time, state)
            state, since = "waits", time
        elif what == "free":
            assert state == "dead", (time, state)
        elif what == "event":
            if state != "runs":
                return None
        elif what == "in":
            if state == "runs" or (state == "unknown" and woken is None):
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
    # The last switch of a thread may come after the end of the recording.
    assert state in ("runs", "ready", "dead"), state
    if state != "dead":
        sums["running" if state == "runs" else "runnable"] += end - since
    return sums, sorted(latencies), runs, wakings

def moments_of(events):
    """Moments by tid, from (time, "switch", prev, prev_state, next), (time, "waking", tid) and
    (time, "event", tid)."""
    moments = {}
    for time, what, *rest in events:
        if what == "switch":
            moments.setdefault(rest[0], []).append((time, "out", rest[1]))
            moments.setdefault(rest[2], []).append((time, "in"))
        else:
            moments.setdefault(rest[0], []).append((time, "wake" if what == "waking" else what))
    return moments

def dumped(events):
    for e in events:
        f, time = e["fields"], int(e["time_ns"])
        if e["event"] == "sched_switch":
            yield time, "switch", f["prev_tid"], f["prev_state"], f["next_tid"]
        elif e["event"] in ("sched_waking", "sched_wakeup_new"):
            yield time, "waking", f["tid"]
        elif e["event"] == "sched_process_fork":
            yield time, "fork", f["child_tid"]
        else:
            yield time, "event", e["tid"]

def check_lives(events, tids):
    """Each of the threads was made once and exited once, and got to each other CPU by a move."""
    places, moved = {}, {}
    made, exited = [], []
    for e in events:
        f = e["fields"]
        if e["event"] == "sched_process_fork":
            made.append(f["child_tid"])
        elif e["event"] == "sched_process_exit":
            exited.append(e["tid"])
        elif e["event"] == "sched_migrate_task":
            assert f["orig_cpu"] != f["dest_cpu"], e
            moved[f["tid"]] = f["dest_cpu"]
        elif e["event"] == "sched_switch":
            tid = f["next_tid"]
            if tid in tids and places.get(tid, e["cpu"]) != e["cpu"]:
                assert moved.get(tid) == e["cpu"], (e, places[tid], moved.get(tid))
            places[tid] = e["cpu"]
    for tid in tids:
        assert made.count(tid) == exited.count(tid) == 1, (tid, made, exited)

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
    printed = [line.split() for line in open(sys.argv[3])]
    assert len(printed) == 5
    compared = {name for name, *_ in printed}
    exported = list(sched_events(sys.argv[2]))
    events = [json.loads(line) for line in sys.stdin]
    check_lives(events, [int(tid) for _, tid, _ in printed])
    freed = [e[2] for e in exported if e[1] == "free"]
    for moments in (moments_of(dumped(events)),
                    moments_of(sorted((e[:5] for e in exported), key=lambda e: e[0]))):
        for name, tid, cpu_ns in printed:
            found = figures(moments[int(tid)], int(stat["end_ns"]))
            if not found:
                assert rows[int(tid)]["unknown_ns"], rows[int(tid)]
                compared.discard(name)
            if name in compared:
                # The last switch of a thread may come after the end of the recording.
                died = any(what == "out" and rest[0] & 0x30
                           for _, what, *rest in moments[int(tid)])
                assert rows[int(tid)]["unknown_ns"] == 0 and freed.count(int(tid)) == died, \
                    (name, rows[int(tid)], freed, died)
                compare(rows[int(tid)], *found)
    sums = slices(exported, int(stat["end_ns"]))
    for tid in {*sums, *rows} - {0, NOT_RECORDED}:
        ran = sum(r["running_ns"] for r in stat["thread_states"] if r["tid"] == tid)
        assert sums.get(tid, 0) == ran, (tid, sums.get(tid, 0), ran)
    assert sums.get(NOT_RECORDED, 0) or sums.get(0, 0), "no CPU was idle"
    for name, tid, cpu_ns in printed:
        row = rows[int(tid)]
        assert row["name"] == name, row
        # The kernel's accounts of a thread that is switched often include parts of the switches.
        assert name[:4] != "spin" or row["running_ns"] >= int(cpu_ns) * 0.9, (row, cpu_ns)
    by_name = {name: rows[int(tid)] for name, tid, _ in printed}
    sleeper, a, b = by_name["sleeper"], by_name["spin_a"], by_name["spin_b"]
    assert "sleeper" not in compared or sleeper["blocked_ns"] + sleeper["runnable_ns"] + sleeper["off_cpu_ns"] >= 100e6, sleeper
    # While one of them ran, the other one waited for the CPU.
    assert not {"spin_a", "spin_b"} <= compared or a["runnable_ns"] + b["runnable_ns"] >= 50e6, (a, b)
    assert compared and by_name["ping"]["wakings"] and by_name["pong"]["wakings"], by_name

def ran(stat, process):
    sums = {}
    for r in stat["thread_states"]:
        if r["process"] in process:
            sums[r["tid"]] = sums.get(r["tid"], 0) + r["running_ns"]
    return sums

def merged():
    stat, *parts = [json.load(open(i)) for i in [sys.argv[2], *sys.argv[4:]]]
    sums = slices(list(sched_events(sys.argv[3])), int(stat["end_ns"]))
    got = ran(stat, {r["process"] for r in stat["thread_states"]})
    wanted = {tid: ns for part in parts for tid, ns in ran(part, ["states"]).items()}
    assert len(wanted) > 4, wanted
    # Of a switch that two recorders recorded, each has another time.
    error = 0 if len(parts) > 1 else 5000000
    for tid in {*sums, *got} - {0, NOT_RECORDED}:
        ns = got.get(tid, 0)
        assert abs(sums.get(tid, 0) - ns) <= error, (tid, sums.get(tid), ns)
        assert tid not in wanted or abs(wanted[tid] - ns) <= error + 1000, (tid, wanted[tid], ns)
    assert got.keys() >= wanted.keys(), wanted.keys() - got.keys()

merged() if sys.argv[1] == "--merged" else main()
