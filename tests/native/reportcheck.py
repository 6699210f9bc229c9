# SPDX-License-Identifier: MIT
"""reportcheck.py PAGE [TRUTH [whole]]: checks a page of `trace-ctl report` without a browser.

The page must be well-formed, load no resource, and allow no script but its own, by
hash. Each event of TRUTH (the output of `dump --json`) must be in it, individually or in
a sum; individual events must have the time, to the ns, and the payload of TRUTH, and slices
its begins and ends ("whole": all of them, as nothing was lost).
Prints: events, shown, summed, bytes.
"""
import base64
import collections
import hashlib
import html.parser
import itertools
import json
import re
import sys

import exact
import exportcheck

from page_bytes import Bytes

VOID = {"meta", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.texts, self.policy = [], {}, {}, None
        self.scripts, self.styles, self.title = [], [], ""

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "href", "style", "srcset", "action", "data"), \
                (tag, name, value)
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "form",
                           "video", "audio", "image", "use", "foreignobject"), tag
        if attrs.get("http-equiv"):
            assert attrs["http-equiv"] == "Content-Security-Policy" and not self.policy
            self.policy = attrs["content"]
        if "id" in attrs:
            assert attrs["id"] not in self.ids, "twice: " + attrs["id"]
            self.ids[attrs["id"]] = tag
        if tag not in VOID:
            self.open.append((tag, attrs))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open and self.open[-1][0] == tag, \
            f"</{tag}> in {[t for t, _ in self.open]}, line {self.getpos()}"
        self.open.pop()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data):
        tag, attrs = self.open[-1] if self.open else ("", {})
        if tag == "script" and "id" in attrs:
            self.texts[attrs["id"]] = self.texts.get(attrs["id"], "") + data
        elif tag == "script":
            assert "type" not in attrs
            self.scripts.append(data)
        elif tag == "style":
            self.styles.append(data)
        elif tag == "title":
            self.title += data

    def handle_comment(self, data):
        raise AssertionError("a comment: " + data[:80])


def check_policy(page):
    def hash_of(text):
        digest = hashlib.sha256(text.encode()).digest()
        return "'sha256-" + base64.b64encode(digest).decode() + "'"

    policy = dict(p.split(" ", 1) for p in re.split(r";\s*", page.policy))
    assert len(page.scripts) == 1 and len(page.styles) == 1
    assert policy == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "style-src": hash_of(page.styles[0]), "script-src": hash_of(page.scripts[0]),
    }, policy


def check_text(text):
    assert text.startswith("<!DOCTYPE html>\n<html lang=\"en\">\n")
    assert "NaN" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)
    for c in set(text):
        code = ord(c)
        assert code in (9, 10) or code >= 32 and not 127 <= code < 160, hex(code)
        assert not (0x200b <= code <= 0x200f or 0x202a <= code <= 0x202e or
                    0x2060 <= code <= 0x206f or code == 0xfeff), hex(code)


# Events of the page: [(ns, CPU, thread, definition, payload's length, payload)]
def events_of(d, page):
    found, pairs, cut, origin = [], [], d["cut"], int(d["origin"])
    r, t = Bytes(page.texts.get("moments", "")), 0
    for _ in range(d["moments"]):
        t += r.varint()
        row, _ = r.varint(), r.varint()
        found.append((origin + t, d["threads"][row][1], *r.edge(cut)))
    assert r.at == len(r.data)
    r, t = Bytes(page.texts.get("spans", "")), 0
    for _ in range(d["spans"]):
        kind, row, _ = r.varint(), r.varint(), r.varint()
        t += r.zigzag()
        length = r.varint()
        assert 0 <= length <= t
        r.zigzag()
        tid = None if kind & 3 == 2 else d["threads"][row][1]
        if not kind & 4:
            found.append((origin + t - length, tid, *r.edge(cut)))
        if not kind & 8 and kind & 3 != 2:
            found.append((origin + t, tid, *r.edge(cut)))
        if kind == 0:
            pairs.append((origin + t - length, origin + t, tid, d["defs"][found[-1][3]]["name"]))
    assert r.at == len(r.data)
    return found, pairs


# Events of the page's sums, by bin
def sums_of(d, page):
    r, bins = Bytes(page.texts.get("strips", "")), collections.Counter()
    while r.at < len(r.data):
        kind, row, number, _ = (r.varint() for _ in range(4))
        place = -1
        while skip := r.varint():
            place += skip
            assert place < 512
            if kind == 2:
                low, high, last = r.float(), r.float(), r.float()
                assert low <= last <= high
            else:
                number, busy = r.varint(), r.varint()
                bins[place] += 0 if kind == 3 else number   # 3: states of threads, not events
                assert busy >= 0
        if kind in (0, 3):
            assert row < len(d["threads"])
    return bins


# The sums are at the times of the events: until the end of each bin there are as many as the rates
# tell, except for those that are shown individually.
def check_bins(d, bins):
    rates, most = d["rates"], 0
    until = [0, *itertools.accumulate(rates["total"])]
    for place in range(512):
        end = (place + 1) * d["binWidth"] / rates["width"]
        most += bins[place]
        least, limit = (until[min(int(i), len(until) - 1)] for i in (end, end + 1))
        assert least - d["shown"] <= most <= limit, (place, least, most, limit)


def check_truth(d, found, pairs, path):
    truth = [exact.loads(line) for line in open(path, errors="surrogateescape")]
    assert len(truth) == d["events"], (len(truth), d["events"])
    kinds = ("instant", "begin", "end", "counter", "send", "receive")
    left = collections.Counter((e["time_ns"], e["cpu"], e["event"], e["kind"])
                               for e in truth)
    tids = collections.Counter((e["time_ns"], e["tid"]) for e in truth)
    for ns, tid, cpu, number, _, _ in found:
        definition = d["defs"][number]
        key = ns, cpu, definition["name"], kinds[definition["kind"]]
        left[key] -= 1
        assert left[key] >= 0, key
        if tid is not None:
            tids[ns, tid] -= 1
            assert tids[ns, tid] >= 0, (ns, tid)
    assert sum(left.values()) == d["summed"]
    slices = exportcheck.Slices(truth)
    for e in truth:
        slices.acts(e)
    wrong = collections.Counter(pairs) - collections.Counter(slices.pairs)
    assert not wrong, wrong
    assert sys.argv[3:] != ["whole"] or len(pairs) == len(slices.pairs), (pairs, slices.pairs)


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open
    check_text(text)
    check_policy(page)
    d = json.loads(page.texts["data"])
    (found, pairs), bins = events_of(d, page), sums_of(d, page)
    total = sum(bins.values())
    assert len(found) == d["shown"], (len(found), d["shown"])
    assert total == d["summed"] and d["shown"] + d["summed"] == d["events"], \
        (total, d["shown"], d["summed"], d["events"])
    assert sum(d["rates"]["total"]) == d["events"]
    check_bins(d, bins)
    if len(sys.argv) > 2:
        check_truth(d, found, pairs, sys.argv[2])
    print(d["events"], d["shown"], d["summed"], len(text))


main()
