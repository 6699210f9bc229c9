#!/bin/bash
# SPDX-License-Identifier: MIT
# The Python module: types, spans, also of coroutines, counters, patterns, threads, fork; a
# tracer that starts later; and programs without one.
# test-fast: yes
# test-wing: python
. "$(dirname "$0")/record.sh"

python=/usr/bin/python3
[ -x $python ] || python=python3
compgen -G "$out/python/tsctrace/_tsctrace*.so" >/dev/null || skip "python3-dev is not installed"
export PYTHONPATH=$out/python

# --- without a tracer --------------------------------------------------------------
$python - <<'END' || fail "without a tracer"
import tsctrace
assert tsctrace.provider() == "none" and "no such socket" in tsctrace.error()
tsctrace.event("a", n=1)
with tsctrace.span("b", text="x"):
    tsctrace.counter("c", 1)
try:
    with tsctrace.span("b"):
        raise KeyError
except KeyError:
    pass
assert tsctrace.enable() == 0 and not tsctrace.is_enabled("a")
for call, error in ((lambda: tsctrace.event("a", **{"x" * 32: 1}), ValueError),
                    (lambda: tsctrace.event(1), TypeError),
                    (lambda: tsctrace.event(), TypeError),
                    (lambda: tsctrace.event("a", 1), TypeError),
                    (lambda: tsctrace.counter("a"), TypeError),
                    (lambda: tsctrace.span(), TypeError),
                    (lambda: tsctrace.event("a", **{f"f{i}": i for i in range(33)}), ValueError),
                    (lambda: tsctrace.enable("a-b"), ValueError)):
    try:
        call()
    except error:
        continue
    raise AssertionError(call)
END

# --- what is recorded ----------------------------------------------------------------
cat >"$work/spans.py" <<'END'
import asyncio
import tsctrace

tsctrace.event("GET /x")
tsctrace.event("1st")
tsctrace.event("")
tsctrace.event("\u00e9t\u00e9" + "x" * 70)

@tsctrace.traced
def plain(n):
    return n and plain(n - 1)

@tsctrace.traced("reader", kind="k")
def reader():
    yield from (1, 2)

@tsctrace.traced(level=3)
async def waits(ms):
    await asyncio.sleep(ms / 1000)
    return ms

@tsctrace.traced
async def answers(log):
    try:
        while True:
            try:
                log.append((yield len(log)))
            except KeyError:
                log.append("thrown")
    finally:
        log.append("closed")

async def request(i, ms):
    async with tsctrace.span("areq", i=i) as span:
        span.set(status=1)
        await asyncio.sleep(ms / 1000)
        span.set(status=200 + i, size=ms)
    async with span:
        pass

async def main():
    assert await asyncio.gather(waits(30), waits(10), waits(20)) == [30, 10, 20]
    await asyncio.gather(request(1, 90), request(2, 30), request(3, 60))
    log = []
    made = answers(log)
    assert [await made.asend(None), await made.asend("x"), await made.athrow(KeyError)] == [0, 1, 2]
    await made.aclose()     # what the decorated function gets is what its caller does
    assert log == ["x", "thrown", "closed"], log

assert plain(2) == 0 and plain.__name__ == "plain" and list(reader()) == [1, 2]
asyncio.run(main())
span = tsctrace.span("late")
span.set(lost=1)    # it is not open
with span:
    for bad in (lambda: span.set(), lambda: span.set(1), lambda: span.set(tsct_span=1)):
        try:
            bad()
        except (TypeError, ValueError):
            continue
        raise AssertionError(bad)
    span.set(text="x" * 5000)
END
run_says 0 'exited with status 0' record --require-events -o "$work/spans" -- $python "$work/spans.py"
run 0 dump --json "$work/spans"
$python - "$work/out" <<'END' || fail "spans with fields of the end, of decorators, of async with"
import json
import sys
events = [json.loads(line) for line in open(sys.argv[1])]
names = [e["event"] for e in events if e["kind"] == "instant"]
assert names == ["GET__x", "_1st", "_", "__t__" + "x" * 58], names
plain = [e["kind"] for e in events if e["event"] == "plain"]
assert plain == ["begin"] * 3 + ["end"] * 3, plain
assert [e["fields"] for e in events if e["event"] == "reader"] == [{"kind": "k"}, {}]
lengths, begun = {}, {}
for e in events:
    if e["event"] in ("areq", "waits"):
        f = e["fields"]
        key = e["event"], f.get("tsct_span")
        if e["kind"] == "begin":
            assert key not in begun, "a second span without an id"
            begun[key] = e
            continue
        begin = begun.pop(key)
        if "status" in f:
            assert f["status"] == 200 + begin["fields"]["i"]
            assert f["size"] == (0, 90, 30, 60)[begin["fields"]["i"]]
            ns = int(e["time_ns"]) - int(begin["time_ns"])
            assert ns >= f["size"] * 1000000, (f, ns)
            lengths[f["status"]] = ns
assert not begun and len(lengths) == 3, lengths
late = [e["fields"] for e in events if e["event"] == "late"]
assert late == [{}, {"text": "x" * 5000}], late
END
if has_wing spans; then
	run 0 stat --spans --json --by i "$work/spans"
	holds "$work/out" 'all(r["ambiguous"] == r["never_ended"] == r["no_begin"] == 0 for r in j["spans"])' \
		'{r["by"]: r["count"] for r in j["spans"] if r["name"] == "areq"} == {"1": 2, "2": 2, "3": 2}'
fi
cat >"$work/all.py" <<'END'
import os, sys, threading
import tsctrace

class Odd:
    def __str__(self):
        tsctrace.event("nested", n=1)
        return "odd"

tsctrace.event("types", t=True, f=False, i=-3, big=2**63, huge=2**70, neg=-2**70, x=1.5,
               s="t\u00e9xt", nul="a\0b", raw=b"by\0tes", none=None, odd=Odd())
tsctrace.event("empty")
for value in (1, "one", 2.0, 3, None, True):
    tsctrace.event("varied", v=value)
with tsctrace.span("outer", n=3):
    with tsctrace.span("inner", text="x" * 1000):
        tsctrace.counter("queue", 4)
tsctrace.counter("two", a=1, b=2.5)
again = tsctrace.span("again")
for _ in range(2):
    with again:
        pass
try:
    with tsctrace.span("raised"):
        raise KeyError
except KeyError:
    pass
tsctrace.disable("varied")
tsctrace.event("varied", v=99)
assert not tsctrace.is_enabled("varied") and tsctrace.is_enabled("empty")
tsctrace.disable()
tsctrace.event("empty")
tsctrace.event("never", n=1)
tsctrace.enable("*,-quiet_*")
tsctrace.event("quiet_1")
for i in range(3):
    tsctrace.event(f"made_{i}", **{f"f{i}": i})
try:
    tsctrace.event("large", s="x" * 70000)
except ValueError:
    tsctrace.event("too_large")

def work(nr):
    for i in range(500):
        with tsctrace.span("job", nr=nr, i=i):
            pass
threads = [threading.Thread(target=work, args=(nr,)) for nr in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
tsctrace.event("forked", child=pid == 0)
if not pid:
    os._exit(0)
assert tsctrace.dropped() == 0 and tsctrace.provider() == "embedded"
END
# Events whose definitions do not fit into the channel are counted.
cat >"$work/refused.py" <<'END'
import tsctrace
for i in range(2000):
    tsctrace.event(f"ev{i}", n=i)
print(tsctrace.dropped())
END
fill="$here/fill_definitions.py $out/lib/libtsctrace.so"
run_says 3 'exited with status 0' record -o "$work/types" -- \
	sh -c "$fill >$work/filled && $python $work/refused.py"
[ "$(cat "$work/out")" -gt 0 ] || fail "dropped(): $(cat "$work/out")"
says "LOST: refused $(cat "$work/out")\$"
# So are those of a program that cannot map the rings.
run_says 3 'LOST: refused 2000$' record --block-size 65536 --blocks 1024 -o "$work/unmapped" -- \
	sh -c "ulimit -v 100000; exec $python $work/refused.py"
[ "$(cat "$work/out")" = 2000 ] || fail "dropped(), without rings: $(cat "$work/out")"
# Those that fit into a larger area are recorded, also with ids of more than 16 bits.
run_says 0 '2000 published = 2000 recorded + 0 lost$' record -o "$work/wide" -- \
	sh -c "$fill 65400 >$work/filled && $python $work/refused.py"
[ "$(cat "$work/out")" = 0 ] || fail "dropped(), with many types: $(cat "$work/out")"
"$ctl" dump "$work/wide" | awk '{ print $4 $5 }' >"$work/got"
seq 0 1999 | sed 's/.*/ev&n=&/' | cmp - "$work/got" || fail "the events of many types differ"
run_says 0 'exited with status 0' record --require-events -o "$work/all" -- $python "$work/all.py"
"$ctl" dump "$work/all" | sed 's/^[^ ]* \[[0-9]*\] *[0-9]* //; s/  */ /g' >"$work/got"
grep -v '^job' "$work/got" | sed 's/x\{1000\}/x*1000/' >"$work/few"
diff "$work/few" - <<'END' || fail "the events differ"
nested n=1
types t=1 f=0 i=-3 big=9223372036854775808 huge="1180591620717411303424" neg="-1180591620717411303424" x=1.5 s="téxt" nul="a" raw="by" none="None" odd="odd"
empty
varied v=1
varied v="one"
varied v=2
varied v=3
varied v="None"
varied v=1
outer/begin n=3
inner/begin text="x*1000"
queue/counter value=4
inner/end
outer/end
two/counter a=1 b=2.5
again/begin
again/end
again/begin
again/end
raised/begin
raised/end
made_0 f0=0
made_1 f1=1
made_2 f2=2
too_large
forked child=1
forked child=0
END
[ "$(grep -c '^job/begin' "$work/got")" = 2000 ] || fail "begins"
[ "$(grep -c '^job/end' "$work/got")" = 2000 ] || fail "ends"

# --- spans of coroutines, which end in any order ------------------------------------------
cat >"$work/async.py" <<'END'
import asyncio, threading
import tsctrace

async def task(name, nr, own, next_one, begun, **fields):
    with tsctrace.span(name, **fields):
        if begun:
            begun.set()
        await own.wait()
    tsctrace.event("ended", i=nr)
    await asyncio.sleep(0.003)
    if next_one:
        next_one.set()

async def three(name, *fields):
    first, second, third = (asyncio.Event() for _ in range(3))
    await asyncio.gather(task(name, 1, first, None, None, **{f: 1 for f in fields}),
                         task(name, 2, second, third, None, **{f: 2 for f in fields}),
                         task(name, 3, third, first, second, **{f: 3 for f in fields}))

async def main():
    await three("areq", "i")
    await three("same")
    await asyncio.gather(three("both", "i"), three("both", "i"))
asyncio.run(main())

def steps():
    with tsctrace.span("steps"):
        yield
one, two = steps(), steps()
next(one)
next(two)
one.close()
two.close()

def deeper(n):
    with tsctrace.span("deeper", n=n):
        if n:
            deeper(n - 1)
deeper(3)
shared = tsctrace.span("shared")
with shared, shared:
    pass
# A span that ends in another thread ends no other one there.
elsewhere = tsctrace.span("elsewhere", n=1)
elsewhere.__enter__()
def leave():
    with tsctrace.span("elsewhere", n=2):
        elsewhere.__exit__(None, None, None)
thread = threading.Thread(target=leave)
thread.start()
thread.join()
try:
    tsctrace.span("reserved", tsct_span=1)
except ValueError:
    tsctrace.event("reserved")
END
cat >"$work/ids.py" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
open_spans, ended = {}, {}
for at, e in enumerate(rows):
    key = e["event"], e["tid"], e["fields"].get("tsct_span")
    if e["kind"] == "begin":
        assert key not in open_spans, e
        open_spans[key] = e
    elif e["kind"] == "end" and e["event"] != "elsewhere":
        begin = open_spans.pop(key)
        ended.setdefault(e["event"], []).append(begin["fields"].get("i"))
        if "i" in begin["fields"]:
            assert rows[at + 1]["fields"]["i"] == begin["fields"]["i"], (begin, e)
assert ended["areq"] == [2, 3, 1] and sorted(ended["both"]) == [1, 1, 2, 2, 3, 3], ended
assert len(ended["same"]) == 3 and len(ended["steps"]) == 2 and len(ended["shared"]) == 1
assert len(ended["deeper"]) == 4 and rows[-1]["event"] == "reserved"
assert sum(e["event"] == "elsewhere" for e in rows) == 4
# Without other fields, too, the second one ends first, then the third and the first.
same = [(e["kind"], e["fields"].get("tsct_span")) for e in rows if e["event"] == "same"]
assert [i for k, i in same if k == "end"] == [same[1][1], same[2][1], None], same
END
run 0 record -o "$work/async" -- $python "$work/async.py"
run 0 dump --json "$work/async"
cp "$work/out" "$work/truth"
/usr/bin/python3 "$work/ids.py" "$work/truth" || fail "the ids of spans"
formats=(json perfetto otf2)
has_wing otf2 || unset 'formats[2]'
has_wing formats || formats=()
for format in "${formats[@]}"; do
	run 0 export -f "$format" -o "$work/async.$format" "$work/async"
	says '[0-9] slices are split in two'
	! grep -q "agree in their fields" "$work/err" || fail "$format: ambiguous"
	proto=()
	[ "$format" != perfetto ] || proto=("$here/perfetto.proto")
	/usr/bin/python3 "$here/exportcheck.py" "$format" "$work/async.$format" "$work/truth" \
		"${proto[@]}" >"$work/out" 2>&1 || fail "$format"
done
if has_wing report; then
	run 0 report -o "$work/async.html" "$work/async"
	/usr/bin/python3 "$here/reportcheck.py" "$work/async.html" "$work/truth" whole \
		>"$work/out" 2>&1 ||
		fail "the page"
fi

# --- a tracer that starts later, and patterns -----------------------------------------
cat >"$work/later.py" <<'END'
import time
import tsctrace
end = time.monotonic() + 300
print("started", flush=True)
while not tsctrace.is_enabled("done"):
    tsctrace.event("later", n=1)
    tsctrace.event("other", n=1)
    if tsctrace.is_enabled("later"):
        tsctrace.event("done")
    assert time.monotonic() < end
    time.sleep(0.001)
time.sleep(1)
assert tsctrace.provider() == "daemon"
END
TSCTRACE_EVENTS='later,done' $python "$work/later.py" >"$work/out2" & track program
until_in "$work/out2" started
start_daemon
wait "$program" || fail "the tracer was not found"

# --- what it costs, for the log ---------------------------------------------------------
run 0 channel create cost --policy overwrite
TSCTRACE_CHANNEL=cost $python - <<'END'
import time
import tsctrace
N = 100000
best = 1e9
for _ in range(5):
    begin = time.process_time_ns()
    for i in range(N):
        tsctrace.event("tick", n=i)
    best = min(best, (time.process_time_ns() - begin) / N)
print(f"an event with one integer: {best:.0f} ns")
END
run 0 channel remove cost
kill "$server"
