#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what events of the Python module cost, in CPU time, as "name value unit" lines.

The loop around them is subtracted. Medians of 9 runs.
"""
import statistics
import time

import tsctrace

N = 50000


def loop(n):
    for i in range(n):
        pass


def event(n):
    for i in range(n):
        tsctrace.event("tick", n=i)


def event3(n):
    for i in range(n):
        tsctrace.event("tick3", n=i, load=1.5, what="text")


def counter(n):
    for i in range(n):
        tsctrace.counter("level", i)


def span(n):
    for i in range(n):
        with tsctrace.span("turn", n=i):
            pass


def disabled(n):
    for i in range(n):
        tsctrace.event("off", n=i)


tsctrace.enable("*,-off")
ns = {f: [] for f in (loop, event, event3, counter, span, disabled)}
for _ in range(9):
    for function, seen in ns.items():
        begin = time.process_time_ns()
        function(N)
        seen.append((time.process_time_ns() - begin) / N)
empty = statistics.median(ns.pop(loop))
for function, seen in ns.items():
    print(f"python_{function.__name__} {statistics.median(seen) - empty:.1f} ns")
