# SPDX-License-Identifier: MIT
"""Reads the stream of trace-ctl cluster live from standard input until it ends, checks each
event, and prints what there was, as JSON.

live_read.py [EVENTS [FILE]]    stops after that number of events; writes their times, by
                                node, to FILE
"""
import json
import sys
import time

LATE, UNSURE = 1, 2
most = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 62
nodes, names, threads = [], [], {}
events, delays, line = [], [], {}
counts = status = None
end, waited = False, 0

for text in sys.stdin:
    arrived = time.time_ns()
    if text == "\n":
        continue
    assert text.startswith("data: ") and not end, text
    line = json.loads(text[6:])
    assert not (nodes and "nodes" in line)
    nodes += line.get("nodes", [])
    names += line.get("names", [])
    threads.update({(n, tid): name for n, tid, name in line.get("threads", [])})
    waited = line.get("waited", waited)
    counts, status = line.get("counts", counts), line.get("status", status)
    base = int(line["base_ns"])
    for event in line["events"]:
        events.append(event)
        delays.append(arrived - base - event[2])
    end = line["end"]
    if len(events) >= most:
        break

# The order, and whether it is known: by what came before.
top, reach = None, {}
for i, (nr, node, t, error, cpu, tid, kind, name, flags) in enumerate(events):
    assert nr == i and node < len(nodes) and 0 < name < len(names) and kind < 6, events[i]
    late = top is not None and t < top
    assert late == bool(flags & LATE), (events[i], top)
    top = t if top is None else max(top, t)
    bound = float("inf") if error is None else error
    unsure = any(r >= t - bound for n, r in reach.items() if n != node)
    assert unsure == bool(flags & UNSURE), (events[i], reach)
    reach[node] = max(reach.get(node, -float("inf")), t + bound)

if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as file:
        json.dump({name: [(base + e[2], e[3]) for e in events if nodes[e[1]] == name]
                   for name in nodes}, file)
behind = {name: max((d for e, d in zip(events, delays) if nodes[e[1]] == name), default=0)
          for name in nodes}
delays.sort()
by = {name: [e for e in events if nodes[e[1]] == name] for name in nodes}
json.dump({
    "nodes": nodes, "end": end, "skipped": line.get("skipped"),
    "counts": dict(zip(nodes, counts)), "status": dict(zip(nodes, status or [])),
    "events": {name: len(of) for name, of in by.items()},
    "names": {name: {names[e[7]]: sum(names[k[7]] == names[e[7]] for k in of) for e in of[:2]}
              for name, of in by.items()},
    "threads": sorted(set(threads.values())),
    "largest_bound_ns": max((e[3] for e in events if e[3] is not None), default=None),
    "unknown": sum(e[3] is None for e in events),
    "unsure": sum(bool(e[8] & UNSURE) for e in events),
    "waited": waited, "behind_ns": behind,
    "delay_ns": delays[len(delays) // 2] if delays else None,
    "delay_max_ns": delays[-1] if delays else None,
    "span_ns": {name: of[-1][2] - of[0][2] if of else 0 for name, of in by.items()},
}, sys.stdout)
print()
