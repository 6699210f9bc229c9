#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""questions_check.py redis|postgresql|nginx RECORDING...

Compares the answers of t_questions.sh in the present directory with what follows from the events
of `dump --json`, RECORDING.dump, alone: lengths of spans, states of threads, and how they split
the time of a span, through the threads that ended its waits."""
import collections
import json
import sys

def load(name):
    return json.load(open(name))

def rows(name):
    """The rows of query --json"""
    return [json.loads(line) for line in open(name)]

def is_timeout(event, result):
    """The result of a call that waited states that its time was over."""
    return result in (-110, -62) or (result == 0 and event[4:] in (
        "nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "pselect6", "epoll_wait",
        "epoll_pwait", "epoll_pwait2")) or (result == -11 and event[4:] in (
            "rt_sigtimedwait", "semtimedop", "recvfrom", "recvmsg", "recvmmsg"))

class Events:
    def __init__(self, name):
        self.all = [json.loads(line) for line in open(name + ".dump")]
        for e in self.all:
            e["time"] = int(e["time_ns"])
        self.states = self.find_states()

    def spans(self, begin, end, key=None):
        """(length, begin, end, tid, event) by the begins and ends of (name, kind): those of a
        thread nest; with a key, the last one of that value in the process."""
        opened, found = collections.defaultdict(list), []
        for e in self.all:
            which = e["event"], e["kind"]
            of = (e.get("pid"), e["fields"].get(key)) if key else e["tid"]
            if which == begin:
                opened[of].append(e)
            elif which == end and opened[of]:
                b = opened[of].pop()
                found.append((e["time"] - b["time"], b["time"], e["time"], b["tid"], b))
        return found

    def calls(self):
        """Lengths of the system calls, by name"""
        lengths, opened = collections.defaultdict(list), {}
        for e in self.all:
            if not e["event"].startswith("sys_"):
                continue
            if e["kind"] == "begin":
                opened[e["tid"]] = e
            elif e["tid"] in opened:
                b = opened.pop(e["tid"])
                lengths[b["event"][4:]].append(e["time"] - b["time"])
        return lengths

    def find_states(self):
        """(begin, end, state, call, waker, timeout) of each thread that began in the recording.
        Where the kernel of a guest hides switches, a thread runs that was not switched to."""
        states, now, call, cpus = collections.defaultdict(list), {}, {}, {}
        without_limit = set()	# (thread, begin) of waits that no time limit ends
        ended = collections.Counter()	# number of states when a thread's last call ended
        def change(tid, time, state=None, waker=None):
            begin, before, of, _ = now.pop(tid)
            states[tid].append((begin, time, before, of, waker, False))
            if state:
                now[tid] = time, state, call.get(tid) if state == "blocked" else None, None
        def stops(cpu):
            tid, seen = cpus.pop(cpu, (0, 0))
            if tid in now:
                change(tid, seen, "unknown")
        def runs(cpu, tid, time):
            if cpus.get(cpu, (0, 0))[0] != tid:
                for other in [c for c in cpus if c == cpu or cpus[c][0] == tid]:
                    stops(other)
                if tid in now:
                    now[tid] = now[tid][0], "unknown", None, None
                    change(tid, time, "running")
            if tid in now:
                cpus[cpu] = tid, time
        for e in self.all:
            f, tid, time, name = e["fields"], e["tid"], e["time"], e["event"]
            runs(e["cpu"], tid, time)
            if name == "sched_process_fork":
                now[f["child_tid"]] = time, "blocked", None, None
            elif name in ("sched_waking", "sched_wakeup_new"):
                if now.get(f["tid"], (0, 0))[1] == "blocked":
                    change(f["tid"], time, "runnable", tid)
            elif name == "sched_switch":
                prev, after = f["prev_tid"], f["next_tid"]
                cpus.pop(e["cpu"], None)
                if prev in now:
                    if f["prev_state"] & 0x0e:	# uninterruptible, or stopped
                        without_limit.add((prev, time))
                    change(prev, time, None if f["prev_state"] & 0x30 else
                           "blocked" if f["prev_state"] & 0xff else "runnable")
                if after in now:
                    for other in [c for c in cpus if cpus[c][0] == after]:
                        stops(other)
                    begin, state, of, _ = now[after]
                    if state == "blocked":	# without a waking
                        now[after] = begin, "off CPU", of, None
                    change(after, time, "running")
                    cpus[e["cpu"]] = after, time
            elif name.startswith("sys_") and e["kind"] == "begin":
                call[tid] = name[4:]
            elif name.startswith("sys_"):
                call.pop(tid, None)
                waits = [i for i in range(ended[tid], len(states[tid]))
                         if states[tid][i][2] in ("blocked", "off CPU") and
                         (tid, states[tid][i][0]) not in without_limit]
                ended[tid] = len(states[tid])
                last = states[tid][waits[-1]] if waits else None
                if last and last[3] == name[4:] and is_timeout(name, f.get("ret")):
                    states[tid][waits[-1]] = *last[:5], True
        for tid in list(now):
            change(tid, self.all[-1]["time"])
        return states

    def split(self, tid, begin, end, chain=(), path=(), ret=None):
        """How long each (state, call, waker) was, by those of the threads that it waited for"""
        ret = collections.Counter() if ret is None else ret
        for since, until, state, call, waker, timeout in self.states[tid]:
            waker = 0 if timeout and state == "blocked" else waker
            a, b = max(begin, since), min(end, until)
            if a >= b or state == "unknown":
                continue
            at = path + ((state, call, waker),)
            ret[at] += b - a
            if waker and waker not in chain + (tid,) and waker in self.states and len(path) < 15:
                self.split(waker, a, b, chain + (tid,), at, ret)
        return ret

def parts_of(whole, path=(), ret=None):
    """The same of an answer of explain"""
    ret = collections.Counter() if ret is None else ret
    for p in whole["parts"]:
        at = path + ((p["state"], p["call"], p["woken_by"]),)
        if p["state"] not in ("unknown", "behind"):
            ret[at] += p["ns"]
            parts_of(p, at, ret)
    return ret

def same_figures(row, lengths, error):
    """The figures of stat --spans, --calls: percentiles are at most so much too large."""
    lengths = sorted(lengths)
    assert (row["count"], row["total_ns"], row["min_ns"], row["max_ns"]) == \
        (len(lengths), sum(lengths), lengths[0], lengths[-1]), (row, len(lengths), sum(lengths))
    for key, part in (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990), ("p99_9_ns", 999)):
        wanted = lengths[max(0, (len(lengths) * part + 999) // 1000 - 1)]
        assert wanted <= row[key] <= wanted * (1 + error) + 1, (row["name"], key, row[key], wanted)
    assert [s["length_ns"] for s in row["slowest"]] == lengths[::-1][:10], row["slowest"]

def same_spans(answer, spans, name):
    row, = [s for s in answer["spans"] if s["name"] == name]
    same_figures(row, [s[0] for s in spans], answer["percentile_error"])

def same_causes(answer, events, spans):
    """The slowest spans, and what each waited for. Returns the paths of all."""
    slowest = sorted(spans, key=lambda s: -s[0])[:len(answer["spans"])]
    assert answer["found"] == len(spans), (answer["found"], len(spans))
    paths = set()
    for got, (length, begin, end, tid, _) in zip(answer["spans"], slowest):
        assert (got["ns"], got["tid"]) == (length, tid), (got["ns"], got["tid"], length, tid)
        wanted, found = events.split(tid, begin, end), parts_of(got)
        assert wanted == found, {k: (wanted[k], found[k]) for k in wanted.keys() | found.keys()
                                 if wanted[k] != found[k]}
        paths |= found.keys()
    return paths

def redis(events):
    spans = events.spans(("flushAppendOnlyFile", "begin"), ("flushAppendOnlyFile", "end"))
    assert len(spans) > 200, len(spans)
    same_spans(load("redis.1"), spans, "flushAppendOnlyFile")
    same_spans(load("redis.pair"), spans, "flushAppendOnlyFile/begin:flushAppendOnlyFile/end")
    answer, calls = load("redis.2"), events.calls()
    figures = {r["name"]: r for r in answer["calls"] if r["count"]}
    assert figures.keys() == calls.keys() and len(calls["fdatasync"]) > 20
    for name, lengths in calls.items():
        same_figures(figures[name], lengths, answer["percentile_error"])
    paths = same_causes(load("redis.3"), events, spans)
    assert any(step[1] == "fdatasync" for path in paths for step in path), paths

def postgresql(locked, free):
    pair = ("query__start", "instant"), ("query__done", "instant")
    name = "query__start:query__done"
    spans = locked.spans(*pair)
    same_spans(load("pg.4"), spans, name)
    updates = [s for s in spans if s[4]["fields"]["query"].startswith("UPDATE")]
    paths = same_causes(load("pg.5"), locked, updates)
    sleeper, = {s[3] for s in spans if "pg_sleep" in s[4]["fields"]["query"]}
    assert any(step[2] == sleeper for path in paths for step in path), (sleeper, paths)
    waits = collections.Counter()
    for tid, states in locked.states.items():
        for since, until, state, call, waker, _ in states:
            if state == "blocked" and call == "epoll_wait":
                waits[tid, waker] += until - since
    answer = {(r["tid"], r["waker_tid"]): int(r["ns"]) for r in rows("pg.6")}
    for key, ns in waits.items():
        assert answer[key] == ns, (key, ns, answer.get(key))
    figures = {f["figure"]: f for f in load("pg.7")["figures"]}
    for which, events in ("a", free), ("b", locked):
        lengths = [s[0] for s in events.spans(*pair)]
        assert figures["count"][which] == len(lengths), (which, figures["count"])
        mean = sum(lengths) / len(lengths)
        assert abs(figures["mean_ns"][which] - mean) <= 1, (which, figures["mean_ns"], mean)

def nginx(events):
    spans = events.spans(("ngx_http_process_request", "instant"),
                         ("ngx_http_free_request", "instant"), "r")
    paths = same_causes(load("nginx.9"), events, spans)
    # nginx waited for the shell, and that for `sleep`.
    assert any([step[1] for step in path][:1] == ["epoll_wait"] and
               path[-1][1] == "clock_nanosleep" for path in paths), paths
    found = {r["tid"]: r for r in load("nginx.8")["thread_states"]}
    for tid, states in events.states.items():
        for state in "running", "runnable", "blocked", "off CPU":
            ns = sum(s[1] - s[0] for s in states if s[2] == state)
            if not found[tid]["unknown_ns"] and states[-1][2] == "running":
                key = state.replace(" ", "_").lower() + "_ns"
                assert found[tid][key] == ns, (found[tid], state, ns)
    lives = {r["pid"]: r for r in rows("nginx.10")}
    made, ended, executed = {}, {}, set()
    for e in events.all:
        if e["event"] == "sched_process_fork":
            made[e["fields"]["child_tid"]] = e["time"]
        elif e["event"] == "sched_process_exit":
            ended[e["tid"]] = e["time"]
        elif e["event"] == "sched_process_exec" and e["tid"] in made:
            executed.add(e["tid"])
    for pid in executed:
        begin, end = int(lives[pid]["from_ns"]), lives[pid]["until_ns"]
        # Both are stamped by another program at the same place in the kernel.
        assert abs(begin - made[pid]) < 10**8, (pid, begin, made[pid])
        assert pid not in ended or abs(int(end) - ended[pid]) < 10**8, (pid, end, ended[pid])
    assert sum(r["filename"].endswith("/slow") for r in rows("nginx.10")) == 4, lives

globals()[sys.argv[1]](*map(Events, sys.argv[2:]))
