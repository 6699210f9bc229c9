#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings read in Python: each event as in dump, spans as in query, exact integers, filters, wrong
# queries, recordings that are damaged, cut off or still written, memory that does not grow, and
# readers that stop early.
# test-wing: python query
. "$(dirname "$0")/record.sh"

python=/usr/bin/python3
[ -x $python ] || python=python3
compgen -G "$out/python/tsctrace/_tsctrace*.so" >/dev/null || skip "python3-dev is not installed"
export PYTHONPATH=$out/python PATH=$out/tools:$PATH TSCTRACE_PROVIDER=embedded
cd "$work"
mkdir spans nodes kinds made
"$helpers/spans" spans 20000 1
"$helpers/spans" nodes 20000 4 nodes
"$helpers/kinds" kinds 20
"$helpers/made" made
record_emit types

# --- the same as dump and query ---------------------------------------------------------------
for name in spans nodes kinds made types; do
	"$ctl" dump --json --error $name >dumped 2>/dev/null || true
	$python - $name dumped <<'END' || fail "$name: other events than those of dump"
import json
import sys
import tsctrace

def same(exact, text, key):
    if isinstance(exact, int) and abs(exact) > 2**53:
        assert text == str(exact), (key, exact, text)
    elif isinstance(exact, float) and isinstance(text, str):
        assert float(text) == exact or exact != exact, (key, exact, text)
    else:
        assert type(exact) is type(text) and exact == text, (key, exact, text)

with tsctrace.open(sys.argv[1]) as recording:
    events = recording.events()
    nr = 0
    for line, event in zip(open(sys.argv[2]), events):
        line = json.loads(line)
        for key, other in (("time_ns", "time_ns"), ("rel_ns", "rel_ns"), ("tick", "stamp"),
                           ("cpu", "cpu"), ("tid", "tid"), ("channel", "channel"),
                           ("name", "event"), ("kind", "kind"), ("error_ns", "error_ns")):
            same(event[key], line[other], key)
        assert event["pid"] == line.get("pid") and (event["thread"] or None) == (line.get("thread") or None)
        assert list(event["fields"]) == list(line["fields"])
        for key, value in event["fields"].items():
            same(value, line["fields"][key], key)
        nr += 1
    assert nr > 10 and next(events, None) is None, nr
    lost = {"kinds": 5, "made": 9}.get(sys.argv[1])
    assert lost is None and events.incomplete is None or \
        f"{lost} events were lost while recording" in events.incomplete, events.incomplete
    spans = list(recording.spans())
    begin = [s["begin_ns"] for s in spans if s["begin_ns"] is not None]
    assert begin == sorted(begin)
    wanted = {r["name"]: r["n"] for r in recording.query(
        "SELECT name, count(*) AS n FROM spans GROUP BY name")}
    got = {}
    for s in spans:
        got[s["name"]] = got.get(s["name"], 0) + 1
        assert all(s[k] is None or type(s[k]) is dict for k in ("begin_fields", "end_fields")), s
    assert got == wanted, (got, wanted)
END
done

# --- values, filters, errors ----------------------------------------------------------------------
$python - "$emit" <<'END' || fail "values, filters or errors"
import tsctrace

recording = tsctrace.open("types")
(every,) = recording.events(name="every")
f = every["fields"]
assert f["u64"] == 2**64 - 1 and f["s64"] == -2**63 and f["u32"] == 2**32 - 1, f
assert type(f["f32"]) is float and f["f64"] == 1.4 and f["bytes"] == "01020304", f
assert recording.nodes[0]["number"] == 0 and type(recording.nodes[0]["host"]) is str
(row,) = recording.query("SELECT 9223372036854775807 AS big, NULL AS no, 1e999 AS inf, 'ab' AS t,"
                         " x'00ff' AS bytes, '12' AS digits")
assert row == {"big": 2**63 - 1, "no": None, "inf": float("inf"), "t": "ab", "bytes": "00ff",
               "digits": "12"}, row

recording = tsctrace.open("spans")
everything = list(recording)
begin = everything[0]["time_ns"] - everything[0]["rel_ns"]
def check(wanted, rows):
    wanted = [e for e in everything if wanted(e)]
    assert wanted and wanted == list(rows), (len(wanted), rows)
check(lambda e: e["name"] == "job", recording.events(name="job"))
check(lambda e: e["name"] in ("job", "loop") and e["kind"] == "end", recording.events(name=["job/end", "loop/end"]))
check(lambda e: e["tid"] in (101, 102, 107), recording.events(tid="101-102,107"))
check(lambda e: e["tid"] == 101, recording.events(tid=101))
assert len(list(tsctrace.open("types").events(comm="emi*"))) == 1001
check(lambda e: e["cpu"] == 3 and e["kind"] == "begin", recording.events("kind = 'begin' -- c", cpu=3))
check(lambda e: 10**8 <= e["rel_ns"] < 2 * 10**8, recording.events(start="+0.1", to=begin + 2 * 10**8))
assert {e["node"] for e in tsctrace.open("nodes").events(node="two")} == {"two"}
assert all(c["name"] == "read" and c["end_fields"]["ret"] < 10 for c in
           recording.calls("name = 'read' AND state = 'ended'"))

def raises(error, text, call):
    try:
        call()
    except error as e:
        assert text in str(e), e
        return
    raise AssertionError(text)
raises(tsctrace.ReadError, "No such file or directory", lambda: tsctrace.open("missing"))
raises(tsctrace.ReadError, "not a tsctrace recording", lambda: tsctrace.open("."))
raises(tsctrace.ReadError, "trace_ctl=PATH", lambda: tsctrace.open("spans", trace_ctl="/missing"))
raises(tsctrace.ReadError, "no such column: nam", lambda: list(recording.events("nam = 'job'")))
raises(tsctrace.ReadError, "no such event", lambda: list(recording.events(name="jobb")))
raises(TypeError, "no such filter: nam", lambda: recording.events(nam="job"))

# Readers that stop early leave no process.
import os, subprocess
def children():
    return open(f"/proc/self/task/{os.getpid()}/children").read().split()
events = recording.events()
next(events)
assert len(children()) == 1
events.close()
assert not children() and next(events, None) is None
with tsctrace.open("spans") as r:
    kept = [r.events(), r.query("SELECT 1")]
    next(kept[0])
    assert len(children()) == 1
assert not children()
for event in recording:
    break
del event
import gc
gc.collect()
assert not children()
END

# --- damage ------------------------------------------------------------------------------------
cp -r spans cut
truncate -s -100 cut/default_0
cp -r spans garbage
# The header of the last packet, which begins with a magic number
at=$(LC_ALL=C grep -obUaP '\xc1\x1f\xfc\xc1' garbage/default_0 | tail -n 1 | cut -d: -f1)
printf 'garbage!' | dd of=garbage/default_0 bs=1 seek="$at" conv=notrunc status=none
run 0 dump spans
all=$(wc -l <out)
for name in cut garbage; do
	run 3 dump $name
	$python - $name "$(wc -l <out)" "$all" <<'END' || fail "$name"
import sys
import tsctrace
events = tsctrace.open(sys.argv[1]).events()
nr = sum(1 for _ in events)
assert nr == int(sys.argv[2]) and 0 < nr < int(sys.argv[3]), (nr, sys.argv)
assert "default_0" in events.incomplete and "missing" in events.incomplete, events.incomplete
END
done
cp -r types broken
echo garbage >broken/metadata
$python -c '
import tsctrace
try:
    tsctrace.open("broken")
except tsctrace.ReadError as e:
    assert "metadata" in str(e), e
else:
    raise AssertionError' || fail "a recording without metadata"

# --- a recording that is still written, and one whose recorder was killed ---------------------------
"$ctl" record -q -o live -- sh -c "echo \$\$ >pid; exec $emit 100000000 1 500" >/dev/null 2>&1 &
recorder=$!
at_exit+=('kill -9 $(cat pid)')
until_on_disk live 500
$python -c '
import tsctrace
events = tsctrace.open("live").events()
assert sum(1 for _ in events) > 500
assert "still being recorded" in events.incomplete, events.incomplete' || fail "a live recording"
kill -9 $recorder
wait $recorder 2>/dev/null || true
$python -c '
import tsctrace
events = tsctrace.open("live").events()
assert sum(1 for _ in events) > 500
assert "recorder was killed" in events.incomplete, events.incomplete' || fail "a killed recorder"

# --- memory ------------------------------------------------------------------------------------
run 0 record -q -o many -- "$emit" 200000 2
$python - <<'END' || fail "memory"
import resource
import tsctrace
def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
events = tsctrace.open("many").events()
for nr, event in enumerate(events):
    if nr == 20000:
        before = peak_kib()
assert nr == 400000 and peak_kib() < before + 2000, (nr, before, peak_kib())
END
