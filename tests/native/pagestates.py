# SPDX-License-Identifier: MIT
"""pagestates.py PAGE STAT [STATES]: compares the states of threads on a page of `trace-ctl report`
with the output of `stat --threads --json`, to the nanosecond, and with rows of the table `states`
of `trace-ctl query --json`, if they are given. Times that the page sums up are compared to the
accuracy of its sums. Prints the number of times, and of sums."""
import collections
import html.parser
import json
import re
import sys

from page_bytes import Bytes

NAMES = ["unknown", "running", "runnable", "blocked", "off_cpu"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    element = lambda name: re.search(f'id="{name}">(.*?)</script>', page, re.S)[1]
    d = json.loads(element("data"))
    threads = [(node, tid) for node, tid, *_ in d["threads"]]
    sums, times = collections.defaultdict(collections.Counter), []
    r, t = Bytes(element("states")), 0
    for _ in range(d["states"]):
        row, state = r.varint(), r.varint()
        t += r.varint()
        length, other, call = r.varint(), r.varint() - 1, r.varint() - 1
        assert 0 < length <= t <= d["span"] and 0 <= row < len(threads)
        assert call < 0 or state in (3, 4), (NAMES[state], call)
        assert other < 0 or state in (2, 3), (NAMES[state], other)
        times.append((*threads[row], NAMES[state], t - length, t, other))
        sums[threads[row]][NAMES[state]] += length
    assert r.at == len(r.data)
    last = {}
    for node, tid, _, since, to, _ in times:        # a thread has one state at a time
        assert since >= last.get((node, tid), 0), (node, tid, since, to)
        last[node, tid] = to
    r, strips, slack = Bytes(element("strips")), 0, collections.Counter()
    while r.at < len(r.data):
        kind, row, state, _ = (r.varint() for _ in range(4))
        while r.varint():
            if kind == 2:
                r.at += 12
                continue
            _, share = r.varint(), r.varint()
            if kind == 3:
                sums[threads[row]][NAMES[state]] += share * d["binWidth"] / 1000
                slack[threads[row]] += d["binWidth"] / 1900
        strips += kind == 3
    with open(sys.argv[2], encoding="utf-8") as file:
        stat = json.load(file)["thread_states"]
    for thread in stat:
        key = thread["node"], thread["tid"]
        if [t["tid"] for t in stat].count(thread["tid"]) > 1 or key not in threads:
            continue
        for name in NAMES:
            assert abs(sums[key][name] - thread[name + "_ns"]) <= slack[key], \
                (key, name, sums[key][name], thread[name + "_ns"], slack[key])
        sums.pop(key, None)
    known = {(t["node"], t["tid"]) for t in stat}
    assert all(key in known for key in sums), set(sums) - known
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as file:
            rows = {(n["node"], n["tid"], n["state"].lower().replace(" ", "_"), int(n["from_ns"]),
                     int(n["until_ns"]), {"blocked": n["waker_tid"],
                                          "runnable": n["next_tid"]}.get(n["state"]))
                    for n in map(json.loads, file)}
        origin = int(d["origin"])
        wrong = {(d["nodes"][node]["name"], tid, state, origin + since, origin + to,
                  None if other < 0 else other)
                 for node, tid, state, since, to, other in times} - rows
        assert not wrong, (len(wrong), list(wrong)[:3])
    print(len(times), strips)


main()
