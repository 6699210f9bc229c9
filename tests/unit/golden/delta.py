#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden bytes of event headers, for check_delta.c. They are assembled from bits,
lowest first, in the layout that the CTF metadata describe:

   enum 3 bits, 0 to 3: id of 5 bits, 4 to 7: id of 21 bits; then 8, 16, 32, 64 bits
   of stamp; then, if the id is above 0x10000, 32 bits of thread.
"""
from random import Random


def bits(value, nr):
    return [(value >> i) & 1 for i in range(nr)]


def head(last, tid_last, ident, tick, tid):
    # Choose the smallest width of tick that is sufficient. A reader advances its clock
    # to the next value that has the given low bits.
    for form, width in enumerate((8, 16, 32, 64)):
        if width == 64:
            break
        low = tick % 2 ** width
        guess = last - last % 2 ** width + low
        if guess < last:
            guess += 2 ** width
        if guess == tick:
            break
    other = tid != tid_last
    wide = ident >= 32 or other
    out = bits(form + 4 * wide, 3) + bits(ident + 0x10000 * other, 21 if wide else 5)
    out += bits(tick % 2 ** width, width) + (bits(tid, 32) if other else [])
    return [sum(b << i for i, b in enumerate(out[at:at + 8])) for at in range(0, len(out), 8)]


def packets():
    edges = [0, 1, 254, 255, 256, 257, 65534, 65535, 65536, 65537, 2 ** 32 - 2, 2 ** 32 - 1, 2 ** 32,
             2 ** 32 + 1, 2 ** 40, 2 ** 62]
    for begin in (0, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, 2 ** 63 - 1, 0xfffffff0, 12345678901234567):
        # Distances between events around 2^8, 2^16 and 2^32, the limits of ticks of 8,
        # 16 and 32 bits; with and without a carry out of these bits
        for edge in edges:
            yield begin, [(0, begin + edge, 7), (31, begin + 2 * edge, 7), (32, begin + 2 * edge + 1, 7)]
    yield 2 ** 64 - 10, [(1, 2 ** 64 - 10, 1), (2, 2 ** 64 - 1, 1), (3, 2 ** 64 - 1, 2)]
    yield 5, [(i, 5, t) for i in (0, 31, 32, 33, 255, 256, 65534, 65535) for t in (0, 0, 2 ** 32 - 1, 2 ** 32 - 1)]
    for seed in range(20):
        r, tick, tid, events = Random(seed), Random(seed).randrange(2 ** 60), 1, []
        begin = tick
        for _ in range(60):
            tick += r.randrange(2 ** r.randrange(1, 41))
            tid = tid if r.randrange(4) else r.randrange(2 ** 32)
            events.append((r.randrange(2 ** r.randrange(1, 17)), tick, tid))
        yield begin, events


print("/* SPDX-License-" "Identifier: MIT */")
print("struct golden_event {\n\tuint64_t tick;\n\tuint32_t id, tid;\n\tunsigned int size;\n"
      "\tunsigned char byte[16];\n};\n")
index = []
for number, (begin, events) in enumerate(packets()):
    print(f"static const struct golden_event golden_packet{number}[] = {{")
    last, tid_last = begin, None
    for ident, tick, tid in events:
        if tick >= 2 ** 64:
            break
        out = head(last, tid_last, ident, tick, tid)
        print(f"\t{{ {tick}U, {ident}, {tid}U, {len(out)}, {{ {', '.join(map(str, out))} }} }},")
        last, tid_last = tick, tid
    print("};\n")
    index.append((begin, number))
print("static const struct golden_packet {\n\tuint64_t begin;\n\tconst struct golden_event *event;\n"
      "\tsize_t nr;\n} golden_packets[] = {")
for begin, n in index:
    print(f"\t{{ {begin}U, golden_packet{n}, sizeof(golden_packet{n}) / sizeof(golden_packet{n}[0]) }},")
print("};")
