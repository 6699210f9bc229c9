#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden conversions of times between two OTF2 archives, for check_otf2.c, in fractions"""
import random
from fractions import Fraction
from math import floor

NEVER = 2**64 - 1
RESOLUTIONS = (1, 7, 1000, 1000003, 10**9, 2893312741, 3 * 10**9, 10**12, 2**63 + 29,
               NEVER)
r = random.Random(20261121)


def ticks():
    """Returns random ticks of any magnitude, or ticks close to the limits of formats."""
    n = r.getrandbits(r.randrange(1, 65))
    return min(NEVER - 1, max(0, r.choice((n, 2**53 + r.randrange(-3, 4),
                                           NEVER - r.randrange(1, 9)))))


def nearest(x):
    return floor(x + Fraction(1, 2))


def offset_at(points, time):
    if len(points) < 2:
        return 0
    n = 0
    while n + 2 < len(points) and time > points[n + 1][0]:
        n += 1
    (t0, o0), (t1, o1) = points[n:n + 2]
    return o0 + nearest(Fraction((o1 - o0) * (time - t0), t1 - t0))


def clock():
    return r.choice(RESOLUTIONS), ticks(), r.getrandbits(r.choice((10, 61, 63)))


def vector():
    a, b, real = clock(), clock(), r.random() < .5
    if r.random() < .7:     # begins of both archives are at most some days apart
        b = (b[0], b[1], max(0, a[2] + r.randrange(-10**14, 10**14)))
    old = ticks() if r.random() < .3 else min(
        NEVER - 1, max(0, b[1] + r.randrange(-10**6, 10**r.randrange(1, 15))))
    times = sorted({min(NEVER, max(0, old + r.randrange(-10**9, 10**9)))
                    for _ in range(r.randrange(4))})
    points = [(t, r.randrange(-2**63, 2**63) if r.random() < .05 else
               r.randrange(-10**6, 10**6)) for t in times]
    new = Fraction((old + offset_at(points, old) - b[1]) * a[0], b[0]) + a[1]
    if real:
        new += Fraction((b[2] - a[2]) * a[0], 10**9)
    new = nearest(new)
    return a, b, real, old, points, new if 0 <= new < NEVER else None


def main():
    print("static const struct golden_otf2 golden[] = {")
    for _ in range(600):
        a, b, real, old, points, new = vector()
        offsets = ", ".join(f"{{ {t}ULL, {o + 1} - 1 }}" if o == -2**63 else
                            f"{{ {t}ULL, {o}LL }}" for t, o in points)
        print("\t{ " + ", ".join(f"{{ {c[0]}ULL, {c[1]}ULL, 0, {c[2]}ULL }}" for c in (a, b)) +
              f",\n\t  {str(real).lower()}, {old}ULL, {len(points)}, {{ {offsets or '{ 0, 0 }'} }},"
              f" {'-ERANGE, 0' if new is None else f'0, {new}ULL'} }},")
    print("};")


main()
