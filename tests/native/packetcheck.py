#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""packetcheck.py DIR [TRUTH]

Reads the stream files of a recording by the text of Documentation/trace-format.rst and
stamps.rst, without any code of tsctrace, each packet without the packets before it.
Fails unless each packet header has the full tick of the packet's first and last event,
and each packet keeps the limits in the metadata (sync_every*). TRUTH, as printed by
roundtrip.c: ticks of all events in 64 bits, which the packet headers must have, too.
Prints the number of packets with events, the largest number of events in a packet, the
longest time in a packet in ns, and the largest packet in bytes.
"""
import collections
import json
import os
import re
import struct
import sys

HEAD = struct.Struct("<I16sIQQQQQQII")
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s8": 1, "s16": 2, "s32": 4, "s64": 8,
         "f32": 4, "f64": 8}
BITS = {"tsc/16": -4, "tsc/256": -8, "interpolated": 3}
FULL = 65536
# Tolerance of a packet's length in time: a recorder converts the limit by the rate of the
# clock at the begin of the recording, which the end of the recording knows better.
RATE_TOLERANCE = 0.01


def must(holds, *what):
    if not holds:
        print("packetcheck:", *what)
        sys.exit(1)


class Metadata:
    def __init__(self, text):
        env = dict(re.findall(r"^\t(\w+) = (.*);$", text, re.M))
        self.env = {key: value.strip('"') for key, value in env.items()}
        self.uuid = bytes.fromhex(self.env["trace_uuid"].replace("-", ""))
        self.kind = self.env["timestamps"]
        mult = int(re.search(r" mult=(\d+)", self.env["clock_real"])[1])
        self.tick_ns = mult / 2**56 / 2 ** BITS.get(self.kind, 0)
        self.events = {}
        for key, value in self.env.items():
            m = re.fullmatch(r"event_(\d+)_(\d+)", key)
            if m:
                self.events[int(m[1]), int(m[2]) - 16] = fields(value.split(" ")[2])
        samples = sum(bool(re.fullmatch(r"stream_\d+", key)) for key in self.env)
        if "sync_fields" in self.env:
            self.events[samples, 0] = fields(self.env["sync_fields"])

    def limit(self, name, default):
        return int(self.env.get(name, default))


def fields(text):
    """The sizes of an event's fields in bytes; 0: a string"""
    out = []
    for field in filter(None, text.split(",")):
        m = re.fullmatch(r"\w+:(\w+)(?:\[(\d+)\])?(?:/\w+)?", field)
        out.append(int(m[2]) if m[2] else SIZES.get(m[1], 0))
    return out


def payload_end(data, at, sizes):
    for size in sizes:
        at = at + size if size else data.index(0, at) + 1
    return at


def decode(meta, stream, begin, data):
    """Yields the offset and the tick of each event of a packet."""
    tick, at, first = begin, HEAD.size, True
    while at < len(data):
        start, form = at, data[at] & 7
        width, wide = 1 << (form & 3), form >> 2
        ident = int.from_bytes(data[at:at + 3], "little") >> 3 if wide else data[at] >> 3
        has_tid, ident = ident >> 16, ident & 0xffff
        at += 1 + 2 * wide
        low = int.from_bytes(data[at:at + width], "little")
        tick += (low - tick) % (1 << 8 * width)
        at += width + 4 * has_tid
        must(has_tid or not first, "the first event of a packet has no thread")
        first = False
        at = payload_end(data, at, meta.events[stream, ident])
        must(at <= len(data), "an event exceeds its packet")
        yield start, tick


class Figures:
    packets = events = ns = size = 0

    def note(self, events, ns, size):
        self.packets += 1
        self.events = max(self.events, events)
        self.ns = max(self.ns, ns)
        self.size = max(self.size, size)


def check_packet(meta, name, head, data, truth, figures):
    """Checks one packet with events; takes the truth of these events from the deque."""
    stream, begin, end = head[2], head[3], head[4]
    events = list(decode(meta, stream, begin, data))
    ticks = [tick for _, tick in events]
    must(ticks[0] == begin, name, "begins at", begin, "and its first event at", ticks[0])
    if meta.kind == "off":
        must(set(ticks) == {begin} and end >= begin, name, "has events at", ticks)
    else:
        must(ticks[-1] == end, name, "ends at", end, "and its last event at", ticks[-1])
        must(ticks == sorted(ticks), name, "goes back")
    if truth is not None:
        true = [truth[stream, head[9]].popleft() for _ in events]
        must((true[0], true[-1]) == (begin, end), name, "has", (begin, end),
             "in a header for events at", (true[0], true[-1]))
        must(meta.kind == "off" or true == ticks, name, "has", ticks, "for", true)
    must(len(events) <= meta.limit("sync_every", 1 << 64), name, len(events), "events")
    must(events[-1][0] < meta.limit("sync_every_bytes", FULL), name, "was full with",
         events[-1][0], "bytes, and has another event")
    ns = (end - begin) * meta.tick_ns
    limit = meta.limit("sync_every_ns", 1 << 64)
    if meta.kind == "off":
        limit = min(limit, 10**8)
    must(ns < limit * (1 + RATE_TOLERANCE) + 2 * meta.tick_ns, name, "lasts", ns, "ns")
    figures.note(len(events), int(ns), len(data))


def check_file(meta, name, whole, truth, figures):
    at, seq, last = 0, 0, 0
    while at < len(whole):
        head = HEAD.unpack_from(whole, at)
        must(head[0] == 0xc1fc1fc1 and head[1] == meta.uuid and head[7] == seq,
             name, "packet", seq, "has the header", head)
        must(head[5] == head[6] and head[5] % 8 == 0, name, "packet", seq, "is padded")
        must(last <= head[3] <= head[4], name, "packet", seq, "goes back")
        data = whole[at:at + head[5] // 8]
        must(len(data) == head[5] // 8, name, "ends within packet", seq)
        must(seq or len(data) == HEAD.size, name, "begins with events")
        if len(data) > HEAD.size:
            check_packet(meta, f"{name} packet {seq}", head, data, truth, figures)
        at, seq, last = at + len(data), seq + 1, head[4]


def read_truth(path):
    with open(path, encoding="ascii") as f:
        lines = [json.loads(line) for line in f]
    ticks = collections.defaultdict(collections.deque)
    for line in lines:
        if isinstance(line, list):
            ticks[line[0], line[1]].append(line[4])
    return ticks


def main():
    path = sys.argv[1]
    with open(f"{path}/metadata", encoding="ascii") as f:
        meta = Metadata(f.read())
    truth = read_truth(sys.argv[2]) if len(sys.argv) > 2 else None
    figures = Figures()
    for name in sorted(os.listdir(path)):
        if name == "metadata" or name.startswith("."):
            continue
        with open(f"{path}/{name}", "rb") as f:
            check_file(meta, name, f.read(), truth, figures)
    must(truth is None or not any(truth.values()), "events are missing")
    print(figures.packets, figures.events, figures.ns, figures.size)


if __name__ == "__main__":
    main()
