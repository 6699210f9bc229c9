#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings of two nodes with global times that are calculated exactly.

world_exact.py make CASE		prints the input of world_exact.c
world_exact.py check CASE < TICKS	checks the output of `worldcheck ticks`

CASE: linear; spline; spline-many, a spline through 1000 sessions; itc, which is a
regression over two sessions; itc-spline, which is a spline through four.

The master's counter runs at exactly 2 GHz, the other node's at about 3 GHz. All
fractions are exact. A global tick is 1 ns; an event's global tick is its time, rounded
down. Different ticks of the other node must get different global ticks, although they
are shorter: the later one is raised.
"""
import sys
from bisect import bisect_right
from fractions import Fraction as F
from math import floor
from random import Random

BEGIN_NS = 1795264075 * 10 ** 9		# when the master's recording begins
# counters of both nodes when the master's recording begins
A, B = 7 * 10 ** 12, 10 ** 15
G = 10 ** 9


def ask(session, middle, remote, there, took):
    """An exchange, symmetric about its middle; there the remote counter is an integer"""
    return (session, middle - took // 2, remote - there, remote + there, middle + took // 2)


def linear_asks(r):
    """20 exchanges near a line of slope 667/1000; the longest two are outliers"""
    out = []
    for i in range(20):
        middle = B + 3 * G + i * 2 * G + 1000 * r.randrange(10 ** 5)
        remote = A + 2 * G + (middle - B - 3 * G) * 667 // 1000
        if i in (4, 13):
            out.append(ask(1, middle, remote + 31000, 20000, 240000))
        else:
            out.append(ask(1, middle, remote + r.randint(-2000, 2000), 10000, 60000))
    return out


def session_asks(r, ppms, gap):
    """Sessions, @gap ticks apart, at different rates; one of ten exchanges is an outlier"""
    out, base, remote = [], B + 3 * G, A + 2 * G
    for session, ppm in enumerate(ppms, 1):
        rate = F(667, 1000) * (1 + F(ppm, 10 ** 6))
        for i in range(10):
            middle = base + i * 10 ** 7
            at = remote + (middle - base) * 667 // 1000
            # Sessions differ in their round trips, so it matters that a tenth of each
            # is dropped
            took = 60000 + 240000 * (session == 2) + 1000 * r.randint(0, 5)
            out.append(ask(session, middle, at + 30000, 20000, took + 240000) if i == 6 else
                       ask(session, middle, at + r.randint(-1500, 1500), 10000, took))
        base += gap
        remote += int(gap * rate)
    return out


def spline_asks(r):
    return session_asks(r, [0, 1, -1, 0], 300 * G)


def two_asks(r):
    return session_asks(r, [0, 1], 300 * G)


def many_asks(r):
    # Rates that change by a few ppb per second, as those of a crystal: merge refuses
    # samples that no counter can have.
    return session_asks(r, [F(r.randint(-5, 5), 1000) for _ in range(1000)], 3 * G)


def middles(asks):
    """Middles, without the tenth with the longest round trips (the later if equal)"""
    worst = sorted(range(len(asks)), key=lambda i: (asks[i][4] - asks[i][1], i), reverse=True)[:len(asks) // 10]
    return [(F(x[1] + x[4], 2), F(x[2] + x[3], 2)) for i, x in enumerate(asks) if i not in worst]


def mean(values):
    return sum(values, F(0)) / len(values)


def by_session(asks):
    return [middles([x for x in asks if x[0] == s]) for s in sorted({x[0] for x in asks})]


def regression(points):
    mx, my = mean([p[0] for p in points]), mean([p[1] for p in points])
    slope = sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)
    return lambda t: my + slope * (t - mx)


def linear(asks):
    return regression(middles(asks))


def sessions(asks):
    return regression(sum(by_session(asks), []))


def spline(asks):
    knots = [(mean([p[0] for p in points]), mean([p[1] for p in points])) for points in by_session(asks)]
    n = len(knots) - 1
    times = [knot[0] for knot in knots]
    rise = [(knots[k + 1][1] - knots[k][1]) / (knots[k + 1][0] - knots[k][0]) for k in range(n)]
    slope = [F(0)] + [2 / (1 / rise[k - 1] + 1 / rise[k]) for k in range(1, n)] + [F(0)]
    slope[0] = F(3, 2) * rise[0] - slope[1] / 2
    slope[n] = F(3, 2) * rise[n - 1] - slope[n - 1] / 2

    def at(t):
        if t <= knots[0][0]:
            return knots[0][1] + slope[0] * (t - knots[0][0])
        if t >= knots[n][0]:
            return knots[n][1] + slope[n] * (t - knots[n][0])
        k = bisect_right(times, t) - 1
        h, d, m = knots[k + 1][0] - knots[k][0], t - knots[k][0], rise[k]
        c2 = (3 * (m - slope[k]) - (slope[k + 1] - slope[k])) / h
        c3 = ((slope[k + 1] - slope[k]) - 2 * (m - slope[k])) / (h * h)
        return knots[k][1] + slope[k] * d + c2 * d ** 2 + c3 * d ** 3
    return at


# by case: seed, exchanges, function, and permitted error in ns, which merge.rst and
# stamps.rst document as 0.1 where there are cubics: rounding of doubles, and straight
# pieces instead of cubics
CASES = {
    "linear": (20, linear_asks, linear, F(1, 1000)),
    "spline": (30, spline_asks, spline, F(1, 10)),
    "spline-many": (40, many_asks, spline, F(1, 10)),
    "itc": (50, two_asks, sessions, F(1, 1000)),
    "itc-spline": (60, spline_asks, spline, F(1, 10)),
}


def world(case):
    """Exchanges, events (node, cpu, tick), begin and end of both recordings"""
    r = Random(CASES[case][0])
    asks = CASES[case][1](r)
    last = asks[-1][4] - B + 3 * G
    ends = ((A, A + last * 667 // 1000 // 2 * 2), (B, B + last))
    at = lambda: r.randrange(G // 1000, last - G // 1000)
    events = [(0, cpu, A + at() * 667 // 1000) for cpu in (0, 1) for _ in range(200)]
    events += [(1, cpu, B + at()) for cpu in (0, 1) for _ in range(2000)]
    # Adjacent events: less than a nanosecond apart, some on the same tick
    for _ in range(100):
        t, cpu = B + at(), r.randrange(2)
        events += [(1, cpu, t + k) for k in (0, 0, 1, 2, 3, 3, 4, 7)]
    # Events of node 1 near the times at which it sent requests (t1), because one cubic
    # of a fit ends and the next begins within a session of exchanges
    events += [(1, 0, x[1] + k) for x in asks[::max(1, len(asks) // 100)] for k in (-1, 0, 1, 30000)]
    return asks, sorted(events, key=lambda e: (e[2], e[0], e[1])), ends


def make(case):
    asks, events, ends = world(case)
    for begin, end in ends:
        print("node", begin, end)
    for number, (node, cpu, tick) in enumerate(events):
        print("event", node, cpu, tick, number)
    for x in asks:
        print("ask", *x)


def check(case):
    asks, events, _ = world(case)
    to_master = CASES[case][2](asks)
    # An event nearer to a tick's edge than the permitted error may get the neighbouring
    # tick.
    near, found, last, bumps = CASES[case][3], {}, {}, 0
    for line in sys.stdin:
        node, cpu, number, tick = map(int, line.split())
        found[number] = (node, cpu, tick)
    assert len(found) == len(events), (len(found), len(events))
    beside = 0
    for number, (node, cpu, tick) in enumerate(events):
        exact = BEGIN_NS + ((to_master(tick) if node else F(tick)) - A) / 2
        want, before = floor(exact), last.get((node, cpu))
        if before:
            least = before[1] + (tick > before[0])
            bumps += least > want
            want = max(want, least)
        got = found[number]
        assert got[:2] == (node, cpu), (number, got)
        if node and min(exact - floor(exact), floor(exact) + 1 - exact) < near:
            beside += got[2] != want
            assert abs(got[2] - want) <= 1, (number, got[2], want, float(exact - floor(exact)))
        else:
            assert got[2] == want, (number, node, cpu, tick, got[2] - want, float(exact - floor(exact)))
        last[node, cpu] = tick, got[2]
    assert bumps > 50 and beside < len(events) // 50, (bumps, beside)
    print(f"{len(events)} events at the expected tick, {bumps} of them raised; {beside} on a neighbouring tick")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
