#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden numbers of unique stamps, in exact integers and fractions, for
check_stamp.c. Computed from this definition, independently of the sources:

   A stamp is an integer, with 2^13 stamps per tick. A stamp is greater than the
   previous one, and not below the first stamp of its tick. 2^51 ticks are a segment.
"""
from fractions import Fraction as F
from math import ceil, floor
from random import Random

rnd = Random(51)
TOP = 2 ** 64 - 1


def runs():
    """Yields name, origin, and a list of ticks with the number of events on each."""
    yield "plain", 1000, [(1000, 1), (1001, 1), (1001, 2), (5000, 1), (5000 + 2 ** 40, 3)]
    yield "first", 7, [(9, 1), (9, 1), (10, 1)]
    yield "overflow", 2 ** 63, [(2 ** 63 + 5, 8191), (2 ** 63 + 5, 1), (2 ** 63 + 5, 1),
                                (2 ** 63 + 6, 3), (2 ** 63 + 7, 1)]
    yield "overflow of some ticks", 0, [(t, 8192 + 3000 * (t % 3)) for t in range(10, 15)] + [(17, 1)]
    yield "far ahead", 0, [(3, 50000), (4, 1), (8, 1), (9, 1), (10, 1)]
    yield "end of a segment", 0, [(2 ** 51 - 2, 2), (2 ** 51 - 1, 8192), (2 ** 51 - 1, 2),
                                  (2 ** 51, 1), (2 ** 51 + 1, 1)]
    yield "segments", 2 ** 64 - 100, [((t - 100) % 2 ** 64, 2) for t in
                                      (50, 2 ** 51, 2 ** 52 - 1, 2 ** 52, 2 ** 55 + 3, 2 ** 63 - 1)]
    for seed in range(20):
        r, tick, steps = Random(seed), 0, []
        origin = r.randrange(2 ** 64)
        for _ in range(40):
            tick += r.choice((0, 0, 1, 1, 2, 100, 2 ** 30, 2 ** 50))
            steps.append(((origin + tick) % 2 ** 64, r.choice((1, 1, 2, 5, 8191, 8192, 8193))))
        yield f"seed {seed}", origin, steps


print("/* SPDX-License-" "Identifier: MIT */")
print("struct golden_step {\n\tuint64_t tick, count;\n\tint first_ret;\n"
      "\tuint64_t last, segment;\n};\n")
names = []
for number, (name, origin, steps) in enumerate(runs()):
    p, moved, most, on = -1, 0, 0, {}
    print(f"static const struct golden_step golden_run{number}[] = {{")
    for source, count in steps:
        tick, first_ret = (source - origin) % 2 ** 64, None
        for _ in range(count):
            segment = max(p, 0) >> 64
            p = max(tick << 13, p + 1)
            moved += p >> 13 != tick
            on[tick] = on.get(tick, 0) + 1
            if first_ret is None:
                first_ret = int(p >> 64 != segment)
        print(f"\t{{ {source}U, {count}, {first_ret}, {p & TOP}U, {p >> 64} }},")
    print("};\n")
    names.append((name, number, origin, len(steps), moved, max(on.values()) - 1))
print("static const struct golden_run {\n\tconst char *name;\n\tuint64_t origin;\n"
      "\tconst struct golden_step *step;\n\tunsigned int nr;\n\tuint64_t moved, max_events;\n"
      "} golden_runs[] = {")
for name, number, origin, nr, moved, most in names:
    print(f"\t{{ \"{name}\", {origin}U, golden_run{number}, {nr}, {moved}, {most} }},")
print("};\n")

RATES = [(1, 1), (10 ** 9, 2594123000), (10 ** 9, 2400000000), (10 ** 6, 1), (1, 3), (7, 2 ** 56),
         (27734375 * 10 ** 9, 2 ** 56), (2 ** 64 - 1, 2 ** 64 - 1), (2 ** 64 - 1, 1), (1, 2 ** 64 - 1)]


def stamps():
    for tick in (0, 1, 2, 2 ** 50, 2 ** 51 - 1, 12345678901):
        for event in (0, 1, 4096, 8191):
            for segment in (0, 1, 4095, 4096):
                yield segment, tick << 13 | event
    for _ in range(60):
        yield rnd.choice((0, 0, 0, rnd.randrange(4096))), rnd.randrange(2 ** 64) >> rnd.randrange(64)


print("static const struct golden_ns {\n\tuint64_t ns, ticks, segment, stamp, exact, legacy;\n} golden_ns[] = {")
for ns, ticks in RATES:
    for segment, stamp in stamps():
        rate, tick = F(ns, ticks), (segment << 51) + (stamp >> 13)
        exact = min(floor(tick * rate), TOP)
        legacy = min(floor((F(segment << 51) + F(stamp, 2 ** 13)) * rate), TOP)
        if segment > 4095:
            exact = legacy = TOP
        print(f"\t{{ {ns}U, {ticks}U, {segment}, {stamp}U, {exact}U, {legacy}U }},")
print("};\n")

print("static const struct golden_at {\n\tuint64_t ns, rate_ns, ticks;\n\tint ret;\n"
      "\tuint64_t segment, stamp;\n} golden_at[] = {")
for ns, ticks in RATES:
    for at in [0, 1, 2, 999, 2 ** 51 - 1, 2 ** 51, 2 ** 62, TOP] + [rnd.randrange(2 ** 64) >> rnd.randrange(64)
                                                                  for _ in range(20)]:
        tick = ceil(at / F(ns, ticks))
        good = tick < 2 ** 63
        print(f"\t{{ {at}U, {ns}U, {ticks}U, {'0' if good else '-ERANGE'}, {tick >> 51 if good else 0}, "
              f"{(tick << 13) & TOP if good else 0}U }},")
print("};")
