#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""otf2_check.py RESULT HOW DIR... - compare a merged OTF2 archive with its inputs.

DIR.json: the specification of the archive in DIR, see otf2_make.py. HOW: real or
text. Times must be those of the formula, calculated with fractions. Definitions are
compared by content with references resolved, independent of their numbers; events one
by one, in order, with all definitions that they refer to.
"""
import json
import sys
from collections import Counter
from fractions import Fraction
from math import floor

import otf2
from otf2 import GroupType
from otf2.attribute_value import AttributeValue
from otf2.definitions import Group, InterComm, _Definition

# In python3-otf2 3.0.2, InterComm also inherits the fields of Comm, and cannot be read.
# The fields of an InterComm are a name, two groups, a Comm, flags.
_fields = InterComm._fields
InterComm._fields = _fields[:1] + _fields[4:6] + _fields[2:4]

# Kinds of definitions that merge never unifies: the result has those of all inputs
OWN = {"Location", "LocationGroup", "Comm", "InterComm", "RmaWin", "CartTopology",
       "IoHandle", "MetricInstance", "LocationProperty", "LocationGroupProperty",
       "CartCoordinate", "IoPreCreatedHandleState"}
RANKS = {"receiver", "sender", "root", "remote", "creating_thread"}


def is_list(x):
    return isinstance(x, Group) and x.group_type == GroupType.COMM_LOCATIONS


KNOWN = {}


def content(x):
    """The content of a definition, with references resolved recursively"""
    if isinstance(x, _Definition):
        if id(x) not in KNOWN:      # keeps a reference, so ids stay unique
            KNOWN[id(x)] = (x, content_of(x))
        return KNOWN[id(x)][1]
    return content_of(x)


def content_of(x):
    if isinstance(x, AttributeValue):
        return (str(x.type_id), content(x.value))
    if isinstance(x, _Definition):
        # A merge joins all inputs' COMM_LOCATIONS groups into one. A definition that
        # refers to an input's COMM_LOCATIONS group refers in the result to a COMM_GROUP
        # with the same members. So both group types count as equal.
        fields = tuple(content(GroupType.COMM_GROUP if is_list(x) and f.name == "group_type"
                               else getattr(x, f.private_name)) for f in x._fields)
        properties = sorted((str(key), repr(content(value)))
                            for key, value in getattr(x, "_properties", {}).items()
                            if not isinstance(value, _Definition))
        own = sorted((str(key), repr(content(value._value)))
                     for key, value in getattr(x, "_properties", {}).items()
                     if isinstance(value, _Definition))
        return (type(x).__name__, fields, tuple(properties), tuple(own))
    if isinstance(x, (list, tuple)):
        return tuple(content(e) for e in x)
    return repr(x)


class Trace:
    """The contents of an archive, read by python3-otf2"""

    def __init__(self, where):
        self.by_kind, self.lists, self.events = {}, [], {}
        with otf2.reader.open(where + "/traces.otf2") as trace:
            d = trace.definitions
            self.clock = d.clock_properties
            self.ranks = [l.name for g in d.groups if is_list(g) for l in g.members]
            for registry in vars(d).values():
                for x in registry if hasattr(registry, "__iter__") else ():
                    kind = self.by_kind.setdefault(type(x).__name__, [])
                    (self.lists if is_list(x) else kind).append(content(x))
            self.counts = {l.name: l.number_of_events for l in d.locations}
            for location, event in trace.events:
                self.events.setdefault(location.name, []).append(
                    (event.time, self.event_content(event),
                     getattr(event, "stop_time", None)))

    def rank(self, event, value):
        """The name of the location that a rank stands for"""
        comm = getattr(event, "win", None)
        comm = comm.comm if comm else None
        for name in ("communicator", "thread_team", "thread_contingent"):
            comm = comm or getattr(event, name, None)
        if comm.group.group_flags == otf2.GroupFlag.GLOBAL_MEMBERS:
            return self.ranks[value]
        return comm.group.members[value].name

    def event_content(self, event):
        fields = [(type(event).__name__,)]
        for name, value in vars(event).items():
            if name in ("time", "stop_time"):
                continue
            if name in RANKS:
                value = self.rank(event, value)
            if name == "attributes":
                value = sorted((repr(content(k)), repr(content(v)))
                               for k, v in (value or {}).items())
            fields.append((name, content(value)))
        return tuple(fields)


def wanted_time(specs, i, how, location, time):
    """The exact time, rounded to the nearest tick, half up"""
    a, b = specs[0], specs[i]
    old = Fraction(time)
    offsets = location.get("offsets", ())
    if len(offsets) > 1:
        n = 0
        while n + 2 < len(offsets) and time > offsets[n + 1][0]:
            n += 1
        (t0, o0), (t1, o1) = offsets[n:n + 2]
        old += o0 + floor(Fraction((o1 - o0) * (time - t0), t1 - t0) + Fraction(1, 2))
    new = (old - b["offset"]) * a["res"] / b["res"] + a["offset"]
    if i and how == "real":
        new += Fraction(b["real"] - a["real"], 10**9) * a["res"]
    return floor(new + Fraction(1, 2))


def check(what, is_so):
    if not is_so:
        sys.exit(f"otf2_check.py: {what}")


def check_events(result, specs, inputs, how):
    total = 0
    for i, (spec, trace) in enumerate(zip(specs, inputs)):
        for name, location in spec["locations"].items():
            got = result.events.get(name, [])
            want = trace.events.get(name, [])
            times = location["times"]
            times = times + times[-1:] * (len(want) - len(times))
            check(f"{name}: {len(got)} events of {len(want)}", len(got) == len(want))
            check(f"{name}: definition says {result.counts[name]}",
                  result.counts[name] == len(got))
            for n, (g, w, raw) in enumerate(zip(got, want, times)):
                new = wanted_time(specs, i, how, location, raw)
                check(f"{name}: event {n} at {g[0]}, not {new}", g[0] == new)
                check(f"{name}: event {n}:\n{g[1]}\nis not\n{w[1]}", g[1] == w[1])
                if w[2] is not None:
                    new = wanted_time(specs, i, how, location, raw + 7)
                    check(f"{name}: event {n} stops at {g[2]}, not {new}", g[2] == new)
            total += len(got)
    return total


def is_prefix(result, group):
    """True for the list of all locations of an input that was a merge itself"""
    names = [member[1][0] for member in group[1][4]]
    return "GroupType.COMM_GROUP" in group[1] and \
        names == [repr(rank) for rank in result.ranks[:len(names)]]


def check_definitions(result, inputs):
    kinds = set(result.by_kind) | {k for t in inputs for k in t.by_kind}
    for kind in kinds - {"ClockProperties"}:
        got = Counter(result.by_kind.get(kind, []))
        want = Counter(c for t in inputs for c in t.by_kind.get(kind, []))
        if kind == "Group":
            want += Counter(c for t in inputs for c in t.lists)
            got -= Counter(c for c in got if c not in want and is_prefix(result, c))
        if kind not in OWN:
            want = Counter(want.keys())
        check(f"{kind}:\n{got - want}\ntoo many,\n{want - got}\nmissing", got == want)
    check("list of locations", result.ranks == [r for t in inputs for r in t.ranks])
    return kinds


def check_clock(result, specs, how):
    a, clock = specs[0], result.clock
    times = [e[0] for events in result.events.values() for e in events]
    starts = [wanted_time(specs, i, how, {}, s["offset"]) for i, s in enumerate(specs)]
    ends = [start - floor(-Fraction(s["length"] * a["res"], s["res"]))
            for s, start in zip(specs, starts)]
    begin = min([a["offset"]] + times)
    check("resolution", clock.timer_resolution == a["res"])
    check(f"offset {clock.global_offset}, not {begin}", clock.global_offset == begin)
    length = max(ends + times) - begin
    check(f"length {clock.trace_length}, not {length}", clock.trace_length == length)
    real = otf2.Undefined.TIMESTAMP.value if not a.get("real") else a["real"] + \
        floor(Fraction((begin - a["offset"]) * 10**9, a["res"]) + Fraction(1, 2))
    check(f"real time {clock.realtime_timestamp}, not {real}",
          clock.realtime_timestamp == real)


def main():
    how, specs = sys.argv[2], []
    for where in sys.argv[3:]:
        with open(where + ".json", encoding="utf-8") as file:
            specs.append(json.load(file))
    result = Trace(sys.argv[1])
    inputs = [Trace(where) for where in sys.argv[3:]]
    check_clock(result, specs, how)
    kinds = check_definitions(result, inputs)
    total = check_events(result, specs, inputs, how)
    print(f"{total} events, {sum(map(len, result.by_kind.values()))} definitions of"
          f" {len(kinds)} kinds")


main()
