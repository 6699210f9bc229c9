#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""roundtrip.py TRACE-CTL DIR TRUTH

Reads a recording by roundtrip.c with `trace-ctl dump`, as text and as JSON, with
libbabeltrace2 through python3-bt2, and with the commands babeltrace2 and babeltrace.
All must have the events of TRUTH, with the same ticks and all bits of each field: dump
in the order of TRUTH, the others in the order of each file. Lost events must be
reported, each once, and nothing else. Prints the number of events; exits with 1 at
the first difference.

If several files have events within the same nanosecond, the order of babeltrace2 is
unspecified. So across files only times are compared.
"""
import collections
import ctypes
import json
import math
import re
import struct
import subprocess
import sys

import bt2

LAYOUT = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "s8": "<b", "s16": "<h",
          "s32": "<i", "s64": "<q", "f32": "<f", "f64": "<d"}
HEX, SYSCALL = 1, 2
FIELDS_MAX = 32
Event = collections.namedtuple("Event", "stream cpu tid tick name kind fields")


def fail(*what):
    print("roundtrip:", *what)
    sys.exit(1)


def same(what, got, want):
    if got != want:
        fail(what, "is", repr(got)[:2000], "and should be", repr(want)[:2000])


# ---- contents as written -----------------------------------------------------------

class Truth:
    def __init__(self, path, metadata):
        with open(path, encoding="ascii") as f:
            lines = [json.loads(line) for line in f]
        self.head, self.defs, self.events = lines[0], {}, []
        for line in lines[1:]:
            if isinstance(line, dict):
                self.defs[line["stream"], line["id"]] = line
            else:
                self.events.append(self.event(*line))
        self.calls = {int(nr): name for name, nr in
                      re.findall(r'^\t"(\w+)" = (\d+),?$', metadata, re.M)}
        clock = re.search(r"freq = (\d+);.*?offset_s = (-?\d+);\n\toffset = (\d+);",
                          metadata, re.S)
        self.freq, self.offset_s, self.offset = map(int, clock.groups())

    def event(self, stream, cpu, tid, ident, tick, payload):
        d = self.defs[stream, ident]
        return Event(stream, cpu, tid, tick, d["name"], d["kind"],
                     decode(d["fields"], bytes.fromhex(payload)))

    def fields_of(self, e):
        for d in self.defs.values():
            if (d["stream"], d["name"], d["kind"]) == (e.stream, e.name, e.kind) and \
                    [f[0] for f in d["fields"]] == [name for name, _ in e.fields]:
                yield d["fields"]

    def stamp(self, e):
        """The stamp in dump: a tick of the source, not of the file"""
        bits = self.head["bits"]
        return e.tick >> bits if bits > 0 else e.tick << -bits

    def ns(self, tick):
        ticks = self.offset + tick
        return (self.offset_s + ticks // self.freq) * 10**9 + \
            ticks % self.freq * 10**9 // self.freq


def bits_of(value):
    """A float as text, so that NaNs are equal. Other values are never str here."""
    return "nan" if math.isnan(value) else value.hex()


def decode(fields, payload):
    out, at = [], 0
    for name, kind, count, _ in fields:
        if kind == "string":
            end = payload.index(0, at)
            value, at = payload[at:end], end + 1
        elif kind == "chars":
            value, at = payload[at:at + count].split(b"\0")[0], at + count
        elif kind == "bytes":
            value, at = list(payload[at:at + count]), at + count
        else:
            value, = struct.unpack_from(LAYOUT[kind], payload, at)
            at += struct.calcsize(LAYOUT[kind])
            value = bits_of(value) if kind[0] == "f" else value
        out.append((name, value))
    same("length of a payload", at, len(payload))
    return tuple((n, tuple(v) if isinstance(v, list) else v) for n, v in out)


def run(*command):
    got = subprocess.run(command, capture_output=True, check=False)
    return got.returncode, got.stdout, got.stderr.decode(errors="replace")


# ---- dump --------------------------------------------------------------------------

TOKEN = re.compile(rb' (\w+)=("(?:[^"\\]|\\.)*"|\S*)')
LINE = re.compile(rb"(\d+) +\[(\d+)\] +(\d+) (\w+)(?:/(\w+))? *((?: .*)?)\n", re.S)


def unescape(text):
    return re.sub(rb"\\(?:x([0-9a-f]{2})|(.))", lambda m: bytes.fromhex(
        m[1].decode()) if m[1] else m[2], text, flags=re.S)


def text_value(kind, how, spelled):
    if kind in ("string", "chars"):
        return unescape(spelled[1:-1])
    spelled = spelled.decode()
    if kind == "bytes":
        return tuple(bytes.fromhex(spelled))
    if kind[0] == "f":
        value = float(spelled)
        return bits_of(ctypes.c_float(value).value if kind == "f32" else value)
    call = re.fullmatch(r"\w+\((\d+)\)", spelled)
    if how != HEX:
        return int(call[1] if call and how == SYSCALL else spelled)
    size = struct.calcsize(LAYOUT[kind])
    return struct.unpack(LAYOUT[kind], int(spelled, 16).to_bytes(size, "little"))[0]


def check_text(truth, out):
    lines = out.split(b"\n")
    same("lines of dump", len(lines) - 1, len(truth.events))
    for line, want in zip(lines, truth.events):
        m = LINE.fullmatch(line + b"\n") or fail("dump: unexpected line", line)
        same("a line of dump", (int(m[1]), int(m[2]), int(m[3]),
                                m[4].decode(), (m[5] or b"instant").decode()),
             (truth.stamp(want), want.cpu, want.tid, want.name, want.kind))
        got = TOKEN.findall(m[6])
        same("bytes of a line's fields", sum(len(n) + len(v) + 2 for n, v in got), len(m[6]))
        for fields in truth.fields_of(want):
            try:
                values = tuple((name.decode(), text_value(f[1], f[3], value))
                               for f, (name, value) in zip(fields, got))
            except (ValueError, OverflowError):
                continue
            if values == want.fields:
                break
        else:
            fail("dump shows", line, "of", want)


def json_value(value, want):
    """The value in the JSON if JSON can represent it exactly, else the wanted one"""
    if isinstance(want, bytes):
        try:
            want.decode()
        except UnicodeDecodeError:
            return want
        return value.encode()
    if isinstance(want, tuple):
        return tuple(bytes.fromhex(value))
    return value


def check_fields(truth, line, fields, want):
    same("fields of dump --json", sorted(fields), sorted(n for n, _ in want.fields))
    for name, value in want.fields:
        spelled = json_value(fields[name], value)
        if isinstance(value, int):
            right = spelled in (value if abs(value) <= 2**53 else str(value),
                                truth.calls.get(value))
        elif isinstance(value, str):
            right = value in (text_value(f[1], None, str(spelled).encode())
                              for layout in truth.fields_of(want) for f in layout
                              if f[0] == name and f[1][0] == "f")
        else:
            right = spelled == value
        if not right:
            fail("dump --json has", line, "of", want)


def check_json(truth, out):
    names = truth.head["streams"]
    lines = out.decode().split("\n")
    same("lines of dump --json", len(lines) - 1, len(truth.events))
    for line, want in zip(lines, truth.events):
        got = json.loads(line)
        same("a line of dump --json",
             (int(got["stamp"]), got["cpu"], got["tid"] % 2**32, got["event"], got["kind"],
              got["channel"]),
             (truth.stamp(want), want.cpu, want.tid, want.name, want.kind, names[want.stream]))
        check_fields(truth, line, got["fields"], want)


def check_dump(truth, ctl, path):
    want = 3 if truth.head["lost"] else 0
    status, out, err = run(ctl, "dump", "--sync", "--raw", path)
    lost = re.findall(r"^trace-ctl dump: (\d+) events were lost", err, re.M)
    same("what dump remarks", (status, len(err.splitlines()), [int(n) for n in lost]),
         (want, want // 3, [truth.head["lost"]] * (want // 3)))
    check_text(truth, out)
    status, out, _ = run(ctl, "dump", "--sync", "--json", path)
    same("dump --json's status", status, want)
    check_json(truth, out)


# ---- libbabeltrace2 ----------------------------------------------------------------

def bt2_value(field):
    if isinstance(field, bt2._StringFieldConst):
        # For an empty string, libbabeltrace2 2.0.4 returns the previous string.
        return str(field).encode("utf-8", "surrogateescape")[:len(field)]
    if isinstance(field, bt2._ArrayFieldConst):
        return tuple(int(one) for one in field)
    if isinstance(field, bt2._RealFieldConst):
        return bits_of(float(field))
    return int(field)


def bt2_name(at, names):
    """The name of a field "_x" beside "x", see lib/ctf/metadata_write.c"""
    name, suffix = names[at], at
    if name[0] != "_" or name[1:] not in names:
        return name
    bare = {n.lstrip("_") for n in names}
    while f"{name}_{suffix}".lstrip("_") in bare:
        suffix += FIELDS_MAX
    return f"{name}_{suffix}"


def as_bt2(e):
    names = [name for name, _ in e.fields]
    return e._replace(kind=None, fields=tuple(
        (bt2_name(at, names), value) for at, (_, value) in enumerate(e.fields)))


UNTIMED_NS = 100000000


def check_untimed(truth, ctl, path):
    """Checks events that have the time of their packet, at most UNTIMED_NS earlier."""
    _, out, _ = run(ctl, "dump", "--sync", "--json", path)
    wanted, got, late = collections.defaultdict(list), collections.defaultdict(list), 0
    for e in truth.events:
        wanted[e.stream, 0, e.cpu].append(e)
    for line in out.decode().splitlines():
        one = json.loads(line)
        one["stamp"] = int(one["stamp"])
        got[truth.head["streams"].index(one["channel"]), 0, one["cpu"]].append(one)
    same("files with events", sorted(got), sorted(wanted))
    others = read_bt2(truth, path)
    for key, want in wanted.items():
        same(f"events in file {key}", len(got[key]), len(want))
        same(f"ticks in file {key} of libbabeltrace2", [e.tick for e in others[key]],
             [one["stamp"] for one in got[key]])
        for one, e, other in zip(got[key], want, others[key]):
            same("an event", (one["event"], one["kind"], one["tid"] % 2**32),
                 (e.name, e.kind, e.tid))
            check_fields(truth, one, one["fields"], e)
            same("libbabeltrace2's event", other, as_bt2(e)._replace(tick=other.tick))
            if one["stamp"] > e.tick:
                fail(one, "is later than", e)
            late = max(late, truth.ns(e.tick) - truth.ns(one["stamp"]))
    if late > UNTIMED_NS + 1:
        fail("packets last", late, "ns")


def read_bt2(truth, path):
    """Returns the events by class, node and CPU."""
    files, lost, last, tids = collections.defaultdict(list), 0, None, {}
    for m in bt2.TraceCollectionMessageIterator(path):
        if type(m) is bt2._DiscardedEventsMessageConst:
            lost += m.count
        if type(m) is not bt2._EventMessageConst:
            continue
        e, clock = m.event, m.default_clock_snapshot
        if last is not None and clock.ns_from_origin < last:
            fail("libbabeltrace2 goes back at tick", clock.value)
        last = clock.ns_from_origin
        if abs(last - truth.ns(clock.value)) > max(1, clock.value * 10**9 //
                                                   truth.freq >> 51):
            fail("libbabeltrace2 has", last, "for", truth.ns(clock.value))
        context = e.specific_context_field
        if context is not None:
            tids[e.stream.name] = int(context["tid"])
        cpu = int(e.packet.context_field["cpu_id"])
        node = int(e.packet.context_field["node_id"])
        files[e.stream.cls.id, node, cpu].append(Event(
            e.stream.cls.id, cpu, tids[e.stream.name], clock.value, e.name, None,
            tuple((name, bt2_value(f)) for name, f in e.payload_field.items())))
    same("events that libbabeltrace2 knows to be lost", lost, truth.head["lost"])
    return files


def check_bt2(truth, path):
    wanted = collections.defaultdict(list)
    for e in truth.events:
        wanted[e.stream, 0, e.cpu].append(as_bt2(e))
    got = read_bt2(truth, path)
    same("files with events", sorted(got), sorted(wanted))
    for key, want in wanted.items():
        same(f"events in file {key} of libbabeltrace2", len(got[key]), len(want))
        for a, b in zip(got[key], want):
            same("libbabeltrace2's event", a, b)


# ---- babeltrace2, babeltrace -------------------------------------------------------

EMPTY = "any text"
ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r",
           27: "\\e", 34: '\\"', 39: "\\'", 63: "\\?", 92: "\\\\"}
HEAD = re.compile(r"timestamp = (\d+), .*?trace:hostname = .*?, name = (\w+), "
                  r"stream\.packet\.context = \{ cpu_id = (\d+), node_id = 0 \}, "
                  r"(?:event\.context = \{ tid = (\d+) \}, )?"
                  r"event\.fields = \{(.*)\}\n", re.S)


def pretty(truth, kind, how, value):
    if value == b"":  # any text, see bt2_value()
        return EMPTY
    if isinstance(value, tuple):
        return "[ " + ", ".join(f"[{i}] = 0x{v:X}" for i, v in enumerate(value)) + " ]"
    if kind in ("string", "chars"):
        return '"' + "".join(ESCAPES.get(c) or (f"\\x{c:02x}" if c < 32 or c == 127 else
                                                bytes([c]).decode("latin-1"))
                             for c in value) + '"'
    if kind[0] == "f":
        return None if value == "nan" else "%g" % float.fromhex(value)
    if how == HEX:
        return f"0x{value % (1 << 8 * struct.calcsize(LAYOUT[kind])):X}"
    if how != SYSCALL or kind in ("u8", "s8") or not truth.calls:  # none: written by a core build
        return str(value)
    call = truth.calls.get(value)
    return f'( "{call}" : container = {value} )' if call else \
        f"( \"unknown\" : container = {value} )"


def pretty_fields(truth, e, fields):
    names = [name for name, _ in e.fields]
    shown = [(bt2_name(i, names), pretty(truth, f[1], f[3], value))
             for i, (f, (_, value)) in enumerate(zip(fields, e.fields))]
    return "".join(f"{',' if i else ''} {name} = {value}"
                   for i, (name, value) in enumerate(shown)) + " "


def check_remarks(err):
    """Only lost events may be reported."""
    for line in err.splitlines():
        if not re.match(r"WARNING: Tracer discarded \d+ events? between \[|"
                        r"\[warning\] Tracer discarded \d+ events ", line):
            fail("a reader warns", line)


def check_pretty(truth, path):
    _, out, err = run("babeltrace2", "--clock-cycles", "--names", "all", "--fields",
                      "all", path)
    check_remarks(err)
    got = collections.defaultdict(list)
    for line in re.findall(r"[^\n]*\n", out.decode("latin-1")):
        m = HEAD.fullmatch(line) or fail("babeltrace2: unexpected line", line)
        got[int(m[1]), m[2], int(m[3])].append(re.sub(r"= -?nan", "= None", m[5]))
    same("lines of babeltrace2", sum(map(len, got.values())), len(truth.events))
    for e in truth.events:
        shown = got[e.tick, e.name, e.cpu]
        patterns = [pretty_fields(truth, e, f) for f in truth.fields_of(e)]
        found = [s for s in shown if any(is_shown(s, p) for p in patterns)]
        if not found:
            fail("babeltrace2 shows", shown, "where it should", patterns)
        shown.remove(found[0])


def is_shown(text, pattern):
    if EMPTY not in pattern:
        return text == pattern
    return re.fullmatch('"(?:[^"\\\\]|\\\\.)*"'.join(map(re.escape, pattern.split(EMPTY))), text)


def check_babeltrace(truth, path):
    _, out, err = run("babeltrace", "--clock-cycles", "--no-delta", path)
    check_remarks(err)
    lines = re.findall(r"\[(\d+)\] .*?(\w+): \{ cpu_id = (\d+), node_id = \d+ \}",
                       out.decode("latin-1"))
    same("babeltrace's events",
         sorted((int(tick), name, int(cpu)) for tick, name, cpu in lines),
         sorted((e.tick, e.name, e.cpu) for e in truth.events))


def main():
    ctl, path, truth_path = sys.argv[1:]
    with open(f"{path}/metadata", encoding="ascii") as f:
        truth = Truth(truth_path, f.read())
    if truth.head["untimed"]:
        check_untimed(truth, ctl, path)
    else:
        check_dump(truth, ctl, path)
        check_bt2(truth, path)
        check_pretty(truth, path)
        check_babeltrace(truth, path)
    print(len(truth.events))


if __name__ == "__main__":
    main()
