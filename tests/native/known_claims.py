# SPDX-License-Identifier: MIT
"""Reads what a recording's page, exports and figures claim: spans of time with a thread, and the
numbers in their begin and end events.

A claim is (tid, name, begin, end, n, m, last). n and m: the fields of the begin and the end event
by those names, or None. last: the span has no end event; it is drawn until `end`, or, if that is
None, as one that has not ended. Times are ns since the epoch."""
import collections
import datetime
import importlib
import json
import os
import re
import subprocess
import sys

from page_bytes import Bytes

Claim = collections.namedtuple("Claim", "tid name begin end n m last")


def of_page(path):
    """Returns the slices and calls of a page; the times of threads on CPUs: [(CPU, tid, from, to,
    has an end)]; the times of losses: [(channel, CPU, from, to)]; and the page's end."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    element = lambda name: re.search(f'id="{name}">(.*?)</script>', page, re.S)[1]
    d = json.loads(element("data"))
    r, t, origin = Bytes(element("spans")), 0, int(d["origin"])
    claims, runs, defs, threads = [], [], d["defs"], d["threads"]
    number = lambda edge: int.from_bytes(edge[3][:8], "little") if edge else None
    for _ in range(d["spans"]):
        kind, row, _ = r.varint(), r.varint(), r.varint()
        t += r.zigzag()
        length, name = r.varint(), r.zigzag()
        begin = None if kind & 4 else r.edge(d["cut"])
        end = None if kind & 8 or kind & 3 == 2 else r.edge(d["cut"])
        start, stop = origin + t - length, origin + t
        if kind & 3 == 2:
            runs.append((d["cpus"][row][1], threads[name][1], start, stop, not kind & 8))
            continue
        label = defs[name]["name"] if not kind & 3 else "sys_%d" % name
        own = label in ("outer", "inner", "work")
        claims.append(Claim(threads[row][1], label, start, stop, number(begin) if own else None,
                            number(end) if own else None, not end))
    gaps = [(channel, d["cpus"][row][1], origin + since, origin + to)
            for row, channel, since, to, _ in d["gaps"]]
    return claims, runs, gaps, origin + d["span"]


class Stacks:
    """Makes claims of begins and ends that nest, by thread."""

    def __init__(self):
        self.claims, self.open = [], collections.defaultdict(list)

    def begin(self, tid, name, ns, fields):
        self.open[tid].append((name, ns, fields.get("n")))

    def end(self, tid, name, ns, fields):
        own, begin, n = self.open[tid].pop()
        assert name is None or name == own, (name, own, ns)
        self.claims.append(Claim(tid, own, begin, ns, n, fields.get("m"),
                                 "tsctrace.cpu" not in fields))

    def all(self):
        return self.claims + [Claim(tid, name, ns, None, n, None, True)
                              for tid, left in self.open.items() for name, ns, n in left]


def of_json(path):
    stacks = Stacks()
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        whole = json.load(file, parse_float=str)
    for e in whole["traceEvents"]:
        if e["ph"] not in "BE":
            continue
        us, ns = e["ts"].split(".")
        add = stacks.begin if e["ph"] == "B" else stacks.end
        add((e["pid"], e["tid"]), e["name"], int(us) * 1000 + int(ns), e.get("args", {}))
    return [c._replace(tid=c.tid[1]) for c in stacks.all()]


def perfetto_reader(proto, to):
    """Returns the module that protoc makes of the format's description."""
    subprocess.run(["protoc", "--proto_path=" + os.path.dirname(proto), "--python_out=" + to,
                    os.path.basename(proto)], check=True)
    sys.path.insert(0, to)
    os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    return importlib.import_module(os.path.basename(proto)[:-6] + "_pb2")


def of_perfetto(path, pb):
    names, notes, threads, stacks = {}, {}, {}, Stacks()
    trace = pb.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    for p in trace.packet:
        for table, entries in ((names, p.interned_data.event_names),
                               (notes, p.interned_data.debug_annotation_names)):
            for entry in entries:
                table[entry.iid] = entry.name
        if p.HasField("track_descriptor") and p.track_descriptor.HasField("thread"):
            threads[p.track_descriptor.uuid] = p.track_descriptor.thread.tid
        e = p.track_event
        if not p.HasField("track_event") or e.type not in (1, 2):
            continue
        fields = {notes[a.name_iid]: a.int_value or a.uint_value for a in e.debug_annotations}
        key = e.track_uuid
        if e.type == 1:
            stacks.begin(key, names[e.name_iid], p.timestamp, fields)
        else:
            stacks.end(key, None, p.timestamp, fields)
    return [c._replace(tid=threads.get(c.tid, 0)) for c in stacks.all()]


def of_otf2(path):
    otf2 = importlib.import_module("otf2")
    stacks = Stacks()
    with otf2.reader.open(os.path.join(path, "traces.otf2")) as trace:
        for location, e in trace.events:
            kind = type(e).__name__
            if kind not in ("Enter", "Leave"):
                continue
            fields = {a.name: v for a, v in (e.attributes or {}).items()}
            add = stacks.begin if kind == "Enter" else stacks.end
            # Threads of several recorders have one name.
            add(location, e.region.name, e.time, fields)
    tid = lambda name: int(re.search(r"(\d+)\)?$", name)[1]) if "swapper" not in name else 0
    return [c._replace(tid=tid(c.tid.name)) for c in stacks.all()
            if c.end is None or c.end > c.begin]


def ns_of(text):
    """The ns since the epoch of a time as dump --utc prints it"""
    when = datetime.datetime.fromisoformat(text[:19] + "+00:00")
    return int(when.timestamp()) * 10 ** 9 + int(text[20:29])


LINE = re.compile(r"^([\d-]+T[\d:.]+Z) .*?\[\d+\] +(\d+) (\w+)\(.* <(\d+)\.(\d{9})>$")


def of_strace(text):
    """Claims of the lines of `trace-ctl dump --strace --utc`"""
    found = []
    for match in map(LINE.match, text.splitlines()):
        if match:
            begin = ns_of(match[1])
            found.append(Claim(int(match[2]), "sys_" + match[3], begin, begin + int(match[4]) *
                               10 ** 9 + int(match[5]), None, None, False))
    return found
