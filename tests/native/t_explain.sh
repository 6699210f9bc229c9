#!/bin/bash
# SPDX-License-Identifier: MIT
# explain: the first cause of spans whose causes are known (waits.py), sums, names, errors.
# test-wing: explain kernel python query
. "$(dirname "$0")/record.sh"
need_root "kernel events"

python=/usr/bin/python3
[ -x $python ] || python=python3
compgen -G "$out/python/tsctrace/_tsctrace*.so" >/dev/null || skip "python3-dev is not installed"
export PYTHONPATH=$out/python
cd "$work"
# The kernel of a guest may hide a switch, and so what a thread did until the next one.
all_switches() {
	rm -rf rec
	run 0 record -q -o rec -e sched -e syscalls -- $python "$here/waits.py"
	run 0 query --csv rec "SELECT count(*) FROM states WHERE state = 'unknown' AND duration_ns > 2e7"
	[ "$(tail -n 1 out)" = 0 ]
}
wait_for "all switches are recorded" all_switches

# NAME CAUSE...: explains the span NAME. CAUSE is the system call, or the state if there is none,
# in which it waited longest, but for a CPU; the next one is that of the thread that woke it, and
# so on. The parts of each time add up to it.
because() {
	run 0 explain --json --slowest "$1" rec
	$python -c '
import collections, json, sys
(span,) = json.load(sys.stdin)["spans"]
def check(whole, causes):
    lengths, inner = collections.Counter(), collections.defaultdict(list)
    for p in whole["parts"]:
        what = p["call"] or p["state"]
        inner[what] += p["parts"]
        if causes and (p["state"] != "runnable" or causes[0] == "runnable"):
            lengths[what] += p["ns"]
        check(p, [])
    assert not whole["parts"] or sum(p["ns"] for p in whole["parts"]) == whole["ns"], whole
    if causes:
        assert lengths.most_common(1)[0][0] == causes[0], (lengths, causes)
        parts = inner[causes[0]]
        check({"parts": parts, "ns": sum(p["ns"] for p in parts)}, causes[1:])
check(span, sys.argv[1:])' "${@:2}" <"$work/out" || fail "$1: other causes than ${*:2}: $(cat "$work/out")"
}
because sleep clock_nanosleep
because compute running
because peer recvfrom clock_nanosleep
because lock futex clock_nanosleep
because chain futex recvfrom clock_nanosleep
# Of two threads on one CPU, each waits for the other.
run 0 explain --json --slowest cpu rec
$python -c '
import json, sys
(span,) = json.load(sys.stdin)["spans"]
(runnable,) = [p for p in span["parts"] if p["state"] == "runnable"]
behind = [p for p in runnable["parts"] if (p["behind"] or 0) > 0]
assert behind and sum(p["ns"] for p in behind) > 1e6, span' <"$work/out" || fail "nobody took the CPU"
run_shows 0 '^lock: .* ms from +[0-9.]* on, thread [0-9]* (python3)$' explain --span lock rec
shows 'ms .* % *blocked in futex at 0x[0-9a-f]*, released by thread [0-9]* (python3)\( ([0-9]* times)\)*; that thread meanwhile:$'
shows 'ms .* %   blocked in clock_nanosleep'
run_shows 0 '^sleep how="nap": ' explain --span sleep:nap rec
run_shows 0 'spans of known length$' explain --slowest 'clock_nano*' -n 2 rec
[ "$(grep -c '^clock_nanosleep' "$work/out")" = 2 ] || fail "not the two slowest calls"
# A few of many spans are the first ones of all.
for wish in slowest span; do
	for n in 5 10000; do
		run 0 explain --json --$wish '*' -n $n rec
		cp "$work/out" "$work/$n"
	done
	$python -c '
import json, sys
few, all = (json.load(open(name)) for name in sys.argv[2:])
assert few["found"] == all["found"] > 20, few["found"]
assert len(all["spans"]) == min(all["found"], 10000), len(all["spans"])
assert few["spans"] == all["spans"][:5], few
assert all["spans"] == sorted(all["spans"], key=
    lambda s: -s["ns"] if sys.argv[1] == "slowest" else s["rel_ns"]), "order"
' $wish "$work/5" "$work/10000" || fail "--$wish: not the first five"
done

run_says 1 "no span or system call 'locc' of known length; did you mean 'lock'?" explain --slowest locc rec
run_says 1 "no span or system call 'lock' with a value 7 of known length" explain --span lock:7 rec
# An event that ends a thread has no end in it, which is known although other threads are hidden.
run 0 stat --json --pair sched_process_exit:sched_process_exec rec
$python -c '
import json, sys
(row,) = [s for s in json.load(sys.stdin)["spans"] if ":" in s["name"]]
assert row["never_ended"] > 0 == row["unknown"] == row["count"], row' <"$work/out" ||
	fail "a pair without an end: $(cat "$work/out")"
run_shows 0 '^[0-9]* more, whose length is unknown;' explain --slowest '*' rec \
	--pair sched_process_exit:sched_process_exec
run_says 2 'nothing to explain; use --slowest NAME or --span NAME' explain rec
run_says 2 'exclude each other' explain --span a --slowest b rec
run_says 2 'empty name' explain --span '' rec
run 0 record -q -o none -- "$emit" 10 1
run_says 1 'none has no thread switches, which show what a span waited for; record with -e sched' \
	explain --slowest '*' none

# The page draws the same parts, as wide as they are long.
run 0 explain --json --slowest lock -n 1 rec
cp "$work/out" "$work/lock"
run 0 report -q -o "$work/page.html" rec
$python - "$work/lock" "$work/page.html" <<'END' || fail "the page has other parts than explain"
import html, json, re, sys
(span,) = json.load(open(sys.argv[1]))["spans"]
page = open(sys.argv[2]).read()
page = page[page.index('<section id="explained">'):]
title = "<summary>lock, thread %d (%s): %.3f ms<" % (span["tid"], span["thread"], span["ns"] * 1e-6)
graph = page[page.index(title):]
graph = graph[:graph.index("</svg>")]
boxes = [(html.unescape(name), ms, width) for name, ms, width in
    re.findall(r'<title>(.*?): ([0-9.]*) ms, .*?</title><rect [^>]* width="([0-9.]*)"', graph)]
def check(whole):
    for p in whole["parts"]:
        width = p["ns"] * 1200 / span["ns"]
        if width > 1:
            assert any(b[:2] == (p["text"], "%.3f" % (p["ns"] * 1e-6)) and
                       abs(float(b[2]) - width) < 0.02 for b in boxes), (p["text"], boxes)
            check(p)
check(span)
assert len(boxes) > 3, boxes
END
