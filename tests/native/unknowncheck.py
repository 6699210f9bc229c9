#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""unknowncheck.py DIR PAGE JSON [all | COMM...]

Checks a page of `trace-ctl report` and an export to JSON of the recording DIR: nothing is
drawn over a time in which it could not be known. Reads `trace-ctl dump --json` on standard
input, and the packet headers and the metadata in DIR without code of tsctrace.

The time of a thread on a CPU must begin at a switch to the thread, or at an event of it; end at
a switch from it, or where nothing is known after; and have no event of another thread. The thread
must be one that was selected: with `all`, any thread; else a thread that made a system call or
was forked by one that did, or has one of the names COMM, for a recording that lacks the calls on
other CPUs. No such time, and no slice, may be in a time of losses: from the end of the packet
before, to the end of the packet that states them. A system call may not contain the begin of
another one.
Prints the number of times on CPUs, and of slices.
"""
import bisect
import collections
import glob
import json
import math
import pathlib
import re
import struct
import sys

import known_claims as claims

HERE = pathlib.Path(__file__).resolve().parent
HEAD = struct.Struct("<I16sIQQQQQQII")


# The packets of all files by their headers: [(channel, CPU, begin, end, lost)]: ns since the epoch,
# and number of events that were lost until then
# @cut: add a packet without an end for one that is cut off
def packets_of(directory, cut=False):
    text = open(directory + "/metadata").read()
    clock = dict(re.findall(r"(\w+)=(\d+)", re.search(r'clock_real = "(.*?)"', text)[1]))
    # Ticks are cycles, or have a power of two of them.
    freq = int(re.search(r"freq = (\d+);", text)[1])
    shift = round(math.log2(freq * int(clock["mult"]) / 2 ** 56 / 1e9))
    ns = lambda tick: int(clock["base_ns"]) + ((tick * 2 ** max(-shift, 0) // 2 ** max(shift, 0) -
                                                int(clock["base_tsc"])) * int(clock["mult"]) >> 56)
    packets = []
    for path in glob.glob(directory + "/*_*"):
        channel, data = path.split("/")[-1].rsplit("_", 1)[0], open(path, "rb").read()
        at = 0
        while at + HEAD.size <= len(data):
            _, _, _, begin, end, _, bits, _, lost, cpu, _ = HEAD.unpack_from(data, at)
            at += bits // 8
            if at <= len(data):
                packets.append((channel, cpu, ns(begin), ns(end), lost))
            elif cut:
                packets.append((channel, cpu, 0, float("inf"), float("inf")))
    return packets


# Times of losses by the packet headers: [(channel, CPU, from, to)], ns since the epoch
def losses_of(directory):
    losses, before = [], {}
    for channel, cpu, begin, end, lost in packets_of(directory, True):
        last, count = before.get((channel, cpu), (begin, 0))
        if lost > count:
            losses.append((channel, cpu, last, end))
        before[channel, cpu] = end, lost
    return losses


def check_run(run, has_end, end, events, times):
    _, tid, begin, until = run
    at_begin = at_end = False
    for e in events[bisect.bisect_left(times, begin):bisect.bisect_right(times, until)]:
        switch = e["event"] == "sched_switch"
        if begin < e["ns"] < until:
            assert e["tid"] == tid and not switch, ("another thread", run, e)
        at_begin |= e["ns"] == begin and (e["fields"]["next_tid"] if switch else e["tid"]) == tid
        at_end |= e["ns"] == until and switch and e["fields"]["prev_tid"] == tid
    assert at_begin and (at_end or not has_end), ("no event at an end", run)
    assert has_end or until < end or bisect.bisect_left(times, end) == len(times) or \
        begin == until, ("it was not the last", run)


def overlaps(begin, until, times):
    at = bisect.bisect_right(times, (begin, float("inf")))
    return any(begin < to and until > since and begin < until
               for since, to in times[max(at - 1, 0):at + 1])


def check_runs(runs, end, events, losses, selected):
    is_all = selected == ["all"]
    callers = {e["tid"] for e in events if e["event"].startswith("sys_")}
    callers |= {e["fields"]["child_tid"] for e in events
                if e["event"] == "sched_process_fork" and e["tid"] in callers}
    callers |= {e["fields"]["next_tid"] for e in events
                if e["event"] == "sched_switch" and e["fields"]["next_comm"] in selected}
    by_cpu = collections.defaultdict(list)
    for e in events:
        by_cpu[e["cpu"]].append(e)
    for cpu, own in by_cpu.items():
        times = [e["ns"] for e in own]
        lost = sorted(x[2:] for x in losses if x[0] == "kernel" and x[1] == cpu)
        for _, tid, begin, until, has_end in (run for run in runs if run[0] == cpu):
            run = cpu, tid, begin, until
            assert begin <= until <= end, run
            assert is_all or tid in callers, ("not selected", run)
            check_run(run, has_end, end, own, times)
            assert not overlaps(begin, until, lost), ("events were lost", run)


def check_slices(slices, events, losses):
    begins, last = collections.defaultdict(list), collections.Counter()
    for e in events:
        if not e["event"].startswith("sys_"):
            continue
        if e["kind"] == "begin":
            begins[e["tid"]].append(e["ns"])
        last[e["tid"]] = max(last[e["tid"]], e["ns"])
    lost = [sorted(x[2:] for x in losses if x[:2] == key) for key in {x[:2] for x in losses}]
    for tid, name, begin, until, *_ in slices:
        if until is None:
            assert last[tid] <= begin, ("it has ended", tid, name, begin, last[tid])
            continue
        own = begins[tid]
        assert bisect.bisect_right(own, begin) == bisect.bisect_left(own, until) or \
            begin == until, ("another call", tid, name, begin, until)
        assert not any(overlaps(begin, until, times) for times in lost), \
            ("events were lost", tid, name, begin, until)


def main():
    events = [json.loads(line) for line in sys.stdin]
    for e in events:
        e["ns"] = int(e["time_ns"])
    losses = losses_of(sys.argv[1])
    _, runs, _, end = claims.of_page(sys.argv[2])
    slices = claims.of_json(sys.argv[3])
    check_runs(runs, end, events, losses, sys.argv[4:])
    check_slices(slices, events, losses)
    print(len(runs), len(slices))


if __name__ == "__main__":
    main()
