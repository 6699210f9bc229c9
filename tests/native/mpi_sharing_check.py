#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi_sharing_check.py RECORDING STAT TRACE - messages of threads that share a tag.

STAT (of stat --json) counts each message whose two ends state different lengths, by the
events in RECORDING, and no arrow in TRACE (of export -f json) has such ends. All messages
are there: 800 of each of 4 ranks.
"""
import json
import os
import subprocess
import sys

ctl = os.path.join(os.environ["O"], "tools/trace-ctl")
ends = {"send": {}, "receive": {}}
dump = subprocess.run([ctl, "dump", "--json", sys.argv[1]], stdout=subprocess.PIPE, check=True)
for line in dump.stdout.splitlines():
    e = json.loads(line)
    if e["event"] == "mpi_message":
        ends[e["kind"]][e["fields"]["number"]] = e["fields"]["bytes"]
sends, receives = ends["send"], ends["receive"]
if len(sends) != 3200 or sends.keys() != receives.keys():
    sys.exit(f"{len(sends)} sends, {len(receives)} receives")
mismatched = sum(sends[number] != receives[number] for number in sends)
with open(sys.argv[2]) as f:
    counted = json.load(f)["mpi_mismatched"]
if counted != mismatched:
    sys.exit(f"{mismatched} messages have two lengths, {counted} are counted")

arrows = {}
with open(sys.argv[3]) as f:
    for e in json.load(f)["traceEvents"]:
        if e["ph"] == "X":
            last = e
        elif e["ph"] in "sf":
            arrows.setdefault(e["id"], []).append(last["args"]["bytes"])
drawn = [both for both in arrows.values() if len(both) == 2]
if any(a != b for a, b in drawn) or len(drawn) != len(sends) - mismatched:
    sys.exit(f"{len(drawn)} arrows, {sum(a != b for a, b in drawn)} of them wrong")
print(f"{mismatched} of {len(sends)} messages have two lengths")
