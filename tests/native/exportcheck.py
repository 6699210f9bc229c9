#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""exportcheck.py FORMAT EXPORT TRUTH [PROTO]

Compares an export, event by event, with the output of `trace-ctl dump --json` (TRUTH).
Readers: python's json and csv, libbabeltrace2, ctf2.py, libotf2, protoc. Prints the numbers of
events and of messages; exits with 1 at the first difference.
"""
import csv
import decimal
import importlib
import json
import os
import struct
import subprocess
import sys
import tempfile

import ctf2
import exact

IDLE = 1 << 22


def fail(*what):
    print("exportcheck:", *what)
    sys.exit(1)


def same(what, got, want):
    if got != want:
        fail(what, "is", repr(got), "and should be", repr(want))


def load(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        return [exact.loads(line) for line in f]


def number(value):
    """The number of a value that dump may print as text: NaN, or over 53 bits"""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return float(value)
    return value


def equal(a, b):
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return a == b


def near(got, want):
    """A float may have the digits of a float or those of a double."""
    if isinstance(got, float) and isinstance(want, float):
        return equal(got, want) or struct.pack("f", got) == struct.pack("f", want)
    return equal(got, want)


def fields(what, got, want):
    same(what + ": fields", sorted(got), sorted(want))
    for name, value in want.items():
        mine = got[name]
        if type(mine) is not type(value) or not near(mine, value):
            # dump prints NaN and integers over 53 bits as text, an export may print
            # them as numbers: the texts are converted to numbers and compared
            if near(number_or_text(mine), number_or_text(value)):
                continue
            fail(what, name, "is", repr(mine), "and should be", repr(value))


def number_or_text(value):
    if isinstance(value, bool):
        return int(value)
    try:
        return number(value)
    except ValueError:
        return value


def check_name(what, got, truth):
    """Checks the name of thread 100. Filters do not hide its last one, but for --to."""
    last = [e["fields"]["next_comm"] for e in truth if e["event"] == "sched_switch" and
            e["fields"]["next_tid"] == 100][-1:]
    if got not in ["renamed"] + last:
        fail(what, got, "and should be the last name")


# ---- rules of viewers for slices -----------------------------------------------

class Slices:
    """Computes the expected slices: nested, split in two, or without a counterpart."""

    def __init__(self, truth):
        self.open = {}
        self.pairs = []         # (time of the begin, of the end, thread, name) of each slice
        self.shared = {}        # fields that all begin and end events of a name have
        for e in truth:
            if e["kind"] in ("begin", "end"):
                name, own = (e["channel"], e["event"]), set(e["fields"]) - {"stack"}
                self.shared[name] = self.shared.get(name, own) & own

    def thread(self, e):
        return (e["tid"], e["cpu"] if not e["tid"] else 0)

    def acts(self, e):
        """Returns [(act, name, event that has the fields, or None)] in order."""
        stack = self.open.setdefault(self.thread(e), [])
        if e["kind"] == "begin":
            stack.append(e)
            return [("open", e["event"], e)]
        if e["kind"] != "end":
            return [(e["kind"], e["event"], e)]
        at = self.begin_of(stack, e)
        if at < 0:
            return [("orphan", e["event"], e)]
        above = stack[at + 1:]
        self.pairs.append((stack[at]["time_ns"], e["time_ns"], e["tid"], e["event"]))
        del stack[at]
        return ([("close", b["event"], None) for b in reversed(above)] +
                [("close", e["event"], e)] + [("open", b["event"], b) for b in above])

    def begin_of(self, stack, e):
        """Returns the index of the begin that an end ends, or -1."""
        name = e["channel"], e["event"]
        found = -1
        for at in reversed(range(len(stack))):
            b = stack[at]
            if (b["channel"], b["event"]) != name or \
                    b["fields"].get("tsct_span") != e["fields"].get("tsct_span"):
                continue
            if all(b["fields"][f] == e["fields"][f] for f in self.shared[name]):
                return at
            found = at if found < 0 else found
        return found


def expected(truth):
    slices = Slices(truth)
    out = []
    for e in truth:
        for act, name, source in slices.acts(e):
            out.append((act, name, source, e))
    return out, slices


# ---- json ------------------------------------------------------------------------

def check_json(path, truth):
    with open(path, encoding="utf-8") as f:
        whole = json.load(f, parse_float=decimal.Decimal)
    names = {}
    got = []
    flows = {}
    for e in whole["traceEvents"]:
        if e["ph"] == "M":
            names[(e["name"], e["pid"], e["tid"])] = e["args"]["name"]
        elif e["ph"] in "sf":
            flows.setdefault(e["id"], []).append((e["ph"], e["ts"], e["tid"]))
        else:
            got.append(e)
    phases = {"open": "B", "close": "E", "orphan": "i", "instant": "i",
              "counter": "C", "send": "X", "receive": "X"}
    want, _ = expected(truth)
    same("json: events", len(got), len(want))
    last = None
    for g, (act, name, e, at) in zip(got, want):
        what = "json: %s at %d" % (name, at["time_ns"])
        same(what, g["ph"], phases[act])
        same(what, g["name"], name)
        same(what + ": time", g["ts"] * 1000, at["time_ns"])
        same(what + ": thread", g["tid"], at["tid"] or IDLE + at["cpu"])
        if last is not None and g["ts"] < last:
            fail(what, "goes back in time")
        last = g["ts"]
        if e is None:
            continue
        args = dict(g["args"])
        args.update(g.get("fields", {}))
        same(what + ": cpu", args.pop("tsctrace.cpu"), e["cpu"])
        same(what, args.pop("tsctrace.kind", None),
             e["kind"] if act == "orphan" else None)
        for value in args.values():
            if isinstance(value, int) and abs(value) > 1 << 53:
                fail(what, value, "is not exact as a double")
        args = {k: float(v) if isinstance(v, decimal.Decimal) else v
                for k, v in args.items()}
        fields(what, args, e["fields"])
    same("json: events", int(whole["otherData"]["events"]), len(truth))
    if ("thread_name", 1, 100) in names:
        check_name("json: name", names[("thread_name", 1, 100)], truth)
    for ident, ends in flows.items():
        if len(ends) > 2 or (len(ends) == 2 and
                             [ph for ph, _, _ in ends] != ["s", "f"]):
            fail("json: flow", ident, "is", ends)
    arrows = sum(len(ends) == 2 for ends in flows.values())
    return len(truth), arrows


# ---- csv -------------------------------------------------------------------------

def check_csv(path, truth):
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, strict=True))
    same("csv: rows", len(rows), len(truth))
    for r, e in zip(rows, truth):
        what = "csv: %s at %d" % (e["event"], e["time_ns"])
        same(what, int(r["time_ns"]), e["time_ns"])
        for name in ("channel", "event", "kind"):
            same(what, r[name], e[name])
        for name in ("cpu", "tid"):
            same(what, int(r[name]), e[name])
        fixed = ("time_ns", "node", "channel", "cpu", "tid", "thread", "event",
                 "kind", "error_ns")
        if "error_ns" in e:
            error = "" if e["error_ns"] is None else str(e["error_ns"])
            same(what + ": error", r["error_ns"], error)
        for name, value in e["fields"].items():
            text = r["field." + name if name in fixed else name]
            mine = text if isinstance(value, str) else number(text)
            if not near(number_or_text(mine), number_or_text(value)):
                fail(what, name, "is", repr(text), "and should be", repr(value))
        beyond = [n for n, v in r.items() if v and n not in fixed and
                  n not in e["fields"] and n[6:] not in e["fields"]]
        same(what + ": other columns", beyond, [])
    return len(rows), 0


# ---- ctf -------------------------------------------------------------------------

def ctf_value(field, bt2):
    if isinstance(field, bt2._EnumerationFieldConst):
        labels = list(field.labels)
        return labels[0] if labels and labels != ["unknown"] else int(field)
    if isinstance(field, bt2._StringFieldConst):
        return str(field)
    if isinstance(field, bt2._IntegerFieldConst):
        return int(field)
    if isinstance(field, bt2._RealFieldConst):
        return float(field)
    if isinstance(field, bt2._ArrayFieldConst):
        return "".join("%02x" % int(b) for b in field)
    return field


def read_ctf(path):
    bt2 = importlib.import_module("bt2")
    order = []
    for msg in bt2.TraceCollectionMessageIterator(path):
        if type(msg) is not bt2._EventMessageConst:
            continue
        order.append(msg)
        ev = msg.event
        ns = msg.default_clock_snapshot.ns_from_origin
        got = (ns, ev.packet.context_field["cpu_id"], ev.common_context_field["tid"],
               ev.name, {k: ctf_value(v, bt2) for k, v in ev.payload_field.items()})
        order[-1] = got
    return order


def check_ctf2(path, truth):
    return check_ctf(path, truth, lambda path: [
        (ns, packet["cpu_id"], common["tid"], name, payload)
        for ns, packet, common, name, payload in ctf2.read(path)[0]])


def check_ctf(path, truth, read=read_ctf):
    order = read(path)
    n = len(order)
    same("ctf: events", n, len(truth))

    def key(x):
        return (x[0], int(x[1]))
    for got, e in zip(sorted(order, key=key),
                      sorted(truth, key=lambda e: (e["time_ns"], e["cpu"]))):
        what = "ctf: %s at %d" % (e["event"], e["time_ns"])
        same(what + ": time", got[0], e["time_ns"])
        same(what + ": cpu", int(got[1]), e["cpu"])
        same(what + ": tid", int(got[2]), e["tid"])
        same(what, got[3], e["event"])
        mine = {}
        for name, value in e["fields"].items():
            if name not in got[4]:      # "_x" beside "x"
                name = [k for k in got[4] if k.startswith(name + "_")][0]
            mine[name] = value
        ours = {k: v for k, v in got[4].items()}
        for name, value in mine.items():
            if isinstance(ours[name], str) and isinstance(value, str):
                a = ours[name].encode("utf-8", "surrogateescape")
                b = value.encode("utf-8", "surrogateescape")
                # invalid UTF-8 is U+FFFD in JSON, and unchanged in CTF
                if a.decode("utf-8", "replace").replace("\ufffd", "") == \
                        b.decode("utf-8", "replace").replace("\ufffd", ""):
                    ours[name] = value
        fields(what, ours, mine)
    return n, 0


# ---- otf2 ------------------------------------------------------------------------

def check_otf2(path, truth):
    otf2 = importlib.import_module("otf2")
    from otf2 import events as ev
    slices = Slices(truth)
    want = {}
    sends = {}
    for e in truth:
        row = want.setdefault(slices.thread(e), [])
        for act, name, source in slices.acts(e):
            row.append((act, name, source if source is e else None, e["time_ns"]))
    with otf2.reader.open(os.path.join(path, "traces.otf2")) as trace:
        same("otf2: resolution", trace.definitions.clock_properties.timer_resolution,
             1000000000)
        got = {}
        arrows = 0
        for location, event in trace.events:
            name = location.name
            if name.startswith("swapper/"):
                key = (0, int(name[8:]))
            elif name.startswith("thread "):
                key = (int(name[7:]), 0)
            else:
                key = (int(name[name.rindex("(") + 1:-1]), 0)
            got.setdefault(key, []).append(event)
            if isinstance(event, ev.MpiSend):
                sends.setdefault((location, event.msg_tag, event.receiver), []).append(event)
            if isinstance(event, ev.MpiRecv):
                arrows += 1
                sender = trace.definitions.locations[event.sender]
                rank = trace.definitions.locations
                me = [i for i, l in enumerate(rank) if l == location][0]
                sent = sends.get((sender, event.msg_tag, me), [])
                if not sent or sent.pop(0).time > event.time:
                    fail("otf2: a message that was not sent, at", event.time)
    if any(sends.values()):
        fail("otf2: messages that do not arrive")
    same("otf2: threads", sorted(got), sorted(want))
    end = max(e["time_ns"] for e in truth)
    for key in want:
        events = [e for e in got[key] if not isinstance(e, (ev.MpiSend, ev.MpiRecv))]
        at = 0
        for act, name, e, ns in want[key]:
            what = "otf2: %s at %d" % (name, ns)
            event = events[at]
            same(what + ": time", event.time, ns)
            metric = act == "counter" and any(
                not isinstance(v, str) or k in ("big", "small", "ratio", "part")
                for k, v in e["fields"].items())
            if metric:
                if not isinstance(event, ev.Metric):
                    fail(what, "is", event)
                values = {m.name[len(name) + 1:]: v for m, v in
                          zip(event.metric.members if hasattr(event.metric, "members")
                              else event.metric.metric_class.members, event.values)}
                attributes = {a.name: v for a, v in event.attributes.items()}
                same(what + ": cpu", attributes.pop("tsctrace.cpu"), e["cpu"])
                values.update(attributes)
                fields(what, values, e["fields"])
                at += 1
                continue
            kind = ev.Leave if act == "close" else ev.Enter
            if not isinstance(event, kind):
                fail(what, "is", event)
            same(what, event.region.name, name)
            attributes = {a.name: v for a, v in (event.attributes or {}).items()}
            at += 1
            if e is not None:
                same(what + ": cpu", attributes.pop("tsctrace.cpu"), e["cpu"])
                attributes.pop("tsctrace.kind", None)
                fields(what, attributes, e["fields"])
            if act not in ("open", "close"):
                if not isinstance(events[at], ev.Leave) or events[at].time != ns:
                    fail(what, "does not end at once")
                at += 1
        # Each region that is still open after the last event has an OTF2 Leave event,
        # not earlier than the last event.
        rest = events[at:]
        same("otf2: left open", [e.region.name for e in rest],
             [b["event"] for b in reversed(slices.open.get(key, []))])
        for e in rest:
            if not isinstance(e, ev.Leave) or e.time < end:
                fail("otf2: left open, but", e)
    return len(truth), arrows


# ---- perfetto --------------------------------------------------------------------

def check_perfetto(path, truth, proto):
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(["protoc", "--proto_path=" + os.path.dirname(proto),
                        "--python_out=" + tmp, os.path.basename(proto)], check=True)
        sys.path.insert(0, tmp)
        os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
        pb = importlib.import_module(
            os.path.basename(proto)[:-6].replace("-", "_") + "_pb2")
    trace = pb.Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(f.read())
    first = trace.packet[0]
    if first.clock_snapshot.primary_trace_clock != 1 or first.sequence_flags != 1 or \
            first.trace_packet_defaults.timestamp_clock_id != 1:
        fail("perfetto: the first packet is", first)
    names, notes, categories, threads, counters = {}, {}, {}, {}, {}
    titles = {}
    got = []
    flows = {}
    for p in trace.packet:
        same("perfetto: sequence", p.trusted_packet_sequence_id, 1)
        for table, entries in ((categories, p.interned_data.event_categories),
                               (names, p.interned_data.event_names),
                               (notes, p.interned_data.debug_annotation_names)):
            for entry in entries:
                same("perfetto: interned twice", entry.iid in table, False)
                table[entry.iid] = entry.name
        t = p.track_descriptor
        if p.HasField("track_descriptor"):
            if t.HasField("thread"):
                threads[t.uuid] = (t.thread.tid, 0)
                titles[t.thread.tid] = t.thread.thread_name
            elif t.HasField("counter"):
                counters[t.uuid] = t.name
            elif t.name.startswith("swapper/"):
                threads[t.uuid] = (0, int(t.name[8:]))
        if not p.HasField("track_event") or p.track_event.name:
            continue
        e = p.track_event
        same("perfetto: flags", p.sequence_flags, 2)
        row = {"ns": p.timestamp, "type": e.type, "name": names[e.name_iid],
               "category": categories[e.category_iids[0]]}
        if e.type == pb.TrackEvent.TYPE_COUNTER:
            row["counter"] = counters[e.track_uuid]
            row["value"] = e.counter_value if e.HasField("counter_value") \
                else e.double_counter_value
        else:
            row["thread"] = threads[e.track_uuid]
        row["fields"] = {}
        for a in e.debug_annotations:
            which = [f.name for f, _ in a.ListFields() if f.name != "name_iid"]
            same("perfetto: values of a field", len(which), 1)
            row["fields"][notes[a.name_iid]] = getattr(a, which[0])
        for ident in e.flow_ids:
            flows.setdefault(ident, []).append("s")
        for ident in e.terminating_flow_ids:
            flows.setdefault(ident, []).append("f")
        got.append(row)
    types = {"open": 1, "close": 2}
    want, _ = expected(truth)
    at = 0
    for act, name, e, source in want:
        what = "perfetto: %s at %d" % (name, source["time_ns"])
        rows = [got[at]]
        if act == "counter" and got[at]["type"] == 4:
            numbers = [k for k, v in e["fields"].items()
                       if not isinstance(v, str) or k in ("big", "small", "ratio")
                       or (k == "part")]
            rows = got[at:at + len(numbers)]
            for r, k in zip(rows, numbers):
                same(what, r["counter"], name if len(numbers) == 1 else name + "." + k)
                value = number(e["fields"][k])
                if isinstance(value, int) and value >= 1 << 63:
                    value = float(value)
                if not near(r["value"], value):
                    fail(what, k, "is", r["value"], "and should be", value)
        else:
            same(what + ": type", got[at]["type"], types.get(act, 3))
            same(what + ": thread", got[at]["thread"],
                 (source["tid"], 0 if source["tid"] else source["cpu"]))
        at += len(rows)
        for r in rows:
            same(what + ": time", r["ns"], source["time_ns"])
            same(what + ": name", r["name"], name)
            same(what + ": category", r["category"], source["channel"])
        mine = rows[0]["fields"]
        if e is None:
            same(what + ": fields", mine, {})
            continue
        same(what + ": cpu", mine.pop("tsctrace.cpu"), e["cpu"])
        same(what, mine.pop("tsctrace.kind", None),
             e["kind"] if act == "orphan" else None)
        fields(what, mine, e["fields"])
    same("perfetto: events", len(got), at)
    if 100 in titles:
        check_name("perfetto: name", titles[100], truth)
    arrows = sum(ends == ["s", "f"] for ends in flows.values())
    if any(ends not in (["s", "f"], ["s"], ["f"]) for ends in flows.values()):
        fail("perfetto: a flow is not a start, an end, or both in order")
    return len(truth), arrows


def main():
    kind, path, truth = sys.argv[1], sys.argv[2], load(sys.argv[3])
    check = globals()["check_" + kind]
    print(*check(path, truth, *sys.argv[4:]))


if __name__ == "__main__":
    main()
