#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""roundtrip_merged.py TRACE-CTL DIR TRUTH...

Checks a merge of recordings by roundtrip.c, of the nodes n0, n1 ... in this order.
`trace-ctl dump` must show the events of all TRUTHs with the same fields: per file in
their order, with ticks that increase where those of TRUTH do; across files by tick,
node, CPU and channel. libbabeltrace2, babeltrace2 and babeltrace must have the same
events at the same ticks, and report nothing but lost events. Prints the number of
events.
"""
import collections
import json
import re
import sys

import roundtrip
from roundtrip import fail, same


class Merged:
    """The data of the merge that the functions of roundtrip.py need"""

    def __init__(self, path, truth_paths):
        with open(f"{path}/metadata", encoding="ascii") as f:
            text = f.read()
        self.truths = [roundtrip.Truth(p, text) for p in truth_paths]
        self.calls = self.truths[0].calls
        first = self.truths[0]
        self.freq, self.offset_s, self.offset = first.freq, first.offset_s, first.offset
        self.head = {"lost": sum(t.head["lost"] for t in self.truths)}
        self.ns = first.ns
        self.classes = re.findall(r'^\tstream_\d+ = "name=(\S+) ', text, re.M)
        self.places = [tuple(map(int, place)) for place in re.findall(
            r'^\tlocation_\d+ = "node=(\d+) cpu=(\d+)"', text, re.M)]
        self.files = collections.defaultdict(list)
        for node, truth in enumerate(self.truths):
            for e in truth.events:
                name = truth.head["streams"][e.stream]
                self.files[self.classes.index(name), node, e.cpu].append((truth, e))

    def rank(self, key):
        return self.places.index(key[1:]), key[0]


def check_dump(merged, ctl, path):
    """Checks dump; returns its ticks by file."""
    status, out, err = roundtrip.run(ctl, "dump", "--json", path)
    same("dump's status", (status, err.count("\n")), (3, 1) if merged.head["lost"] else (0, 0))
    at, ticks, last = collections.Counter(), collections.defaultdict(list), (-1,)
    for line in out.decode().splitlines():
        got = json.loads(line)
        got["stamp"] = int(got["stamp"])
        key = merged.classes.index(got["channel"]), int(got["node"][1:]), got["cpu"]
        if at[key] == len(merged.files[key]):
            fail("dump has one more event in file", key)
        truth, want = merged.files[key][at[key]]
        same("a line of dump --json", (got["tid"] % 2**32, got["event"], got["kind"]),
             (want.tid, want.name, want.kind))
        roundtrip.check_fields(truth, line, got["fields"], want)
        before = (got["stamp"], *merged.rank(key))
        if before < last:
            fail("dump has", line, "after", last)
        if at[key] and got["stamp"] <= ticks[key][-1] and \
                truth.stamp(want) > truth.stamp(merged.files[key][at[key] - 1][1]):
            fail("ticks do not increase at", line)
        last = before
        at[key] += 1
        ticks[key].append(got["stamp"])
    same("events of all files", dict(at), {k: len(v) for k, v in merged.files.items()})
    return ticks


def check_bt2(merged, path, ticks):
    got = roundtrip.read_bt2(merged, path)
    same("files with events", sorted(got), sorted(merged.files))
    for key, events in got.items():
        want = [roundtrip.as_bt2(e)._replace(tick=tick, stream=key[0])
                for (_, e), tick in zip(merged.files[key], ticks[key])]
        for a, b in zip(events, want):
            same("libbabeltrace2's event", a, b)
        same("libbabeltrace2's events", len(events), len(want))


def check_babeltrace(name, path, ticks):
    _, out, err = roundtrip.run(name, "--clock-cycles", "--no-delta", path)
    roundtrip.check_remarks(err)
    got = re.findall(r"^\[(\d+)\] .*?\{ cpu_id = (\d+), node_id = (\d+) \}",
                     out.decode("latin-1"), re.M)
    same(f"{name}'s events", sorted(tuple(map(int, one)) for one in got),
         sorted((tick, key[2], key[1]) for key, all_of in ticks.items() for tick in all_of))


def main():
    ctl, path = sys.argv[1:3]
    merged = Merged(path, sys.argv[3:])
    ticks = check_dump(merged, ctl, path)
    check_bt2(merged, path, ticks)
    for name in "babeltrace2", "babeltrace":
        check_babeltrace(name, path, ticks)
    print(sum(map(len, ticks.values())))


main()
