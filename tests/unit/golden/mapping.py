#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden global ticks, for check_mapping.c, computed in exact fractions from cubic
pieces and an axis. The printed pieces are rounded to doubles, as those of a fit are; the
ticks are computed from the exact pieces.
"""
from fractions import Fraction as F
from math import floor
from random import Random

DAY = 86400


def line(at, base, rate):
    return [(at, base, (F(1, 4), F(rate), F(0), F(0)))]


def spline(seed, begin, base, hz, remote_hz, seconds, sessions, ppm):
    """Exact constrained cubic spline through sessions; the oscillator's rate wanders by ppm."""
    r, knots, y = Random(seed), [], F(base)
    for k in range(sessions):
        knots.append((begin + int(F(k * seconds, sessions - 1) * hz), y))
        y += F(seconds, sessions - 1) * remote_hz * (1 + F(r.randint(-1000, 1000), 1000) * F(ppm) / 10 ** 6)
    rise = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(knots, knots[1:])]
    slope = [0] + [2 / (1 / a + 1 / b) for a, b in zip(rise, rise[1:])] + [0]
    slope[0], slope[-1] = F(3, 2) * rise[0] - slope[1] / 2, F(3, 2) * rise[-1] - slope[-2] / 2
    whole = [floor(knot[1]) for knot in knots]
    part = [knot[1] - floor(knot[1]) for knot in knots]
    out = [(knots[0][0], whole[0], (part[0], slope[0], F(0), F(0)))]
    for k in range(sessions - 1):
        h, m = knots[k + 1][0] - knots[k][0], rise[k]
        c2 = (3 * (m - slope[k]) - (slope[k + 1] - slope[k])) / h
        c3 = ((slope[k + 1] - slope[k]) - 2 * (m - slope[k])) / (h * h)
        out.append((knots[k][0], whole[k], (part[k], slope[k], c2, c3)))
    return out + [(knots[-1][0], whole[-1], (part[-1], slope[-1], F(0), F(0)))]


def worlds():
    """Yields name, pieces, axis (remote, global, num, den, hz), begin, end of each case."""
    wall, giga = 1795264075 * 10 ** 9, 10 ** 9
    yield "itself", [(10 ** 6, 10 ** 6, (F(0), F(1), F(0), F(0)))], (10 ** 6, 0, 1, 1, giga), 10 ** 6, 10 ** 6 + 10 ** 12
    yield "two to three", [(0, 50, (F(0), F(3, 2), F(0), F(0)))], (50, 7, 1, 1, giga), 0, 2 ** 50
    hz = 2594123000
    yield "26 days", line(2 ** 60, 2 ** 61, float(F(2600000000, hz))), (2 ** 61, wall, 10 ** 6, 2600000, giga), \
        2 ** 60 - 20 * DAY * hz, 2 ** 60 + 6 * DAY * hz
    # Axis with a ratio num / den of large numbers, whose only common factor is 3. num: 26
    # days less 3 ns, in global ticks; den: 26 days in cycles of the master's counter
    yield "odd axis", line(5 * 10 ** 14, 10 ** 14, 2399999999.5 / hz), \
        (10 ** 13, wall, 26 * DAY * giga - 3, 26 * DAY * 2400000123, giga), 3 * 10 ** 14, 3 * 10 ** 14 + 26 * DAY * hz
    yield "finer", line(10 ** 15, 10 ** 15, 1.0000173), (10 ** 15, 10 ** 13, 10 ** 10, hz, 10 ** 10), \
        10 ** 15 - 10 ** 12, 10 ** 15 + DAY * hz
    yield "ns to ns", line(wall, wall + 12345, 0.99998765), (wall, wall, 1, 1, giga), wall - 10 ** 9, wall + 26 * DAY * giga
    yield "wraps", line(2 ** 64 - 5 * 10 ** 11, 2 ** 64 - 10 ** 11, 0.98), \
        (2 ** 64 - 10 ** 12, wall, giga, 2600000000, giga), 2 ** 64 - 10 ** 12, 10 ** 12
    yield "bend", [(0, 0, (F(1, 2), F(0.4), F(1, 2 ** 60), -F(1, 2 ** 100)))], (0, 100, 1, 1, giga), 0, 2 ** 36
    for seed, (seconds, sessions, ppm) in enumerate([(60, 3, 1), (3600, 7, 5), (DAY, 100, 1), (26 * DAY, 255, 2),
                                                     (26 * DAY, 30, 0.1), (26 * DAY, 3, 10), (7 * DAY, 4, 1),
                                                     (10, 50, 300)]):
        begin, base, rhz = 10 ** 15 + seed, 2 ** 63 - 10 ** 15 - seed, (2400000000, hz, 3700000000)[seed % 3]
        yield f"spline {seed}", spline(seed, begin, base, hz, rhz, seconds, sessions, ppm), \
            (base, wall, 10 ** 9 + seed, rhz + 17, giga), begin - 10 * hz, begin + int(seconds * hz) + 10 * hz


def exact(pieces, axis, local):
    """Global tick of a local one. Differences are taken modulo 2^64, as counters may wrap."""
    def near(x):
        return (x + 2 ** 63) % 2 ** 64 - 2 ** 63
    k = max([i for i, p in enumerate(pieces) if near(local - p[0]) >= 0], default=0)
    start, base, c = pieces[k]
    d = near(local - start)
    value = sum(c[i] * d ** i for i in range(4))
    return axis[1] + (near(base - axis[0]) + value) * F(axis[2], axis[3])


print("/* SPDX-License-" "Identifier: MIT */")
print("struct golden_tick {\n\t__u64 local, global, frac;\n};\n")
index = []
rnd = Random(1)
for number, (name, pieces, axis, begin, end) in enumerate(worlds()):
    print(f"static const struct tsct_cubic golden_piece{number}[] = {{")
    for start, base, c in pieces:
        print(f"\t{{ {start % 2 ** 64}U, {base % 2 ** 64}U, {{ {', '.join(float(x).hex() for x in c)} }} }},")
    print("};\n")
    length = (end - begin) % 2 ** 64
    points = {begin, (begin + length) % 2 ** 64}
    for start, _, _ in pieces:
        points |= {(start + off) % 2 ** 64 for off in (-1, 0, 1, 2 ** 20)}
    points |= {(begin + length * k // 61) % 2 ** 64 for k in range(61)}
    points |= {(begin + rnd.randrange(length)) % 2 ** 64 for _ in range(100)}
    points = sorted((p for p in points if (p - begin) % 2 ** 64 <= length), key=lambda p: (p - begin) % 2 ** 64)
    print(f"static const struct golden_tick golden_tick{number}[] = {{")
    for p in points:
        v = exact(pieces, axis, p)
        whole = floor(v)
        print(f"\t{{ {p}U, {whole}U, {floor((v - whole) * 2 ** 64)}U }},")
    print("};\n")
    index.append((name, number, axis, begin, end, len(pieces), len(points)))
print("static const struct golden_world {\n\tconst char *name;\n\tconst struct tsct_cubic *piece;\n"
      "\tunsigned int nr;\n\tstruct tsct_axis axis;\n\t__u64 begin, end;\n\tconst struct golden_tick *tick;\n"
      "\tunsigned int nr_ticks;\n} golden_worlds[] = {")
for name, n, axis, begin, end, nr, nr_ticks in index:
    fr = ", ".join(f"{x % 2 ** 64}U" for x in axis)
    print(f"\t{{ \"{name}\", golden_piece{n}, {nr}, {{ {fr} }}, {begin % 2 ** 64}U, {end % 2 ** 64}U, "
          f"golden_tick{n}, {nr_ticks} }},")
print("};")
