#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Compares times with the truth: reads the lines of `trace-ctl dump --json --error`.

ctf_truth.py FIELD...       of events with one of these fields, its value is the true time, ns
"""
import json
import sys

events, outside, worst, disorder = [], 0, 0, 0
for line in sys.stdin:
    event = json.loads(line)
    true = next((int(event["fields"][f]) for f in sys.argv[1:] if f in event["fields"]), None)
    if true is None:
        continue
    error = int(event["error_ns"])
    time = int(event["time_ns"])
    outside += abs(time - true) > error
    worst = max(worst, error)
    events.append((time - error, time + error, true))
# Of disjoint intervals, the earlier one has the earlier event.
latest = None
for low, high, true in sorted(events, key=lambda e: e[0]):
    if latest is None:
        waiting, latest = [], 0
    waiting.append((high, true))
    if len(waiting) > 1000:
        waiting.sort()
    waiting, done = [w for w in waiting if w[0] >= low], [w for w in waiting if w[0] < low]
    for w in done:
        latest = max(latest, w[1])
    disorder += true < latest
print(f"{len(events)} events, {outside} outside, {disorder} out of order, bound {worst} ns")
sys.exit(not events or outside > 0 or disorder > 0)
