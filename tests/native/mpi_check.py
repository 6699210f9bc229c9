#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi_check.py RECORDING [COUNTS] - checks what libtsctrace-mpi recorded.

Every begin of a call has its end; every message has both ends, which agree about
communicator, ranks, tag and length, and is received after it was sent; the members of a
communicator agree about it, and number its collective calls alike; a nonblocking send or
collective call completes once, in a call of its process. Prints the counts, by name. COUNTS is
a directory of mpi_counter.sh: its counts are the same.

TRUNCATED=1: a receive whose buffer was too short may not know the message's length, 0.
OPEN=1: calls may have no end, and messages no receive, as in a program that was aborted.
"""
import collections
import os
import subprocess
import sys

import exact

ctl = os.path.join(os.environ["O"], "tools/trace-ctl")
is_open = os.environ.get("OPEN") == "1"
faults = []


def fault(text):
    faults.append(text)


def events(path):
    dump = subprocess.Popen([ctl, "dump", "--json", path], stdout=subprocess.PIPE, text=True)
    for line in dump.stdout:
        yield exact.loads(line)
    if dump.wait():
        fault("dump failed")


class Comm:
    def __init__(self):
        self.sizes, self.sides, self.world, self.calls = set(), set(), {}, {}


def check_message(send, receive, comms, world_of):
    a, b = send["fields"], receive["fields"]
    late = b.get("late_ns", 0)
    cut = os.environ.get("TRUNCATED") == "1" and not b["bytes"]
    if a["comm"] != b["comm"] or a["tag"] != b["tag"] or (a["bytes"] != b["bytes"] and not cut):
        fault(f"a message differs: {a} {b}")
    if world_of[send["pid"]] != b["world"] or world_of[receive["pid"]] != a["world"]:
        fault(f"other ranks: {a} {b}")
    comm = comms[a["comm"]]
    if comm.sides == {0} and (comm.world.get(b["source"]) != b["world"] or
                              comm.world.get(a["dest"]) != a["world"]):
        fault(f"ranks are not the communicator's: {a} {b}")
    if receive["time_ns"] - late < send["time_ns"]:
        fault(f"received {send['time_ns'] - receive['time_ns'] + late} ns before it was "
              f"sent: {a} {b}")


def main():
    spans, counts = collections.Counter(), collections.Counter()
    comms = collections.defaultdict(Comm)
    sent = collections.defaultdict(collections.deque)
    early, world_of, late = [], {}, 0
    incomplete, inside, posted = collections.Counter(), {}, set()
    for e in events(sys.argv[1]):
        name, kind, f = e["event"], e["kind"], e["fields"]
        if name == "mpi_rank":
            world_of[e["pid"]] = f["rank"]
        elif name == "mpi_comm":
            c = comms[f["comm"]]
            c.sizes.add(f["size"])
            c.sides.add(f["side"])
            if not f["side"] and c.world.setdefault(f["rank"], f["world"]) != f["world"]:
                fault(f"two processes are rank {f['rank']} of {f['comm']}")
        elif name == "mpi_message" and kind == "send":
            counts["messages"] += 1
            counts["bytes"] += f["bytes"]
            sent[f["number"]].append(e)
            if f["request"]:
                incomplete[e["pid"], f["number"], f["request"]] += 1
        elif name == "mpi_request":
            posted.add((e["pid"], f["request"]))
        elif name == "mpi_complete":
            call = inside.get(e["tid"])
            counts["completed"] += 1
            counts[f"completed in {call}"] += 1
            incomplete[e["pid"], f["number"], f["request"]] -= 1
            if incomplete[e["pid"], f["number"], f["request"]]:
                fault(f"completed what was not begun: {e}")
            if not call or not call.startswith(("MPI_Wait", "MPI_Test")):
                fault(f"completed in {call}: {e}")
        elif name == "mpi_message":
            counts["received"] += 1
            posted.discard((e["pid"], f["request"]))
            late += "late_ns" in f
            if sent[f["number"]]:
                check_message(sent[f["number"]].popleft(), e, comms, world_of)
            else:
                early.append(e)
        elif kind == "begin":
            counts[name] += 1
            spans[e["tid"], name] += 1
            inside[e["tid"]] = name
            if name.startswith("MPI_I") and "number" in f:
                incomplete[e["pid"], f["number"], 0] += 1
            if "number" in f:
                c = comms[f["comm"]].calls.setdefault(e["pid"], [])
                c.append((f["number"], name, f["root"]))
                counts[f"sent by {name}"] += f["sent"]
                counts[f"received by {name}"] += f["received"]
        elif kind == "end":
            spans[e["tid"], name] -= 1
            inside.pop(e["tid"], None)
    for e in early:
        fault(f"a receive has no send before it: {e}")
    open_sends = sum(map(len, sent.values()))
    if open_sends and not is_open:
        fault(f"{open_sends} messages were not received, such as "
              f"{[s[0] for s in sent.values() if s][0]}")
    for (tid, name), nr in spans.items():
        if nr and not (is_open and nr == 1):
            fault(f"thread {tid}: {nr} open spans {name}")
    for number, c in comms.items():
        if len(c.sizes) > 1 and c.sides == {0}:
            fault(f"communicator {number}: sizes {c.sizes}")
        if c.sides == {0} and len(c.world) != max(c.sizes) and not is_open:
            fault(f"communicator {number}: {len(c.world)} of {max(c.sizes)} members")
        if len(set(map(tuple, c.calls.values()))) > 1 and c.sides == {0} and not is_open:
            fault(f"communicator {number}: members differ about its collective calls")
    check_counts(counts)
    for name, nr in sorted(counts.items()):
        print(name, nr)
    print("late", late)
    print("posted only", len(posted))
    print("not completed", sum(incomplete.values()))
    print("communicators", len(comms))
    for text in faults[:20]:
        print("FAULT:", text, file=sys.stderr)
    sys.exit(bool(faults))


def check_counts(counts):
    wanted = collections.Counter()
    if len(sys.argv) < 3:
        return
    for file in os.scandir(sys.argv[2]):
        with open(file.path) as lines:
            for line in lines:
                name, nr = line.split()
                wanted[name] += int(nr)
    if not wanted:
        fault(f"no counts in {sys.argv[2]}")
    for name in wanted.keys() | {n for n in counts if n.startswith("MPI_")}:
        if wanted[name] != counts[name]:
            fault(f"{name}: {counts[name]} recorded, {wanted[name]} counted")


main()
