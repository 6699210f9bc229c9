# SPDX-License-Identifier: MIT
"""pagefigures.py PAGE STAT: compares the tables of spans and system calls of a page of `trace-ctl
report` with the output of `stat --spans --calls --json`, exactly, and finds each span that a click
shows among the bars of the timeline. Prints the number of rows and of these spans."""
import html.parser
import json
import sys

from page_bytes import Bytes

LENGTHS = {2: "total_ns", 3: "mean_ns", 4: "p50_ns", 5: "p90_ns", 6: "p99_ns", 7: "p99_9_ns"}
COUNTS = {1: "count", 10: "never_ended", 11: "no_begin", 12: "unknown", 13: "ambiguous"}


class Tables(html.parser.HTMLParser):
    """rows: {"slices": [[[text, length in ns, spans], ...], ...], "calls": ...}; data: of scripts"""
    def __init__(self):
        super().__init__()
        self.rows, self.data, self.table, self.script = {}, {}, None, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "table" and attrs.get("class") == "lengths":
            self.table = self.rows[attrs["id"]] = []
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th") and self.table is not None:
            self.table[-1].append(["", attrs.get("data-ns"), []])
        elif tag == "button" and self.table is not None:
            self.table[-1][-1][2].append(tuple(map(int, attrs["data-span"].split(","))))
        elif tag == "script" and "id" in attrs:
            self.script = attrs["id"]

    def handle_endtag(self, tag):
        if tag == "table":
            self.table = None
        elif tag == "script":
            self.script = None

    def handle_data(self, data):
        if self.script:
            self.data[self.script] = self.data.get(self.script, "") + data
        elif self.table:
            self.table[-1][-1][0] += data


def bars(d, text):
    """The slices and calls that are drawn individually: (row, from, length)"""
    r, t, found = Bytes(text), 0, set()
    for _ in range(d["spans"]):
        kind, row, _ = r.varint(), r.varint(), r.varint()
        t += r.zigzag()
        length = r.varint()
        r.zigzag()
        if not kind & 4:
            r.edge(d["cut"])
        if not kind & 8 and kind & 3 != 2:
            r.edge(d["cut"])
        if kind & 3 != 2:
            found.add((row, t - length, length))
    return found


def main():
    page = Tables()
    page.feed(open(sys.argv[1], encoding="utf-8").read())
    d = json.loads(page.data["data"])
    drawn, stat = bars(d, page.data.get("spans", "")), json.load(open(sys.argv[2]))
    nr = shown = 0
    for ours, theirs in (("slices", "spans"), ("calls", "calls")):
        rows = page.rows.get(ours, [[]])[1:]
        wanted = stat[theirs] or []
        assert len(rows) == min(len(wanted), 200), (ours, len(rows), len(wanted))
        for cells, group in zip(rows, wanted):
            assert cells[0][0] == group["name"], (cells[0], group["name"])
            for column, key in LENGTHS.items():
                ns = cells[column][1]
                assert (None if ns is None else int(ns)) == group[key], (group["name"], key, ns)
            for column, key in COUNTS.items():
                number = int("".join(filter(str.isdigit, cells[column][0])))
                assert number == group[key], (group["name"], key, number)
            spans = cells[8][2] + cells[9][2]
            slowest = [(s["tid"], int(s["begin_ns"]) - int(d["origin"]), s["length_ns"])
                       for s in group["slowest"]]
            assert len(spans) == len(slowest), group["name"]
            for (row, *place), (tid, *known) in zip(spans, slowest):
                alone = d["threads"][row][1]        # -1: threads that share a row
                assert place == known and alone in (tid, -1), (place, alone, known, tid)
                assert alone == -1 or (row, *place) in drawn, (group["name"], place)
            nr, shown = nr + 1, shown + len(spans)
    print(nr, shown)


main()
