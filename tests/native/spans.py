#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
spans.py DUMP STAT BY [no-pairs]: compares the figures of `stat --spans --calls --json`, with the two pairs of
t_spans.sh, with those that are computed here from `dump --json`. BY: the field, or "thread", that --by named, or empty. Percentiles are the
length of rank ceil(share * count), or larger by less than 1/128.
"""
import collections
import json
import sys

events = [json.loads(line) for line in open(sys.argv[1])]
stat = json.load(open(sys.argv[2]))
by = sys.argv[3] or None
with_pairs = len(sys.argv) < 5
groups = collections.defaultdict(lambda: collections.defaultdict(list))
opened = collections.defaultdict(list)


def group_of(name, begin, end):
    if by == "thread":
        return name, "thread %d %d" % (((begin or end)["tid"],) * 2)
    for e in (begin, end):
        if by and e and by in e["fields"]:
            value = e["fields"][by]
            return name, '"%s"' % value if isinstance(value, str) else str(value)
    return name, None


ends = {}       # end event of a span, by name and time of the begin


def note(kind, name, why, begin, end):
    if why == "count":
        ends[name, int(begin["rel_ns"])] = end
    groups[kind, *group_of(name, begin, end)][why].append(
        int(end["time_ns"]) - int(begin["time_ns"]) if why == "count" else 1)


def edge(e, name, key, is_begin):
    """Ends the last open span of the same key"""
    if is_begin:
        opened[key].append(e)
    elif opened[key]:
        note("spans", name, "count", opened[key].pop(), e)
    else:
        note("spans", name, "no_begin", None, e)


def call(e, is_begin):
    name = e["fields"]["id"]
    before = opened["call", e["tid"]]
    ends = before and not is_begin and before[0]["fields"]["id"] == e["fields"]["id"]
    if ends:
        note("calls", name, "count", before.pop(), e)
    elif before:
        begin = before.pop()
        note("calls", begin["fields"]["id"], "unknown", begin, None)
    if is_begin:
        before.append(e)
    elif not ends:
        note("calls", name, "no_begin", None, e)


for e in events:
    f, tid, name = e["fields"], e["tid"], e["event"]
    if name in ("sys_enter", "sys_exit"):
        call(e, name == "sys_enter")
    elif name == "job":
        edge(e, name, (name, tid, f["n"]), e["kind"] == "begin")
    elif name == "request":
        edge(e, name, (name, tid, f["tsct_span"]), e["kind"] == "begin")
    elif name == "loop":
        edge(e, name, (name, tid), e["kind"] == "begin")
    elif with_pairs and name.startswith("query"):
        edge(e, "query_start:query_done:id", ("query_start:query_done:id", f["id"]),
             name == "query_start")
    elif with_pairs and name.startswith("stage"):
        edge(e, "stage_in:stage_out", ("stage_in:stage_out", tid), name == "stage_in")
for key, begins in opened.items():
    for begin in begins:
        if key[0] == "call":
            note("calls", begin["fields"]["id"], "never_ended", begin, None)
        else:
            note("spans", key[0], "never_ended", begin, None)

found = nr_between = 0
for kind in ("spans", "calls"):
    for row in stat[kind]:
        want = groups.pop((kind, row["name"], row["by"]))
        lengths = sorted(want["count"])
        for why in ("never_ended", "no_begin", "unknown"):
            assert row[why] == len(want[why]), (row["name"], row["by"], why, row[why], len(want[why]))
        assert row["ambiguous"] == 0
        assert row["count"] == len(lengths), (row["name"], row["count"], len(lengths))
        found += row["count"]
        if not lengths:
            assert row["max_ns"] is None and row["p50_ns"] is None
            continue
        assert row["total_ns"] == sum(lengths), row["name"]
        assert (row["min_ns"], row["max_ns"]) == (lengths[0], lengths[-1])
        assert row["mean_ns"] == sum(lengths) // len(lengths)
        for per_mille, member in ((500, "p50_ns"), (900, "p90_ns"), (990, "p99_ns"),
                                  (999, "p99_9_ns")):
            exact = lengths[(per_mille * len(lengths) + 999) // 1000 - 1]
            assert exact <= row[member] <= exact * (1 + 1 / 128), (row["name"], member, exact)
        assert [s["length_ns"] for s in row["slowest"]] == lengths[-1:-11:-1], row["name"]
        begins = {int(e["rel_ns"]): e for e in events}
        for s in row["slowest"]:
            begin, end = begins[s["rel_ns"]], ends[row["name"], s["rel_ns"]]
            assert begin["tid"] == s["tid"]
            # Between nodes, the bound is the sum of those of the nodes.
            between = begin.get("node") != end.get("node")
            nr_between += between
            assert s.get("error_ns") == (7100 if between else None), s
        assert sum(b["count"] for b in row["histogram"]) == len(lengths)
        for b in row["histogram"]:
            assert b["count"] == sum(b["from_ns"] <= n < b["to_ns"] for n in lengths)
assert not groups, "stat lacks %s" % list(groups)[:3]
assert found, "no spans"
if with_pairs and any(e.get("node") for e in events):
    assert nr_between, "no spans between nodes"
