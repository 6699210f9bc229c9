#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pack.py HOW SIZE DIR... - recordings as one input of fuzz_recording, on standard
output. HOW: 0, or what recording_box.h has of merges.

What recording_box.h describes: environments, packets as they are. Of each file so
many packets are taken as fit into SIZE bytes for each recording, events and all, and
at least two of them are cut short rather than left out.
"""
import os
import re
import struct
import sys

HEAD = struct.Struct("<I16sIQQQQQQII")
TEXT, PACKET, _, NEXT = range(4)


def section(kind, data):
    return struct.pack("<BH", kind, len(data)) + data


def environment(path):
    with open(f"{path}/metadata", "rb") as f:
        text = f.read()
    begin = text.index(b"\nenv {\n") + 7
    return text[begin:text.index(b"\n};", begin) + 1]


def packets(data):
    at = 0
    while at < len(data):
        head = HEAD.unpack_from(data, at)
        size = head[5] // 8
        yield head, data[at + HEAD.size:at + size]
        at += head[6] // 8


def file_sections(data, location, room):
    out, last = [], 0
    for head, events in packets(data):
        stream, begin, end, lost = head[2], head[3], head[4], head[8]
        if len(out) > 1 and room < len(events):
            break
        events = events[:max(room, 100)]
        out.append(section(PACKET, struct.pack("<BBBQQH", stream, location, 0,
                                               begin - last, end - begin,
                                               lost & 0xffff) + events))
        last = end
        room -= len(events)
    return out


def recording(path, how, size):
    env = environment(path)
    places = re.findall(rb'\tlocation_\d+ = "node=(\d+) cpu=(\d+)"', env)
    of = {tuple(map(int, place)): i for i, place in enumerate(places)}
    out = [section(NEXT, bytes([how])), section(TEXT, env)]
    names = sorted(n for n in os.listdir(path) if n != "metadata")[:16]
    for name in names:
        with open(f"{path}/{name}", "rb") as f:
            data = f.read()
        cpu, node = HEAD.unpack_from(data)[9:]
        location = of.get((node, cpu), cpu)
        if location < 256:
            out += file_sections(data, location, size // len(names))
    return out


how, size = int(sys.argv[1], 0), int(sys.argv[2])
sections = [one for path in sys.argv[3:] for one in recording(path, how, size)]
if len(sections) > 96:
    sys.exit(f"pack.py: {len(sections)} sections; 96 is all that there can be")
sys.stdout.buffer.write(b"".join(sections))
