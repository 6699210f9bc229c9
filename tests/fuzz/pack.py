#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pack.py HOW SIZE DIR... - print recordings as one input of fuzz_recording

HOW: 0, or merge flags of recording_box.h, which describes the format. The input has
the environment of each recording, and packets of its files, unchanged. Each recording
gets about SIZE bytes of packets. At least two packets of each file are taken; they are
truncated if they do not fit.
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
    sys.exit(f"pack.py: {len(sections)} sections, the limit is 96; give a smaller SIZE")
sys.stdout.buffer.write(b"".join(sections))
