#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Writes CTF 1.8 traces by the specification, for the tests of merge.

ctf_make.py stamps DIR BOOT [OFFSET_NS [ERROR_NS]]  an event for each line of standard input,
                                            "TRUE_NS REALTIME_NS MONOTONIC_NS"; values of the
                                            clock are off by up to ERROR_NS, its precision
ctf_make.py types DIR BOOT le|be            all kinds of types
ctf_make.py clocks DIR BOOT                 two streams of two clocks
ctf_make.py lost DIR BOOT                   lost events and packets
ctf_make.py kernel DIR BOOT compact|large   as lttng-modules writes the kernel's events
ctf_make.py ctf2 DIR BOOT                   CTF 2: types that CTF 1.8 lacks
ctf_make.py classes DIR BOOT NUMBER         so many event classes, with names that need care
"""
import json
import os
import random
import struct
import sys

UUID = bytes(range(16))
SECOND = 1000000000
MONOTONIC = 123456789012            # MONOTONIC at the begin of the world of ctf_world.c
BEGIN = 1795264075 * SECOND


class Bits:
    """Bits in the order of the trace: from the lowest of a byte on, or from the highest."""

    def __init__(self, big):
        self.big = big
        self.bits = []

    def align(self, n):
        while len(self.bits) % n:
            self.bits.append(0)

    def put(self, value, size, align=None):
        self.align(align or (8 if size % 8 == 0 else 1))
        value &= (1 << size) - 1
        bits = [value >> i & 1 for i in range(size)]
        self.bits += reversed(bits) if self.big else bits

    def text(self, text):
        for c in text.encode() + b"\0":
            self.put(c, 8)

    def real(self, value, size):
        form = {32: "I", 64: "Q"}[size], {32: "f", 64: "d"}[size]
        self.put(struct.unpack("<" + form[0], struct.pack("<" + form[1], value))[0], size)

    def bytes(self):
        self.align(8)
        out = bytearray()
        for i in range(0, len(self.bits), 8):
            byte = self.bits[i:i + 8]
            out.append(int("".join(map(str, byte if self.big else byte[::-1])), 2))
        return bytes(out)


def quoted(text):
    return '"' + "".join("\\" + c if c in '\\"' else c if " " <= c <= "~" else "\\%03o" % ord(c)
                         for c in text) + '"'


def head(big, boot, clocks, host="node-b"):
    uuid = "-".join((boot[:8], boot[8:12], boot[12:16], boot[16:20], boot[20:]))
    own = UUID.hex()
    own = "-".join((own[:8], own[8:12], own[12:16], own[16:20], own[20:]))
    text = f"""/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := u8;
typealias integer {{ size = 16; align = 8; signed = false; }} := u16;
typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
typealias integer {{ size = 64; align = 8; signed = false; }} := u64;
typealias integer {{ size = 32; align = 8; signed = true; }} := s32;
trace {{ major = 1; minor = 8; uuid = "{own}"; byte_order = {'be' if big else 'le'};
  packet.header := struct {{ u32 magic; u8 uuid[16]; u32 stream_id; }}; }};
env {{ hostname = {quoted(host)}; domain = "ust"; tracer_name = "by hand"; }};
"""
    for name, freq, offset in clocks:
        text += f"""clock {{ name = "{name}"; uuid = "{uuid}"; freq = {freq};
  offset_s = {offset // SECOND}; offset = {offset % SECOND * freq // SECOND};
  absolute = {'TRUE' if offset else 'FALSE'}; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.{name}.value; }} := {name}_t;
"""
    return text


def stream(number, clock, context=""):
    return f"""stream {{ id = {number};
  packet.context := struct {{ {clock}_t timestamp_begin; {clock}_t timestamp_end;
    u64 content_size; u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 cpu_id; }};
  event.header := struct {{ u32 id; {clock}_t timestamp; }};
  {context} }};
"""


def packet(big, number, times, body, seq=0, lost=0, cpu=0, cut=None):
    """A packet with events, whose bits body(bits) appends"""
    for size in (0, None):
        bits = Bits(big)
        bits.put(0xc1fc1fc1, 32)
        for byte in UUID:
            bits.put(byte, 8)
        bits.put(number, 32)
        bits.put(times[0], 64)
        bits.put(times[1], 64)
        if size is None:
            size = length
        bits.put(size, 64)
        bits.put((size + 7) // 8 * 8, 64)
        bits.put(seq, 64)
        bits.put(lost, 64)
        bits.put(cpu, 32)
        body(bits)
        length = len(bits.bits)
    return bits.bytes()


def write(path, metadata, files):
    os.makedirs(path)
    with open(path + "/metadata", "w") as f:
        f.write(metadata)
    for name, data in files.items():
        with open(f"{path}/{name}", "wb") as f:
            f.write(data)


def stamps(path, boot, offset="0", error="0"):
    """Two CPUs, whose packets have 1000 events each"""
    lines, error, dice = [tuple(map(int, line.split())) for line in sys.stdin], int(error), random.Random(5)
    lines = [(true, real, mono + dice.randint(-error, error)) for true, real, mono in lines]
    metadata = head(False, boot, [("monotonic", SECOND, int(offset))], "node-b").replace(
        "absolute", f"precision = {error}; absolute") + \
        stream(0, "monotonic") + \
        "event { id = 0; stream_id = 0; name = \"stamp\";" \
        " fields := struct { u64 true_ns; u64 real_ns; }; };\n"
    files = {}
    for cpu in 0, 1:
        mine = lines[cpu::2]
        data = b""
        for at in range(0, len(mine), 1000):
            part = mine[at:at + 1000]
            begin = struct.pack("<I16sIQQQQQQI", 0xc1fc1fc1, UUID, 0, part[0][2], part[-1][2],
                                8 * (76 + 28 * len(part)), 8 * (76 + 28 * len(part)), at // 1000, 0, cpu)
            data += begin + b"".join(struct.pack("<IQQQ", 0, mono, true, real)
                                     for true, real, mono in part)
        files[f"chan_{cpu}"] = data
    write(path, metadata, files)


TYPES = """event { id = 7; stream_id = 0; name = "all:types";
  context := struct { s32 vtid; };
  fields := struct {
    integer { size = 3; align = 1; signed = false; } three;
    integer { size = 5; align = 1; signed = true; } five;
    integer { size = 13; align = 1; signed = false; base = 16; } thirteen;
    integer { size = 17; align = 1; signed = true; } seventeen;
    u16 small; s32 signed_one; integer { size = 64; align = 8; signed = true; } long_one;
    struct { u8 x; struct { u16 y; string z; } inner; } outer;
    u32 fixed[3]; u8 len; u16 dynamic[len];
    integer { size = 8; align = 8; signed = false; encoding = UTF8; } chars[6];
    string name;
    enum e : u8 { LOW = 0 ... 9, HIGH = 10 ... 200, TEN = 10 } grade;
    enum s : integer { size = 8; align = 8; signed = true; } { MINUS = -5, PLUS = 5 } sign;
    floating_point { exp_dig = 8; mant_dig = 24; align = 8; } single;
    floating_point { exp_dig = 11; mant_dig = 53; align = 8; } real;
    enum : u8 { number = 0, words = 1, pair = 2 } tag;
    variant <tag> { u32 number; string words; struct { u8 a; u8 b; } pair; } choice;
    struct { u8 v; } rows[2];
  }; };
event { id = 8; stream_id = 0; name = "many fields"; fields := struct { %s }; };
event { id = 9; stream_id = 0; name = "none"; };
""" % " ".join(f"u8 f{i};" for i in range(40))


def types(path, boot, order):
    big = order == "be"
    dice = random.Random(3)
    metadata = head(big, boot, [("monotonic", SECOND, 0)]) + \
        stream(0, "monotonic", "event.context := struct { s32 vpid; string procname; };") + TYPES

    def event(bits, number, at):
        bits.align(8)
        bits.put(number, 32)
        bits.put(at, 64)
        bits.put(dice.randrange(1 << 31), 32)
        bits.text(dice.choice(["a", "two words", "esc\033[31m", "\u00fc"]))

    def all_types(bits, at):
        event(bits, 7, at)
        bits.put(dice.randrange(1, 1 << 22), 32)
        bits.align(8)
        for size in 3, 5, 13, 17:
            bits.put(dice.randrange(1 << size), size, 1)
        bits.put(dice.randrange(1 << 16), 16)
        bits.put(dice.randrange(1 << 32), 32)
        bits.put(dice.randrange(1 << 64), 64)
        bits.put(dice.randrange(256), 8)
        bits.put(dice.randrange(1 << 16), 16)
        bits.text("z" * dice.randrange(4))
        for _ in range(3):
            bits.put(dice.randrange(1 << 32), 32)
        length = dice.randrange(5)
        bits.put(length, 8)
        for _ in range(length):
            bits.put(dice.randrange(1 << 16), 16)
        for c in dice.choice([b"abcdef", b"abc\0ef"]):
            bits.put(c, 8)
        bits.text(dice.choice(["", "plain", 'quote " and \\', "tab\tnl\n"]))
        bits.put(dice.choice([0, 9, 10, 11, 250]), 8)
        bits.put(dice.choice([-5, 5, 77]), 8)
        bits.real(dice.choice([0.5, -1.25, 3e30]), 32)
        bits.real(dice.choice([0.1, -2.5e-300, 1e300]), 64)
        tag = dice.randrange(3)
        bits.put(tag, 8)
        if tag == 0:
            bits.put(dice.randrange(1 << 32), 32)
        elif tag == 1:
            bits.text("w" * dice.randrange(3))
        else:
            bits.put(1, 8)
            bits.put(2, 8)
        for _ in range(2):
            bits.put(dice.randrange(256), 8)

    def body(begin):
        def put(bits):
            dice.seed(begin)
            for i in range(50):
                at = begin + 1000 * i
                if i % 5 == 3:
                    event(bits, 8, at)
                    for k in range(40):
                        bits.put(k + i, 8)
                elif i % 5 == 4:
                    event(bits, 9, at)
                else:
                    all_types(bits, at)
        return put
    begin = MONOTONIC + SECOND
    data = [packet(big, 0, (begin + 100000 * p, begin + 100000 * p + 60000), body(begin + 100000 * p),
                   p, 0, 3) for p in range(4)]
    write(path, metadata, {"chan_3": b"".join(data)})


def clocks(path, boot):
    """The second clock has another frequency, and began at the epoch: it is CLOCK_REALTIME. Its
    stream has no CPU, as DPDK states that."""
    metadata = head(False, boot, [("monotonic", SECOND, BEGIN - MONOTONIC),
                                  ("realtime", 10000000, BEGIN)]) + \
        stream(0, "monotonic") + stream(1, "realtime")
    for i in 0, 1:
        metadata += f"event {{ id = 0; stream_id = {i}; name = \"one\"; fields := struct {{ u64 k; }}; }};\n"
    files = {}
    for i, first, step in (0, MONOTONIC + 2 * SECOND, 1000), (1, 20000000 + 70000 + 5, 10):
        def body(bits, first=first, step=step, i=i):
            for k in range(100):
                bits.put(0, 32)
                bits.put(first + k * step, 64)
                bits.put(2 * k + i, 64)
        files[f"clock{i}_0"] = packet(False, i, (first, first + 99 * step), body, cpu=i * 0xffffffff)
    write(path, metadata, files)


def lost(path, boot):
    metadata = head(False, boot, [("monotonic", SECOND, 0)]) + stream(0, "monotonic") + \
        "event { id = 0; stream_id = 0; name = \"one\"; fields := struct { u64 k; }; };\n"
    data = b""
    begin = MONOTONIC + SECOND
    for seq, discarded in (0, 0), (1, 5), (2, 5), (4, 105):
        def body(bits, seq=seq):
            for k in range(10):
                bits.put(0, 32)
                bits.put(begin + 1000 * seq + k, 64)
                bits.put(10 * seq + k, 64)
        data += packet(False, 0, (begin + 1000 * seq, begin + 1000 * seq + 100), body, seq, discarded)
    write(path, metadata, {"chan_0": data})


KERNEL = """typealias integer { size = 5; align = 1; signed = false; } := u5;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64;
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := low27_t;
struct compact_header {
  enum : u5 { compact = 0 ... 30, extended = 31 } id;
  variant <id> { struct { low27_t timestamp; } compact;
    struct { u32 id; monotonic_t timestamp; } extended; } v; } align(8);
struct large_header {
  enum : u16 { compact = 0 ... 65534, extended = 65535 } id;
  variant <id> { struct { integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; }
    timestamp; } compact; struct { u32 id; monotonic_t timestamp; } extended; } v; } align(8);
stream { id = 0; event.header := struct %s_header;
  packet.context := struct { monotonic_t timestamp_begin; monotonic_t timestamp_end;
    u64 content_size; u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };
  event.context := struct { s32 _tid; integer { size = 8; align = 8; signed = false; encoding = UTF8; }
    _procname[16]; }; };
event { name = "sched_switch"; id = 0; stream_id = 0; loglevel = 13; fields := struct {
  integer { size = 8; align = 8; signed = false; encoding = UTF8; } _prev_comm[16]; s32 _prev_tid;
  enum : integer { size = 64; align = 8; signed = true; } { "TASK_RUNNING" = 0,
    "TASK_INTERRUPTIBLE" = 1, "TASK_DEAD" = 64 ... 127 } _prev_state; s32 _next_tid; }; };
event { name = "syscall_entry_openat"; id = 31; stream_id = 0; fields := struct {
  s32 _dfd; string _filename; struct { enum : u8 { "O_RDONLY" = 0, "O_CREAT" = 1 } _access;
  u32 __flags_length; u32 _flags[ __flags_length ]; } _how; hex64 _mode; }; };
event { name = "irq_softirq_raise"; id = 40; stream_id = 0; fields := struct { u32 _vec; }; };
"""


def kernel(path, boot, header):
    """The low bits of a clock, ids of two sizes, arrays of characters, losses, two CPUs"""
    shift = {"compact": 27, "large": 32}[header]
    dice = random.Random(4)
    metadata = head(False, boot, [("monotonic", SECOND, 0)]).replace('"ust"', '"kernel"') \
        .replace('"by hand"', '"lttng-modules"') + KERNEL % header

    def chars(bits, text):
        for c in text.encode().ljust(16, b"\0"):
            bits.put(c, 8)

    def event(bits, number, at, last):
        bits.align(8)
        small, wide = {"compact": (5, 31), "large": (16, 65535)}[header]
        extended = number >= wide or at >> shift != last >> shift or dice.randrange(9) == 0
        bits.put(wide if extended else number, small, 1)
        if extended:
            bits.put(number, 32, 8)
            bits.put(at, 64, 8)
        else:
            bits.put(at, shift, 1 if shift == 27 else 8)
        bits.put(dice.randrange(-1, 1 << 20), 32)
        chars(bits, dice.choice(["bash", "kworker/0:1", "sixteen-of-them!"]))
        if number == 0:
            chars(bits, dice.choice(["swapper/1", "x"]))
            bits.put(dice.randrange(1 << 20), 32)
            bits.put(dice.choice([0, 1, 100, 2000]), 64)
            bits.put(dice.randrange(1 << 20), 32)
        elif number == 31:
            bits.put(-100, 32)
            bits.text("/etc/" + "a" * dice.randrange(40))
            bits.put(dice.randrange(3), 8)
            flags = dice.randrange(4)
            bits.put(flags, 32)
            for _ in range(flags):
                bits.put(dice.randrange(1 << 32), 32)
            bits.put(dice.randrange(1 << 64), 64)
        else:
            bits.put(dice.randrange(10), 32)

    files = {}
    for cpu in 0, 1:
        at, data, lost = MONOTONIC + SECOND, b"", 0
        for seq in range(5):
            times = [at]
            while len(times) < 60:
                times.append(times[-1] + dice.choice([700, 90000, 40000000]))

            def body(bits, times=times, seed=(cpu, seq)):
                dice.seed(repr(seed))
                for k, now in enumerate(times):
                    event(bits, dice.choice([0, 31, 40]), now, times[max(k - 1, 0)])
            lost += seq % 3 * 7
            data += packet(False, 0, (times[0], times[-1]), body, seq, lost, cpu)
            at = times[-1] + 5000
        files[f"chan_{cpu}"] = data
    write(path, metadata, files)


def leb128(value, signed=False):
    out = bytearray()
    while True:
        out.append(value & 127 | 128)
        value >>= 7
        if value == -(signed and out[-1] >> 6 & 1) and (signed or not value):
            break
    out[-1] &= 127
    return bytes(out)


def ctf2(path, boot):
    """Variable-length integers, bytes, bits, truth values, optional fields, ranges of a selector"""
    dice = random.Random(6)

    def fixed(bits, kind="unsigned-integer", *roles):
        return {"type": "fixed-length-" + kind, "length": bits, "byte-order": "little-endian",
                "alignment": 8, **({"roles": list(roles)} if roles else {})}

    def struct_of(**members):
        return {"type": "structure", "member-classes": [
            {"name": name, "field-class": kind} for name, kind in members.items()]}

    def place(name):
        return {"origin": "event-record-payload", "path": [name]}
    payload = struct_of(
        u={"type": "variable-length-unsigned-integer"}, s={"type": "variable-length-signed-integer"},
        state={"type": "variable-length-unsigned-integer", "mappings": {"LOW": [[0, 9]], "ALL": [[0, 1000]]}},
        mac={"type": "static-length-blob", "length": 6}, len=fixed(8),
        blob={"type": "dynamic-length-blob", "length-field-location": place("len")},
        bits=fixed(16, "bit-map") | {"flags": {"A": [[0, 0]], "B": [[1, 3]]}}, yes=fixed(8, "boolean"),
        sel=fixed(8), some={"type": "optional", "selector-field-location": place("sel"),
                            "selector-field-ranges": [[1, 4], [9, 9]], "field-class": fixed(32)},
        choice={"type": "variant", "selector-field-location": place("sel"), "options": [
            {"name": "few", "selector-field-ranges": [[0, 4]], "field-class": fixed(16)},
            {"name": "text", "selector-field-ranges": [[5, 20]],
             "field-class": {"type": "null-terminated-string"}}]})
    stamp = fixed(64, "unsigned-integer", "default-clock-timestamp")
    parts = [
        {"type": "preamble", "version": 2},
        {"type": "trace-class", "environment": {"hostname": "node-b", "domain": "ust"},
         "packet-header-field-class": struct_of(magic=fixed(32, "unsigned-integer", "packet-magic-number"))},
        {"type": "clock-class", "id": "c", "name": "monotonic", "frequency": SECOND,
         "uid": "-".join((boot[:8], boot[8:12], boot[12:16], boot[16:20], boot[20:])),
         "origin": "unix-epoch", "offset-from-origin": {"seconds": 0}, "precision": 40},
        {"type": "data-stream-class", "default-clock-class-id": "c",
         "packet-context-field-class": struct_of(
             size=fixed(64, "unsigned-integer", "packet-total-length"),
             content=fixed(64, "unsigned-integer", "packet-content-length"),
             begin=stamp, cpu_id=fixed(32)),
         "event-record-header-field-class": struct_of(at=stamp)},
        {"type": "event-record-class", "name": "new:types", "payload-field-class": payload}]
    begin, body = MONOTONIC + SECOND, b""
    for i in range(200):
        blob, sel = dice.randbytes(dice.randrange(5)), dice.randrange(12)
        body += struct.pack("<Q", begin + 1000 * i) + leb128(dice.getrandbits(dice.randrange(1, 65))) + \
            leb128(dice.getrandbits(63) * dice.choice([1, -1]) >> dice.randrange(63), True) + \
            leb128(dice.choice([0, 9, 10, 500])) + dice.randbytes(6) + bytes([len(blob)]) + blob + \
            struct.pack("<HBB", dice.getrandbits(16), dice.randrange(2), sel)
        if 1 <= sel <= 4 or sel == 9:
            body += struct.pack("<I", dice.getrandbits(32))
        body += struct.pack("<H", dice.getrandbits(16)) if sel <= 4 else b"w" * dice.randrange(3) + b"\0"
    size = 8 * (32 + len(body))
    write(path, "".join("\036" + json.dumps(part) for part in parts),
          {"chan_5": struct.pack("<IQQQI", 0xc1fc1fc1, size, size, begin, 5) + body})


def classes(path, boot, number):
    number = int(number)
    metadata = head(False, boot, [("monotonic", SECOND, 0)], "no\033[31mde\n") + stream(0, "monotonic")
    name = ["a\033[31m\n{}", "9 {}", "{}" + "x" * 100, "{}", "ns:{}", "ns_{}"]
    metadata += "".join(
        f"event {{ id = {i}; stream_id = 0; name = {quoted(name[i % 6].format(i // 6))};"
        f" fields := struct {{ u32 k; }}; }};\n" for i in range(number))
    begin = MONOTONIC + SECOND
    data = struct.pack("<I16sIQQQQQQI", 0xc1fc1fc1, UUID, 0, begin, begin + number,
                       8 * (76 + 16 * number), 8 * (76 + 16 * number), 0, 0, 0)
    data += b"".join(struct.pack("<IQI", i, begin + i, i) for i in range(number))
    write(path, metadata, {"chan_0": data})


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
