#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi_sessions_check.py MERGED RECORDING=SHIFT... - checks merged times against the truth.

Each recording has one channel, and is of a node whose counter is that of the first
recording's node plus SHIFT seconds; so are their ticks, in ns. Each event's time, by the
line that the first recording's events are on, is within the stated bounds.
"""
import os
import subprocess
import sys

import exact

ctl = os.path.join(os.environ["O"], "tools/trace-ctl")


def events(path):
    """The events of each channel and thread, in their order."""
    dump = subprocess.run([ctl, "dump", "--json", "--error", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    by = {}
    for event in map(exact.loads, dump.splitlines()):
        by.setdefault((event["channel"], event["tid"]), []).append(event)
    return by


def main():
    merged = events(sys.argv[1])
    line, worst, worst_error, nr = None, 0, 0, 0
    for argument in sys.argv[2:]:
        path, shift = argument.split("=")
        for key, own in events(path).items():
            after = merged[key]
            if [e["event"] for e in own] != [e["event"] for e in after]:
                sys.exit(f"{path}: other events after the merge")
            ticks = [e["stamp"] - int(shift) * 10**9 for e in own]
            if line is None:
                line = (ticks[0], after[0]["time_ns"], ticks[-1] - ticks[0],
                        after[-1]["time_ns"] - after[0]["time_ns"])
            for tick, event in zip(ticks, after):
                true_ns = line[1] + (tick - line[0]) * line[3] // line[2]
                off = abs(event["time_ns"] - true_ns)
                # The first recording's times are rounded to ns, too.
                if off > event["error_ns"] + 3:
                    sys.exit(f"{path}: {event['event']} is off by {off} ns, with a bound of "
                             f"{event['error_ns']} ns")
                worst, worst_error = max(worst, off), max(worst_error, event["error_ns"])
                nr += 1
    if worst_error > 10**9:
        sys.exit(f"a bound of {worst_error} ns says nothing")
    print(f"{nr} events, off by at most {worst} ns, within bounds up to {worst_error} ns")


main()
