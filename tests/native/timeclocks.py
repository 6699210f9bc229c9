#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For t_time.sh: reads the kernel's clocks between two readings of CLOCK_REALTIME.

read                          prints "CLOCK NUMBER BEFORE AFTER" for each clock
check CTL SEEN [--some] ...   converts the numbers of SEEN with CTL; each REALTIME must lie within
                              the bound of it; with --some, numbers may be unknown; the
                              cluster's time must be CLOCK_REALTIME, where it is known, and with
                              --cluster, one is
one CLOCK SEEN                prints a number of a clock
"""
import json
import subprocess
import sys
import time

CLOCKS = {"monotonic": time.CLOCK_MONOTONIC, "boottime": time.CLOCK_BOOTTIME,
          "monotonic_raw": time.CLOCK_MONOTONIC_RAW, "realtime": time.CLOCK_REALTIME}


def read():
    for name, clock in CLOCKS.items():
        best = None
        for _ in range(20):
            before = time.clock_gettime_ns(time.CLOCK_REALTIME)
            number = time.clock_gettime_ns(clock)
            after = time.clock_gettime_ns(time.CLOCK_REALTIME)
            if not best or after - before < best[2] - best[1]:
                best = (number, before, after)
        print(name, *best)


def check(ctl, seen, options):
    some = "--some" in options
    cluster = "--cluster" in options
    options = [option for option in options if option not in ("--some", "--cluster")]
    with open(seen) as lines:
        rows = [line.split() for line in lines]
    widest = known = clustered = 0
    for name in CLOCKS:
        mine = [row for row in rows if row[0] == name]
        got = subprocess.run([ctl, "time", "--json", "--clock", name, *options,
                              *(row[1] for row in mine)], capture_output=True, text=True)
        if got.returncode and not some:
            sys.exit(f"{name}: status {got.returncode}: {got.stderr}")
        for row, line in zip(mine, got.stdout.splitlines()):
            times = json.loads(line)["times"]
            if some and not times:
                continue
            if len(times) != 1:
                sys.exit(f"{row}: {line}")
            middle, error = int(times[0]["realtime_ns"]), int(times[0]["realtime_error_ns"])
            if middle + error < int(row[2]) or middle - error > int(row[3]):
                sys.exit(f"{row}: {line}: {middle - int(row[2])} {middle - int(row[3])}")
            if error > 100000000:
                sys.exit(f"{row}: {line}: a bound of {error} ns")
            if times[0]["cluster_ns"]:
                middle, error = int(times[0]["cluster_ns"]), int(times[0]["cluster_error_ns"])
                if middle + error < int(row[2]) or middle - error > int(row[3]):
                    sys.exit(f"{row}: {line}: the cluster's time")
                clustered += 1
            widest = max(widest, error)
            known += 1
    if not known and not some:
        sys.exit("no number is known")
    if cluster and not clustered:
        sys.exit("no number has a cluster time")
    print(f"{known} numbers within their bounds, of {widest} ns at most")


def one(clock, seen):
    with open(seen) as lines:
        print(next(row[1] for row in map(str.split, lines) if row[0] == clock))


if sys.argv[1] == "read":
    read()
elif sys.argv[1] == "check":
    check(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    one(sys.argv[2], sys.argv[3])
