#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden numbers of the reference fits, for check_fit.c, computed in exact fractions
from the formulas, independently of lib/sync.
"""
from fractions import Fraction as F
from random import Random


def world(seed, sessions, per, gap, base_local, base_remote, rate, slower=1):
    """Returns exchanges (t1, t2, t3, t4, session) of integers, with different round trips;
    delays of each session are @slower times as long as those of the session before."""
    rnd, out, local = Random(seed), [], base_local
    for s in range(sessions):
        for _ in range(per):
            d1, hold, d2 = rnd.randrange(50, 5000), rnd.randrange(1, 90), rnd.randrange(50, 5000)
            d1, d2 = d1 * slower ** s, d2 * slower ** s
            true = base_remote + F(local - base_local) * rate + 1000 * s * s
            t2 = int(true + d1 * rate)
            t3 = t2 + hold
            t4 = local + d1 + int(hold / rate) + d2
            out.append((local, t2, t3, t4, s + 1))
            local = t4 + rnd.randrange(10, 100000)
        local += gap
    return out


def kept(xs):
    """Drops the tenth (rounded down) with the highest t4 - t1; of equal ones, later ones."""
    order = sorted(range(len(xs)), key=lambda i: (xs[i][3] - xs[i][0], i), reverse=True)
    gone = set(order[:len(xs) // 10])
    return [x for i, x in enumerate(xs) if i not in gone]


def middles(xs):
    return [(F(x[0] + x[3], 2), F(x[1] + x[2], 2)) for x in xs]


def background(xs, session):
    """Marks the exchanges of a session as exchanges outside sessions."""
    return [x[:4] + (0,) if x[4] == session else x for x in xs]


def regression(pts):
    n = len(pts)
    mx, my = sum(p[0] for p in pts) / n, sum(p[1] for p in pts) / n
    slope = sum((p[0] - mx) * (p[1] - my) for p in pts) / sum((p[0] - mx) ** 2 for p in pts)
    return lambda t: my + slope * (t - mx)


def linear(xs):
    return regression(middles(kept(xs)))


def itc(xs):
    """Regression over two sessions, spline through more; a tenth of each is dropped."""
    sessions = sorted({x[4] for x in xs} - {0})
    if not sessions:
        return linear(xs)
    if len(sessions) > 2:
        return spline([x for x in xs if x[4]])
    return regression([p for s in sessions for p in middles(kept([x for x in xs if x[4] == s]))])


def spline(xs):
    """Constrained cubic spline: slopes are harmonic means; no curvature at the ends."""
    knots = []
    for s in sorted({x[4] for x in xs}):
        pts = middles(kept([x for x in xs if x[4] == s]))
        knots.append((sum(p[0] for p in pts) / len(pts), sum(p[1] for p in pts) / len(pts)))
    n = len(knots)
    rise = [(knots[k + 1][1] - knots[k][1]) / (knots[k + 1][0] - knots[k][0]) for k in range(n - 1)]
    slope = [None] + [2 / (1 / rise[k - 1] + 1 / rise[k]) for k in range(1, n - 1)] + [None]
    slope[0] = F(3, 2) * rise[0] - slope[1] / 2
    slope[-1] = F(3, 2) * rise[-1] - slope[-2] / 2

    def at(t):
        if t <= knots[0][0]:
            return knots[0][1] + slope[0] * (t - knots[0][0])
        if t >= knots[-1][0]:
            return knots[-1][1] + slope[-1] * (t - knots[-1][0])
        k = max(i for i in range(n - 1) if knots[i][0] <= t)
        h, d = knots[k + 1][0] - knots[k][0], t - knots[k][0]
        u = d / h
        # Compute the cubic in Hermite's basis, because fit.c uses another form
        return (knots[k][1] * (2 * u ** 3 - 3 * u ** 2 + 1) + slope[k] * h * (u ** 3 - 2 * u ** 2 + u) +
                knots[k + 1][1] * (3 * u ** 2 - 2 * u ** 3) + slope[k + 1] * h * (u ** 3 - u ** 2))
    return at


CASES = [
    ("LINEAR", linear, world(1, 1, 9, 0, 1000, 5000, F(1))),
    ("LINEAR", linear, world(2, 1, 25, 0, 2 ** 63 - 300000, 2 ** 64 - 90000, F(3, 2))),
    ("LINEAR", linear, world(3, 2, 10, 10 ** 12, 2 ** 60, 7, F(1000, 2594))),
    ("SPLINE", spline, world(4, 3, 4, 10 ** 7, 10 ** 6, 10 ** 9, F(1))),
    ("SPLINE", spline, world(5, 5, 20, 10 ** 9, 2 ** 63 - 10 ** 9, 2 ** 64 - 10 ** 9, F(2594, 2400))),
    ("SPLINE", spline, world(6, 4, 11, 10 ** 10, 2 ** 60, 99, F(1000, 3700))),
    ("ITC", itc, world(7, 2, 50, 10 ** 10, 2 ** 63 - 10 ** 7, 2 ** 64 - 10 ** 7, F(2594, 2400), 10)),
    ("ITC", itc, background(world(8, 3, 20, 10 ** 9, 10 ** 6, 10 ** 9, F(1)), 2)),
    ("ITC", itc, background(world(9, 5, 20, 10 ** 9, 2 ** 60, 7, F(1000, 2594)), 4)),
    ("ITC", itc, background(world(10, 1, 25, 0, 1000, 5000, F(3, 2)), 1)),
]

print("/* SPDX-License-" "Identifier: MIT */")
print("#ifndef TESTS_GOLDEN_FIT_H\n#define TESTS_GOLDEN_FIT_H\n\n#include \"lib/fit/fit.h\"\n")
print("struct golden_at {\n\t__u64 local, remote;\n\tdouble frac;\n};\n")
for number, (kind, make, xs) in enumerate(CASES):
    print(f"static const struct tsct_exchange golden_x{number}[] = {{")
    for x in xs:
        t1, t2, t3, t4 = (v % 2 ** 64 for v in x[:4])
        print(f"\t{{ .t1 = {t1}U, .t2 = {t2}U, .t3 = {t3}U,\n\t  .t4 = {t4}U, .session = {x[4]} }},")
    print("};\n")
    f, first, last = make(xs), xs[0][0], xs[-1][3]
    print(f"static const struct golden_at golden_at{number}[] = {{")
    for k in range(-2, 11):
        t = first + (last - first) * k // 8
        v = f(t)
        whole = v.numerator // v.denominator
        print(f"\t{{ {t % 2 ** 64}U, {whole % 2 ** 64}U, {float(v - whole):.9f} }},")
    print("};\n")
print("static const struct golden {\n\tenum tsct_fit_kind kind;\n\tconst struct tsct_exchange *x;\n"
      "\tunsigned int nr, nr_at;\n\tconst struct golden_at *at;\n} golden[] = {")
for number, (kind, _, xs) in enumerate(CASES):
    print(f"\t{{ TSCT_FIT_{kind}, golden_x{number}, {len(xs)}, 13, golden_at{number} }},")
print("};\n\n#endif /* TESTS_GOLDEN_FIT_H */")
