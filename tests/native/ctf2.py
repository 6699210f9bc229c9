# SPDX-License-Identifier: MIT
"""Reads a CTF 2 trace by its own metadata; only what is aligned to bytes, and little endian."""
import json
import os
import struct

FLOATS = {32: "<f", 64: "<d"}


class Stream:
    def __init__(self, path, classes):
        with open(path, "rb") as f:
            self.data = f.read()
        self.at = 0
        self.aliases = classes

    def take(self, n):
        assert n >= 0 and self.at + n <= len(self.data), "the file ends within a field"
        self.at += n
        return self.data[self.at - n:self.at]

    def value(self, fc, roles):
        """Decodes a field of class `fc`; stores the values of fields with a role in `roles`."""
        if isinstance(fc, str):
            fc = self.aliases[fc]
        kind = fc["type"]
        if kind == "structure":
            return {m["name"]: self.value(m["field-class"], roles)
                    for m in fc["member-classes"]}
        if kind == "null-terminated-string":
            raw = self.take(self.data.index(b"\0", self.at) + 1 - self.at)
            return raw[:-1].decode("utf-8", "surrogateescape")
        if kind.startswith("static-length"):
            raw = self.take(fc["length"])
            if kind == "static-length-string":
                return raw.split(b"\0")[0].decode("utf-8", "surrogateescape")
            got = raw.hex()
        elif kind == "fixed-length-floating-point-number":
            got = struct.unpack(FLOATS[fc["length"]], self.take(fc["length"] // 8))[0]
        else:
            assert kind.startswith("fixed-length-") and kind.endswith("signed-integer"), kind
            got = int.from_bytes(self.take(fc["length"] // 8), fc["byte-order"].split("-")[0],
                                 signed=kind == "fixed-length-signed-integer")
        for role in fc.get("roles", []):
            roles[role] = got
        for label, ranges in fc.get("mappings", {}).items():
            if any(first <= got <= last for first, last in ranges):
                return label
        return got


def fragments(path):
    with open(os.path.join(path, "metadata"), encoding="utf-8") as f:
        first, *texts = f.read().split("\x1e")
    assert first == "", "the metadata does not begin with a record separator"
    return [json.loads(text) for text in texts]


def read(path):
    """Returns events, (ns since 1970, packet context, common context, name, payload), and the
    number of lost events."""
    parts = fragments(path)
    assert parts[0]["type"] == "preamble" and parts[0]["version"] == 2
    aliases = {p["name"]: p["field-class"] for p in parts if p["type"] == "field-class-alias"}
    (trace,) = [p for p in parts if p["type"] == "trace-class"]
    (clock,) = [p for p in parts if p["type"] == "clock-class"]
    assert clock["origin"] == "unix-epoch" and clock["frequency"] == 10 ** 9
    origin = clock["offset-from-origin"]
    zero = origin["seconds"] * 10 ** 9 + origin["cycles"]
    classes = {p["id"]: p for p in parts if p["type"] == "data-stream-class"}
    events = {(p["data-stream-class-id"], p["id"]): p for p in parts
              if p["type"] == "event-record-class"}
    found, lost = [], 0
    for name in sorted(set(os.listdir(path)) - {"metadata"}):
        s = Stream(os.path.join(path, name), aliases)
        roles = {}
        while s.at < len(s.data):
            start = s.at
            s.value(trace["packet-header-field-class"], roles)
            assert roles["packet-magic-number"] == 0xc1fc1fc1
            assert roles["metadata-stream-uuid"] == bytes(parts[0]["uuid"]).hex()
            stream = classes[roles["data-stream-class-id"]]
            context = s.value(stream["packet-context-field-class"], roles)
            first, last = roles["default-clock-timestamp"], \
                roles["packet-end-default-clock-timestamp"]
            while s.at < start + roles["packet-content-length"] // 8:
                s.value(stream["event-record-header-field-class"], roles)
                common = s.value(stream["event-record-common-context-field-class"], roles)
                event = events[stream["id"], roles["event-record-class-id"]]
                ns = roles["default-clock-timestamp"]
                assert first <= ns <= last, "an event outside the times of its packet"
                found.append((zero + ns, context, common, event["name"],
                              s.value(event["payload-field-class"], roles)))
            assert s.at == start + roles["packet-total-length"] // 8
        lost += roles["discarded-event-record-counter-snapshot"]
    return found, lost
