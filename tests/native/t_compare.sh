#!/bin/bash
# SPDX-License-Identifier: MIT
# compare: recordings of equal programs, of one that takes twice as long, without events, with
# losses, and of nodes without a known bound; its figures are those of stat.
# test-fast: yes
# test-wing: compare spans
. "$(dirname "$0")/record.sh"

cd "$work"
mkdir 1 2 slow nodes unknown kinds limited
"$helpers/kinds" kinds 20
"$helpers/spans" 1 20000 1
"$helpers/spans" 2 20000 2
"$helpers/spans" slow 20000 3 slow
"$helpers/spans" nodes 20000 4 nodes
"$helpers/spans" unknown 20000 5 unknown

run_shows 0 '^0 figures: changed beyond noise$' compare 1 2
shows '^A: 1: 0.967 s, 5055 spans and calls; of unknown length: 210 without an end, 806 without a begin'
shows '95 % confidence for all together; seed 1, 1000 resamples of'
run_shows 0 '^0 figures: changed beyond noise$' compare 1 1

# Twice the time: all that changed has half the rate, or the double length.
run 0 compare --json 1 slow
cp out slow.json
run 0 stat --spans --calls --json 1
python3 - slow.json out <<'END' || fail "compare 1 slow: $(cat slow.json)"
import json
import sys
compared, stat = (json.load(open(name)) for name in sys.argv[1:])
assert compared["seed"] == 1 and compared["confidence"] == 0.95
rows = {(r["name"], r["figure"]): r for r in compared["figures"]}
changed = [r for r in compared["figures"] if r["outcome"] == "changed"]
assert len(changed) > 20, len(changed)
for r in changed:
    truth = 0.5 if r["figure"] == "per_second" else 2
    assert r["figure"] != "count" and r["ratio_low"] <= truth <= r["ratio_high"], r
names = {r["name"] for r in changed}
assert names == {"job", "loop", "request", "read", "write", "open", "close"}, names
for s in stat["spans"] + stat["calls"]:
    assert rows[s["name"], "count"]["a"] == s["count"]
    assert abs(rows[s["name"], "mean_ns"]["a"] - s["mean_ns"]) < 1
    for figure in "p50_ns", "p90_ns", "p99_ns":
        assert rows[s["name"], figure]["a"] == s[figure], (s, rows[s["name"], figure])
    whys = {w["name"]: w["a"] for w in compared["spans"]}[s["name"]]
    assert whys["ended"] == s["count"] and all(whys[k] == s[k] for k in (
        "never_ended", "no_begin", "unknown", "ambiguous")), (whys, s)
# The largest change first
effects = [max(r["ratio"], 1 / r["ratio"]) for r in changed]
assert effects == sorted(effects, reverse=True)
END
cp slow.json out
run 0 compare --json 1 slow
cmp -s out slow.json || fail "other results with the same seed"
run 0 compare --json --seed 2 1 slow
! cmp -s out slow.json || fail "the seed changes nothing"

# Names that one recording does not have, and the selection of names and events
TSCTRACE_PROVIDER=embedded run 0 record -q -o none -- "$emit" 500 2 1000
run_shows 0 '^ *1417 *0 *0.000 *- *count *job$' compare 1 none -a
shows '^ *37.93 ms *- *- *- *mean *job$'
# A recorder without system calls does not show that there were none.
shows '^8 figures: not compared: one recording was made without these kernel events$'
shows '^ *[0-9]* *- *- *- *count *read$'
run 0 compare --json --span job --span 're*' 1 2
[ "$(grep -o '"name": "[a-z]*"' out | sort -u | tr '\n' ' ')" = '"name": "job" "name": "read" "name": "request" ' ] ||
	fail "--span: other names"
run_says 1 'neither recording has such spans or system calls' compare --span jobb 1 2
# Two runs have threads of different IDs; events and other names are those of both.
run_shows 0 ' count *job$' compare -a --tid 100 1 none
run_says 1 'neither recording has such spans or system calls' compare --tid 4294967295 1 2
run_says 2 'name the directories of two recordings' compare 1
run_says 2 'more than two recordings given' compare 1 2 slow
run_says 1 'missing' compare 1 missing

# A bound that is unknown, and events that are missing
run_shows 0 '^3 figures: not compared: the bound between the nodes. clocks is unknown$' \
	compare --pair query_start:query_done:id nodes unknown
run_shows 0 '^0 figures: changed beyond noise$' compare --pair query_start:query_done:id nodes nodes
truncate -s -4000 2/default_0
run_says 3 '2: events are missing: the numbers and rates of its spans are not compared' compare 1 2
shows '^14 figures: not compared: events are missing$'

# Events that the rate limit dropped: lengths are compared, numbers are not
"$helpers/hidden" limit limited || fail "hidden limit"
run_says 0 'limited: the rate limit dropped events: the numbers and rates of its spans are not compared' \
	compare -a limited limited
shows '^4 figures: not compared: events are missing$'
