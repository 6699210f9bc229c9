#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""align_check.py make DIR TRUTH   writes traces of two nodes, in the formats of other tools
align_check.py skip TRACE TRUTH      prints a text without the events around the node's step
align_check.py own ARCHIVE DUMP       compares our exports in it with `trace-ctl dump --json`
align_check.py check ARCHIVE TRUTH [TABLE]   reads an archive of `trace-ctl align --json` (TABLE)
align_check.py truth ARCHIVE DUMP NODE=TIMES...   events of lttng/program.c of nodes; TIMES has lines
                                     "NUMBER BEFORE AFTER", between which an event was; DUMP is that
                                     of the merged recording, with bounds, which is in ARCHIVE
align_check.py known FIELD...         `trace-ctl dump --json --error` of standard input; the true time of
                                     an event is in one of these fields, of others not known
align_check.py stream TIMES BOUND    lines "[SECONDS] ... step-NUMBER" of standard input

The check is a reader of its own of tar, the manifest, protobuf, JSON and text. It places each event
as Perfetto's trace processor does: a graph of clocks, each of a machine and perhaps of a file; the
shortest way from an event's clock to that of the timeline; each edge by the last snapshot that is
not after the value. Numbers are rounded as it rounds them. Then each event has to be where the truth is, within the bound of its file and
that of the node's counter track. Prints the numbers of events per file.
"""
import bisect
import collections
import json
import os
import random
import re
import struct
import sys
import tarfile

REALTIME, COARSE, MONOTONIC, RAW, BOOTTIME = 1, 2, 3, 5, 6
NAMES = {"REALTIME": 1, "REALTIME_COARSE": 2, "MONOTONIC": 3, "MONOTONIC_COARSE": 4,
         "MONOTONIC_RAW": 5, "BOOTTIME": 6}
TICKS = 2_400_000_000  # of Fuchsia's traces, per second


def fail(*what):
    print("align_check:", *what)
    sys.exit(1)


class Moment:
    def __init__(self, line):
        (self.node, self.true, self.monotonic, self.boottime, self.raw,
         self.realtime, self.cycles) = map(int, line.split())


def moments(path):
    with open(path, encoding="ascii") as f:
        return [Moment(line) for line in f]


# --- protobuf -------------------------------------------------------------------------------

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                fail("a message is cut")
        else:
            size = {1: 8, 5: 4}[tag & 7]
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield tag >> 3, value


def members(data):
    """The fields of a message, of which none is repeated"""
    return dict(fields(data))


# --- traces ---------------------------------------------------------------------------------

def packet(*parts, sequence=1):
    return message(1, b"".join(parts) + number(10, sequence))


def snapshot(clocks, primary=None):
    """clocks: (id, value), or (id, value, incremental, unit)"""
    out = b""
    for clock in clocks:
        one = number(1, clock[0]) + number(2, clock[1])
        if len(clock) > 2:
            one += number(3, clock[2]) + number(4, clock[3])
        out += message(1, one)
    return message(6, out + (number(2, primary) if primary else b""))


def event(name):
    return message(11, number(9, 3) + number(11, 5) + message(23, name))


def make_perfetto(name, events):
    """BOOTTIME, MONOTONIC, and a clock of a sequence, in us and incremental; the snapshots read
    one clock after the other."""
    out = packet(number(13, 1))
    incremental = None
    for i, m in enumerate(events):
        if i % 50 == 0:
            late = random.randrange(300)
            out += packet(snapshot([(BOOTTIME, m.boottime), (REALTIME, m.realtime + late),
                                    (MONOTONIC, m.monotonic + late), (RAW, m.raw + late)],
                                   BOOTTIME))
            out += packet(snapshot([(BOOTTIME, m.boottime), (64, m.boottime // 1000, 1, 1000)]),
                          sequence=2)
            incremental = m.boottime // 1000 * 1000
        if i % 3 == 0:
            out += packet(number(8, m.boottime), event(f"{name}-{m.index}"))
        elif i % 3 == 1:
            out += packet(number(8, m.monotonic), number(58, MONOTONIC),
                          event(f"{name}-{m.index}"))
        else:
            delta = (m.boottime - incremental) // 1000
            incremental += delta * 1000
            out += packet(number(8, delta), number(58, 64), event(f"{name}-{m.index}"),
                          sequence=2)
    ftrace = b"".join(message(2, number(1, m.boottime) + number(2, m.index) +
                              message(4, number(6, m.index)))
                      for m in events[::7])
    return out + packet(message(1, number(1, 0) + ftrace))


def make_merged(name, events):
    """Our export of a merged recording, whose times are the cluster's"""
    first = events[0].true
    labels = message(8, "error bounds: CLOCK_REALTIME unknown, nodes 5 ns, UTC unknown") + \
        message(8, "timeline: 9 of master 77")
    return packet(snapshot([(REALTIME, first), (BOOTTIME, first)], REALTIME), number(13, 1)) + \
        packet(message(60, number(1, 3) + message(3, number(1, 1) + labels))) + \
        b"".join(packet(number(8, m.true), event(f"{name}-{m.index}")) for m in events)


def make_merged_json(name, events):
    lines = [f'{{"ph":"i","name":"{name}-{m.index}","ts":{us_text(m.true)}}}' for m in events]
    return ('{"traceEvents":[' + ",\n".join(lines) + '],"otherData":{"exported_by":"tsctrace 1",'
            '"nodes":2,"timeline":"9 of master 77","clock_error_ns":null,"node_error_ns":5}}'
            ).encode()


def make_bare(name, events):
    """Times without a clock"""
    return b"".join(packet(number(8, m.boottime), event(f"{name}-{m.index}")) for m in events)


def make_script(name, events, clock="monotonic"):
    lines = []
    for m in events:
        us = getattr(m, clock) // 1000
        lines += [f"{name}-{m.index} 12/7 [000] {us // 10**6}.{us % 10**6:06d}:  1 cycles:",
                  "\tffffffff81000000 [unknown] (/x)", ""]
    return "\n".join(lines).encode()


def make_ftrace(name, events, stamp=lambda m: f"{m.boottime // 10**9}.{m.boottime // 1000 % 10**6:06d}"):
    lines = ["# tracer: nop", "#"]
    for m in events:
        lines.append(f" a:b [c]-{m.index}   [001] d..2. {stamp(m)}: "
                     f"tracing_mark_write: I|1|{name}-{m.index}")
    return ("\n".join(lines) + "\n").encode()


def make_journal(name, events):
    """journalctl -o json: members are in any order; texts may be arrays, or null"""
    lines = []
    for m in events:
        text = f"{name}-{m.index}"
        entry = {"_PID": "12", "PRIORITY": "6", "_COMM": None, "_HOSTNAME": "\u00fc\u0000",
                 "MESSAGE": [text, list(text.encode()), [text, "x"]][m.index % 3]
                 if m.index % 3 else text,
                 "_BOOT_ID": f"{0xb007 + m.node:032x}",
                 "__REALTIME_TIMESTAMP": str(m.realtime // 1000),
                 "__MONOTONIC_TIMESTAMP": str(m.monotonic // 1000)}
        lines.append(json.dumps(dict(random.sample(list(entry.items()), len(entry)))))
    return ("\n".join(lines) + "\n").encode()


def us_text(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def make_json(name, events):
    """Chrome's bare array, without the last bracket"""
    lines = [f'{{"name":"{name}-{m.index}","ph":"i","ts":{us_text(m.raw)},"pid":1,"tid":2,'
             '"args":{"ts":"x\\"]}","q":{"ts":5}}}' for m in events]
    return ('[\n{"name":"thread_name","ph":"M","ts":0,"pid":1},\n' + ",\n".join(lines)).encode()


def make_kineto(name, events):
    base = 1_789_999_000_000_000_000
    lines = [f'{{"ph":"X","name":"{name}-{m.index}","ts":{us_text(m.realtime - base)},'
             '"dur":0.5,"pid":1,"tid":2}' for m in events]
    return ('{"schemaVersion":1,"traceEvents":[' + ",\n".join(lines) +
            f'],"baseTimeNanoseconds":{base}}}').encode()


def make_fuchsia(name, events):
    """An event's thread and name are inline references; its string is index * 8 in one argument."""
    out = struct.pack("<Q", 0x0016547846040010) + struct.pack("<QQ", 1 | 2 << 4, TICKS)
    for m in events:
        ticks = -(-m.boottime * TICKS // 10**9)
        text = f"{name}-{m.index}".encode()
        pad = text + bytes(-len(text) % 8)
        words = 2 + len(pad) // 8 + 2
        out += struct.pack("<QQ", 4 | words << 4 | 0 << 16 | (0x8000 | len(text)) << 48, ticks)
        out += struct.pack("<QQ", 1, 2) + pad
    return out


def make(where, truth):
    random.seed(1)
    formats = {"p.pftrace": make_perfetto, "s.txt": make_script, "f.trace": make_ftrace,
               "j.json": make_json, "k.json": make_kineto, "z.fxt": make_fuchsia,
               "r.txt": lambda n, e: make_script(n, e, "raw"), "q.pftrace": make_perfetto,
               "d.jsonl": make_journal,
               "x.trace": lambda n, e: make_ftrace(n, e, lambda m: str(m.cycles)),
               "n.bare": make_bare}
    all_moments = moments(truth)
    for node in (0, 1):
        if not node:
            events = sorted(all_moments[:200], key=lambda m: m.true)
            for index, m in enumerate(all_moments):
                m.index = index
            for name, form in (("m.pftrace", make_merged), ("m.json", make_merged_json)):
                with open(os.path.join(where, name), "wb") as f:
                    f.write(form(name, events))
        mine = []
        for index, m in enumerate(all_moments):
            m.index = index
            if m.node == node:
                mine.append(m)
        for i, (name, form) in enumerate(formats.items()):
            events = sorted(mine[i::len(formats)], key=lambda m: m.true)
            with open(os.path.join(where, f"{node}{name}"), "wb") as f:
                f.write(form(f"{node}{name}", events))


def skip(trace, truth):
    known = moments(truth)
    begin = 1_790_000_000_000_000_000 + 45 * 10**9
    with open(trace, encoding="ascii") as f:
        for line in f:
            m = re.match(r".s\.txt-(\d+)", line)
            keep = abs(known[int(m[1])].true - begin) > 310_000_000 if m else keep
            if keep:
                print(line, end="")


# --- clocks, as Perfetto has them --------------------------------------------------------------

class Graph:
    def __init__(self):
        self.edges = collections.defaultdict(dict)
        self.keys = {}

    def add(self, clocks):
        """A snapshot: {clock: value}; kept per set of clocks, in the order in which they come"""
        kind = tuple(sorted(map(repr, clocks)))
        for a, x in clocks.items():
            for b, y in clocks.items():
                if a != b:
                    self.edges[a].setdefault((b, kind), []).append((x, y))

    def path(self, source, target):
        queue, seen = collections.deque([(source, [])]), {source}
        while queue:
            clock, path = queue.popleft()
            if len(path) == 4:
                continue
            for (other, kind) in sorted(self.edges[clock], key=repr):
                if other == target:
                    return path + [(clock, other, kind)]
                if other not in seen:
                    seen.add(other)
                    queue.append((other, path + [(clock, other, kind)]))
        return None

    def convert(self, source, value, target):
        if source == target:
            return value
        path = self.path(source, target)
        if path is None:
            fail("no way from clock", source, "to", target)
        for clock, other, kind in path:
            pairs = self.edges[clock][(other, kind)]
            keys, kept = self.keys.get((clock, other, kind), (None, 0))
            if kept != len(pairs):
                keys = [x for x, _ in pairs]
                if keys != sorted(keys) or [y for _, y in pairs] != sorted(y for _, y in pairs):
                    fail("snapshots of", clock, "and", other, "are not in order")
                self.keys[(clock, other, kind)] = keys, len(pairs)
            i = max(bisect.bisect_right(keys, value) - 1, 0)
            value += pairs[i][1] - pairs[i][0]
        return value


class Archive:
    def __init__(self, path):
        self.files = {}
        with tarfile.open(path, "r:") as tar:
            for member in tar:
                if not member.isreg() or len(member.name) > 99 or \
                        re.search(r"[^!-~]|(^|/)\.", member.name) or member.name in self.files:
                    fail("member", repr(member.name))
                self.files[member.name] = tar.extractfile(member).read()
        text = self.files.pop("perfetto_manifest.json")
        if not re.sub(rb"\s", b"", text[:80]).startswith(b'{"perfetto_manifest"'):
            fail("the manifest begins with", text[:80])
        self.manifest = json.loads(text)["perfetto_manifest"]
        if self.manifest["version"] != 1 or self.manifest["trace_time"]["clock"] != "REALTIME":
            fail("manifest", self.manifest)
        if any(re.search(r"[\x00-\x1f\x7f]", f["machine"]["name"]) for f in self.manifest["files"]):
            fail("the manifest has control characters in a name")
        self.entries = {f["path"]: f for f in self.manifest["files"]}
        if set(self.entries) != set(self.files) or \
                len(self.entries) != len(self.manifest["files"]):
            fail("the manifest does not have each file once")
        self.graph = Graph()
        self.events = []     # file, name, time
        self.tracks = {}     # machine: {track name: [(time, bound)]}
        self.primary = {}    # machine: its first file
        self.goal = (self.machine(self.manifest["trace_time"]["file"]), None, REALTIME)
        self.relate()
        self.later = []      # events that are placed when all clocks are known
        for path in sorted(self.files, key=lambda n: (not n.endswith(".pftrace"), n)):
            self.read(path)

    def machine(self, path):
        return self.entries[path]["machine"]["name"]

    def relate(self):
        for path, entry in self.entries.items():
            if "clocks" not in entry:
                continue
            c = entry["clocks"]
            to = (self.machine(c["sync_to"]["file"]), None, NAMES[c["sync_to"]["clock"]])
            source = (self.machine(path), None, NAMES[c["clock"]]) if "clock" in c else \
                (self.machine(path), path, "file")
            offset = c["offset_ns"]
            self.graph.add({source: max(-offset, 0), to: max(offset, 0)})

    def place(self, path, name, clock, value):
        self.later.append((path, name, clock, value))

    def placed(self):
        for path, name, clock, value in self.later:
            yield path, name, self.graph.convert(clock, value, self.goal), value

    def read(self, path):
        data, machine = self.files[path], self.machine(path)
        first = self.primary.setdefault(machine, path) == path
        if path.endswith(".pftrace"):
            self.read_proto(path, data, machine, first)
        elif path.endswith(".json"):
            text = data.decode()
            # Numbers stay text: a double has too few digits.
            whole = json.loads(text if text.startswith("{") else text + "]", parse_float=str)
            pinned = (machine, path, "file")
            if "clocks" not in self.entries[path]:
                fail(path, "has no clock")
            for e in whole["traceEvents"] if isinstance(whole, dict) else whole:
                if e["ph"] != "M":
                    nr = e.get("args", {}).get("nr")
                    name = e["name"] if nr is None else f"{e['tid']}:step-{nr}"
                    self.place(path, name, pinned, round(float(e["ts"]) * 1000))
        elif path.endswith(".fxt"):
            self.read_fuchsia(path, data, (machine, None, BOOTTIME))
        else:
            script = not data.startswith(b"# tracer")
            for line in data.decode().splitlines():
                m = re.match(r".* (\d+\.\d+): ", line)
                if m:
                    name = re.search(r"([01][a-z]\.[a-z]+|step)-\d+", line)[0]
                    ns = float(m[1]) * 1000 * 1000 * 1000 if script else float(m[1]) * 1e9
                    self.place(path, name, (machine, None, MONOTONIC), int(ns))

    def read_fuchsia(self, path, data, clock):
        at, rate = 8, 10**9
        while at < len(data):
            head, first = struct.unpack_from("<QQ", data, at)
            size = (head >> 4 & 0xfff) * 8
            if head & 15 == 1:
                rate = first
            elif head & 15 == 4:
                length = head >> 48 & 0x7fff
                ns = (first >> 32) * ((10**9 << 32) // rate) + \
                    (first & 0xffffffff) * 10**9 // rate
                self.place(path, data[at + 32:at + 32 + length].decode(), clock, ns)
            at += size

    def read_proto(self, path, data, machine, first):
        tag, running, names = [None], {}, {}
        primary = None

        def clock_of(number_, sequence):
            if number_ is None:
                fail(path, "a time without a clock")
            if 64 <= number_ < 128:
                return (machine, path, sequence, number_)
            return (machine, tag[0], number_)

        for field, value in fields(data):
            if field != 1:
                fail(path, "field", field)
            p = members(value)
            sequence = p.get(10, 0)
            if 6 in p:
                if not first:
                    tag[0] = path    # a second file's clocks are its own
                clocks = {}
                ids = [members(v)[1] for f, v in fields(p[6]) if f == 1]
                if primary is None and BOOTTIME in ids:
                    primary = BOOTTIME
                for f, v in fields(p[6]):
                    if f == 2:
                        primary = v
                        continue
                    c = members(v)
                    clock = clock_of(c[1], sequence)
                    if clock in clocks:
                        fail(path, "a snapshot has a clock twice")
                    ns = c[2] * c.get(4, 1)
                    clocks[clock] = ns
                    if c.get(3):
                        running[clock] = ns
                    if not first and machine != self.goal[0] and c[1] in (REALTIME, COARSE):
                        clocks[(machine, None, c[1])] = ns
                self.graph.add(clocks)
                if not first:
                    mine, shared = (machine, path, BOOTTIME), (machine, None, BOOTTIME)
                    if self.graph.path(mine, shared) is None:
                        self.graph.add({mine: 0, shared: 0})
            if 60 in p:
                t = members(p[60])
                if t[1] in names and path.startswith("clocks/"):
                    fail(path, "two tracks of one number")
                names[t[1]] = t.get(2, b"").decode()
            if 132 in p:
                text = members(p[132])[7].decode()
                self.place(path, text, clock_of(p[58], sequence), p[8])
            if 11 in p:
                e = members(p[11])
                clock = clock_of(p.get(58, primary), sequence)
                ns = p[8]
                if clock in running:
                    ns = running[clock] = running[clock] + ns * 1000
                if e.get(9) == 4 and path.startswith("clocks/"):
                    track = self.tracks.setdefault(machine, {}).setdefault(names[e[11]], [])
                    track.append((self.graph.convert(clock, ns, self.goal), e[30]))
                else:
                    self.place(path, e.get(23, b"").decode(), clock, ns)
            if 1 in p:
                for f, v in fields(p[1]):
                    if f == 2:
                        one = members(v)
                        self.place(path, f"-{one[2]}", (machine, tag[0], BOOTTIME), one[1])


def own(path, dump):
    """Each time that `trace-ctl dump --json` prints is in each file of the archive."""
    archive = Archive(path)
    placed = collections.defaultdict(list)
    for member, _, time, _ in archive.placed():
        placed[member].append(time)
    with open(dump, encoding="utf-8") as f:
        times = [int(json.loads(line)["time_ns"]) for line in f]
    for member, mine in placed.items():
        mine.sort()
        bound = archive.manifest["attributes"]["tsctrace.bound_ns." + member]
        for time in times:
            i = bisect.bisect_left(mine, time - bound)
            if i == len(mine) or mine[i] > time + bound:
                fail(member, "has no event at", time, "+-", bound)
    print(len(placed), "files,", len(times), "times")


def judge(what, events, wanted):
    """events: (earliest, latest, before, after): by the bound; by the truth"""
    outside = sum(hi < before or lo > after for lo, hi, before, after in events)
    # Of events that certainly were before this one, none may certainly be after it.
    disorder, ended, latest, i = 0, sorted((e[3], e[0]) for e in events), 0, 0
    for _, hi, before, _ in sorted(events, key=lambda e: e[2]):
        while ended[i][0] < before:
            latest = max(latest, ended[i][1])
            i += 1
        disorder += hi < latest
    bounds = [(hi - lo) // 2 for lo, hi, _, _ in events]
    print(f"{what}: {len(events)} events, {outside} outside, {disorder} out of order, bounds "
          f"{min(bounds)} to {max(bounds)} ns")
    if outside or disorder or len(events) != (wanted or max(len(events), 1)):
        fail(what, "wanted", wanted, "events, all right")


def known(*names):
    events = []
    for event in map(json.loads, sys.stdin):
        true = [int(event["fields"][f]) for f in names if f in event["fields"]]
        if true:
            t, error = int(event["time_ns"]), int(event["error_ns"])
            events.append((t - error, t + error, true[0], true[0]))
    judge("known", events, None)


def read_times(of, node):
    with open(of, encoding="ascii") as f:
        return {(node, nr): (a, b) for nr, a, b in (map(int, line.split()) for line in f)}


def stream(of, bound):
    times, bound, events = read_times(of, ""), int(bound), []
    for m in map(re.compile(r"\[(\d+)\.(\d{9})\] .*step-(\d+)$").match, sys.stdin):
        t = int(m[1] + m[2])
        events.append((t - bound, t + bound) + times["", int(m[3])])
    judge("stream", events, len(times) // 4)


def truth(path, dump, *files):
    times, nodes, merged = {}, {}, []
    for node, of in (text.split("=") for text in files):
        times |= read_times(of, node)
    with open(dump, encoding="utf-8") as f:
        for event in map(json.loads, f):
            if event["event"] in ("own_step", "test_program_step"):
                t, error = int(event["time_ns"]), int(event["error_ns"])
                nodes[event["tid"]] = event["node"]
                merged.append((t - error, t + error) + times[event["node"], event["fields"]["nr"]])
    judge("merged", merged, len(times) // 2)
    archive = Archive(path)
    bounds = {member: archive.manifest["attributes"]["tsctrace.bound_ns." + member]
              for member in archive.files if member.startswith("traces/")}
    seen = {}
    for member, name, t, _ in archive.placed():
        if m := re.fullmatch(r"(?:(\d+):)?step-(\d+)", name):
            node = nodes[int(m[1])] if m[1] else archive.machine(member).split(":")[0]
            bound = bounds[member]
            seen[node, int(m[2])] = (t - bound, t + bound) + times[node, int(m[2])]
    judge("aligned", list(seen.values()), len(times))


def check(path, truth, table):
    archive = Archive(path)
    real = archive.manifest["attributes"]["tsctrace.timeline"] == "realtime"
    known = moments(truth)
    counts = collections.Counter()
    worst = collections.Counter()
    bounds = {k.removeprefix("tsctrace.bound_ns."): v
              for k, v in archive.manifest["attributes"].items() if ".bound_ns." in k}
    for member, name, time, _ in archive.placed():
        m = known[int(name.rsplit("-", 1)[1])]
        off = abs(time - (m.realtime if real else m.true))
        if off > bounds[member]:
            fail(member, name, "is off by", off, "ns, and the bound is", bounds[member])
        counts[member] += 1
        worst[member] = max(worst[member], off)
    for machine, tracks in archive.tracks.items():
        for name, points in tracks.items():
            times = [t for t, _ in points]
            if not name.startswith("clock bound, ") or times != sorted(times) or \
                    any(b <= 0 for _, b in points):
                fail("track", machine, name)
    for member in archive.files:
        if member.startswith("clocks/") and archive.machine(member) not in archive.tracks:
            fail(member, "has no track of the bound")
        if member.startswith("clocks/") and \
                archive.graph.path((archive.machine(member), None, BOOTTIME), archive.goal) is None:
            fail(member, "does not relate CLOCK_BOOTTIME")
        if member.startswith("traces/") and not counts[member]:
            fail(member, "has no event")
    if table:
        with open(table, encoding="utf-8") as f:
            for one in json.load(f)["files"]:
                if not one["left_out"]:
                    with open(one["file"], "rb") as g:
                        if (g.read() == archive.files[one["member"]]) == one["converted"]:
                            fail(one["file"], "in the archive:", one)
                    if one["bound_ns"] != bounds[one["member"]]:
                        fail(one["file"], "has two bounds")
    for member in sorted(counts):
        print(member, counts[member], "events, off by at most", worst[member], "ns, bound",
              bounds[member], "ns, machine", archive.machine(member))
    print("total", sum(counts.values()))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    elif sys.argv[1] == "skip":
        skip(*sys.argv[2:])
    elif sys.argv[1] == "own":
        own(*sys.argv[2:])
    elif sys.argv[1] in ("known", "truth", "stream"):
        globals()[sys.argv[1]](*sys.argv[2:])
    else:
        check(*(sys.argv[2:] + [None])[:3])
