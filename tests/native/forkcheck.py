#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""forkcheck.py FILE [names]: compares lines of `trace-ctl dump --json` on standard input
with what forks.c read in /proc: tid, and, with `names`, process and name of each event.
Without `names`, they may be unknown, but not wrong."""
import json
import os
import sys

wanted = {}
for line in open(sys.argv[1]):
    number, tid, tgid, name = line.rstrip("\n").split(" ", 3)
    wanted[int(number)] = (int(tid), int(tgid), name)
names = len(sys.argv) > 2
threads = len({tid for tid, _, _ in wanted.values()})
print(f"{len(wanted)} threads had {threads} numbers")
if threads == len(wanted) and os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
    sys.exit("no number was used again")
seen = wrong = unnamed = 0
for line in sys.stdin:
    e = json.loads(line)
    if e["event"] != "child":
        continue
    tid, tgid, name = wanted.pop(e["fields"]["number"])
    seen += 1
    unnamed += "thread" not in e
    bad = e["tid"] != tid or (("thread" in e or names) and
                              (e.get("pid"), e.get("thread")) != (tgid, name))
    if bad and wrong < 5:
        print(f"wrong: {e}: it is {tid} of {tgid}, {name}")
    wrong += bad
print(f"{seen} events, {wrong} wrong, {unnamed} without a name, {len(wanted)} missing")
sys.exit(wrong or wanted or not seen)
