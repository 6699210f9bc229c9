#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
known_random.py CTL DAEMON HELPERS DIR RUNS SEED [FIRST]

Makes RUNS random recordings of random loads, with all filters and limits of the recorder, losses
in small rings, flight recorders, recorders that are killed, files that are cut off, and merges.
Passes each through every verb and export, with random filters of the reader, and checks that
nothing drawn, printed or exported covers a time in which it could not be known.

Four things tell what is known, none of them from the code that decides it: the headers of the
packets, for the times of losses; the filters and limits that the recording states; the numbers of
the load (account.c), as a begin and an end with other numbers are two spans; and a second
recording of the same time, of all threads without filters. Two recorders note an event in the same
moment of its thread, so of two events of a thread that both have, the order is the same, whatever
the load of the machine: a call is wrong if the other recording has an end and then a begin in it.
Times are compared with the error bounds that both state.

The arguments, the output and the exit status are those of account.py. A recording of everything
that is not whole is not used: the last line has the number of those that were.
"""
import bisect
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import account
import known_claims as claims
import unknowncheck
from account import CPUS, CTL, DIR, PROGRAM, WAIT_S, Program, Wrong, contained, wait_for

FORMATS = {"json": "json", "csv": "csv", "text": "txt", "perfetto": "pftrace", "otf2": "otf2",
           "ctf": "ctf", "folded": "folded"}
PROTO = unknowncheck.HERE / "perfetto.proto"
CGROUPS = next((p for p in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
                if os.path.exists(p + "/cgroup.procs")), None)
done = collections.Counter()	# spans, whole recordings of everything, recordings with losses
running = []	# processes of this run


def need(true, *what):
    if not true:
        raise Wrong(" ".join(map(str, what)))


def trace_ctl(*words, statuses=(0, 3), env=None):
    result = subprocess.run([CTL, *words], text=True, capture_output=True, timeout=WAIT_S,
                            check=False, errors="surrogateescape", env=env)
    need(result.returncode in statuses, *words, "has status", result.returncode,
         result.stderr[-300:])
    return result.stdout


# --- recording ------------------------------------------------------------------------------

def start(words, env, **more):
    running.append(subprocess.Popen(words, env=env, **more))
    return running[-1]


def end_all():
    """Ends what a run that failed has left: the kernel keeps what a recorder attached."""
    for process in running:
        process.kill()
        process.wait()
    running.clear()


def start_recorder(out, words, env):
    """Starts a recorder, which is ready when this returns."""
    with open(f"{out}.err", "wb") as errors:
        process = start([CTL, "record", "-q", "-o", out, "--duration", str(WAIT_S), *words], env,
                        stderr=errors)
    wait_for("a recording", lambda: process.poll() is not None or
             os.path.exists(f"{out}/metadata"))
    need(process.poll() is None, "no recording:", words, open(f"{out}.err").read())
    return process


def end(recorder, how=signal.SIGINT):
    recorder.send_signal(how)
    status = recorder.wait(WAIT_S)
    need(status in (0, 3, -signal.SIGKILL), "the recorder ended with", status)


def options(r):
    """Returns the recorder's events, limits and filters but those of processes."""
    kinds = r.choice([["sched", "syscalls"], ["sched", "syscalls"], ["syscalls"], ["sched"],
                      ["sched", "sys_enter", "sys_exit"], ["sys_enter", "sys_exit"]])
    if r.random() < 0.5:
        kinds = kinds + [f"uprobe:{PROGRAM}:work(n=%di:s32)", f"uretprobe:{PROGRAM}:work(m=%ax:s32)"]
    words = [w for kind in kinds for w in ("-e", kind)]
    if r.random() < 0.5:
        words += ["--block-size", "4096", "--blocks", r.choice(["2", "2", "4"])]
    if r.random() < 0.2:
        words += ["--rate-limit", str(int(10 ** r.uniform(0.5, 4)))]
    if r.random() < 0.2:
        words += ["--cpu", str(r.choice(CPUS))]
    if r.random() < 0.15:
        words += ["--comm", r.choice(["account", "other", "true"])]
    if r.random() < 0.3:
        fields = {"ret < 0": "sys", "ret >= 0": "sys", "next_prio >= 120": "sched", "n & 2": "uprobe",
                  "m & 4": "uprobe", "n & 8": "uprobe", "prev_prio < 130": "sched",
                  "id == 8": "sys_enter"}
        fit = [w for w, kind in fields.items() if any(k.startswith(kind) for k in kinds)]
        words += ["--where", r.choice(fit)]
    if r.random() < 0.1:
        words += ["--timestamps", r.choice(["tsc/16", "tsc/256", "interpolated", "system",
                                               "system/256", "system-interpolated"])]
    if r.random() < 0.1 and "uprobe" not in " ".join(kinds):
        words += ["--stack"]
    return words


def reader_options(r, events):
    """Returns a random filter of the reader."""
    kind = r.choice(["none", "cpu", "tid", "event", "kind", "time"] if events else ["none"])
    e = r.choice(events or [None])
    if kind == "none":
        return []
    if kind in ("cpu", "tid"):
        return [f"--{kind}", str(e[kind])]
    if kind in ("event", "kind"):
        return ["--event", e["event"] if kind == "event" else f"*/{e['kind']}"]
    first, last = sorted((r.choice(events)["ns"], e["ns"]))
    return ["--from", str(first), "--to", str(last + 1)]


def load(r, path, words, **more):
    pause = r.choice([0, 0, 100, 2000])
    more |= {"pause": pause, "events": int(10 ** r.uniform(1.5, 2.5 if pause else 3.3)),
             "seed": r.randint(1, 10 ** 6),
             "burst": r.choice([500, 2000]) if "--blocks" in words else 0}
    if r.random() < 0.6:
        more["kill"] = 0
    return Program(r, path, "spans", **more)


def record(r, work, env):
    """Makes a random recording r, perhaps another one, s, of the same time, and that of everything.
    Returns how."""
    words = options(r)
    way = r.choice(["command", "command", "all", "late", "late", "flight", "killed", "cut",
                    "cgroup" if CGROUPS else "command"])
    is_command = way in ("command", "cut")
    # All calls of all threads are many on a busy machine.
    if way in ("all", "killed", "flight") and "--comm" not in words:
        words += ["--comm", "account"]
    if way == "flight" and "--blocks" in words:		# it needs more blocks
        words[words.index("--blocks") + 1] = "4"
    truth = start_recorder(f"{work}/truth", ["-a", "-e", "sched", "-e", "syscalls"], env)
    second = r.random() < 0.3 and start_recorder(
        f"{work}/s", ["-a", "--comm", "account", "-e", "sched", "-e", "syscalls"], env)
    programs = [load(r, f"{work}/counts{i}", words, early=0 if is_command else r.randint(1, 50))
                for i in range(r.choice([1, 1, 2]))]
    group = f"{CGROUPS}/tsct{os.getpid()}"
    try:
        if is_command:
            result = account.trace_ctl(["record", "-q", *words, "-o", f"{work}/r", "--", "sh", "-c",
                                        contained(r, programs)], env)
            need(result.returncode in (0, 3), "record:", words, result.stderr)
        else:
            how = record_flight if way == "flight" else record_running
            how(r, work, env, words, way, programs, group)
    finally:
        if os.path.isdir(group):
            wait_for("an empty cgroup", lambda: not open(f"{group}/cgroup.procs").read())
            os.rmdir(group)
    for recorder in filter(None, (second, truth)):
        end(recorder)
    files = sorted(p for p in pathlib.Path(f"{work}/r").glob("*_*") if p.stat().st_size)
    if way == "cut" and files:
        path = r.choice(files)
        os.truncate(path, r.randint(0, path.stat().st_size - 1))
    return f"{way}: {' '.join(words)}"


def record_running(r, work, env, words, way, programs, group):
    """Records programs that run before, and do not end before the recorder is ready."""
    shell = "exec "
    if way == "cgroup":
        os.mkdir(group)
        words += ["--cgroup", group]
        shell = f"echo $$ >{group}/cgroup.procs; exec "
    loads = [start(["sh", "-c", shell + account.shell(p.argv())], env,
                   stderr=subprocess.DEVNULL) for p in programs]
    wait_for("early spans", lambda: all(p.started(2) for p in programs))
    words += ["-p", ",".join(str(p.pid) for p in loads)] if way == "late" else ["-a"]
    recorder = start_recorder(f"{work}/r", words, env)
    open(f"{work}/go", "w").close()
    if r.random() < 0.5:	# the recorder ends while programs run
        time.sleep(r.uniform(0, 0.3))
    else:
        for p in loads:
            p.wait(WAIT_S)
    end(recorder, signal.SIGKILL if way == "killed" else signal.SIGINT)
    for p in loads:
        need(p.wait(WAIT_S) in (0, -signal.SIGKILL), "the load has status", p.returncode)


def record_flight(r, work, env, words, _, programs, __):
    """Copies a flight recorder, which has begun when its command runs."""
    command = f"touch {work}/ready {work}/go; {contained(r, programs)}; touch {work}/ended; " \
        f"while [ ! -e {work}/quit ]; do sleep 0.02; done"
    words += ["-f"] + ["-a"] * (r.random() < 0.5)
    recorder = start([CTL, "record", "-q", "-o", f"{work}/f", *words, "--", "sh", "-c", command],
                     env, stderr=subprocess.DEVNULL)
    try:
        part = f"{work}/" + r.choice(["ready", "ended"])
        wait_for(part, lambda: recorder.poll() is not None or os.path.exists(part))
        time.sleep(r.uniform(0, 0.1))
        trace_ctl("snapshot", "-q", "-o", f"{work}/r", env=env)
    finally:
        open(f"{work}/quit", "w").close()
    need(recorder.wait(WAIT_S) in (0, 3), "the flight recorder has status", recorder.returncode)


# --- what is known ----------------------------------------------------------------------------

def events_of(directory, *more):
    events = [json.loads(line) for line in trace_ctl("dump", "--json", *more, directory).split("\n")
              if line.startswith("{\"time_ns")]
    for e in events:
        e["ns"] = int(e["time_ns"])
    return events


class Truth:
    """What really happened, by the recording of everything"""

    def __init__(self, directory, events):
        figures = json.loads(trace_ctl("stat", "--json", directory))
        self.whole = figures["sum"]["exact"] and not figures["sum"]["lost"]
        self.error_ns = figures["clock"]["error_ns"]
        self.calls, self.switches = collections.defaultdict(list), collections.defaultdict(list)
        tids = ",".join(str(t) for t in sorted({e["tid"] for e in events}) if t) or "1"
        times = [e["ns"] for e in events] or [0]
        # A call or a time on a CPU may have begun before.
        span = ["--from", str(min(times) - 10 ** 9), "--to", str(max(times) + 10 ** 9)]
        if not self.whole or not events:
            return
        done["whole"] += 1
        for e in events_of(directory, "--event", "sys_*", "--tid", tids, *span):
            self.calls[e["tid"]].append((e["ns"], e["kind"]))
        for e in events_of(directory, "--event", "sched_switch", *span):
            f = e["fields"]
            self.switches[e["cpu"]].append((e["ns"], f["prev_tid"], f["next_tid"],
                                            "trace-ctl" in (f["prev_comm"], f["next_comm"])))

    @staticmethod
    def between(all_events, begin, until):
        return all_events[bisect.bisect_right(all_events, (begin,)):
                          bisect.bisect_left(all_events, (until,))]

    def check_call(self, claim, until, near):
        own = [kind for _, kind in self.between(self.calls[claim.tid], claim.begin + near,
                                                until - near)]
        need("begin" not in own[own.index("end"):] if "end" in own else True, "other calls:", claim,
             own[:9])

    def check_run(self, run, until, near):
        """On the CPU there may be the switch to the thread, and then the one from it."""
        cpu, tid, begin = run[:3]
        # The recorder, whose switches are not recorded, runs in the time of the idle thread.
        inside = [(prev, next_) for _, prev, next_, own in
                  self.between(self.switches[cpu], begin + near, until - near) if tid or not own]
        rest = inside[1:] if inside and inside[0][1] == tid else inside
        need(not rest or (len(rest) == 1 and rest[0][0] == tid), "other threads:", run, inside[:9])

    def check_switches(self, thread, begin, until, near):
        """The number of switches to a thread, but for the first and last ones of each CPU"""
        least = most = 0
        for own in self.switches.values():
            at = [bisect.bisect_left(own, (ns,)) for ns in (begin - near, begin + near, until - near,
                                                            until + near)]
            count = lambda some: sum(s[2] == thread["tid"] for s in some)
            least += count(own[at[1] + 1:max(at[2] - 1, 0)])
            most += count(own[max(at[0] - 1, 0):at[3] + 1])
        need(least <= thread["switched_in"] <= most, "stat:", thread, "has", least, "to", most)


# --- checks ------------------------------------------------------------------------------------

class Recording:
    """A recording, and what is known of it without the code that is checked"""

    def __init__(self, directory, truth, events, merged):
        self.directory, self.truth, self.merged, self.events = directory, truth, merged, events
        self.figures = json.loads(trace_ctl("stat", "--json", directory))
        self.near = truth.error_ns + (self.figures["clock"]["error_ns"] or 0)
        self.requested = (not merged and self.figures["nodes"][0]["requested"]) or {}
        self.limited = "rate_limit" in self.requested and (
            not self.figures["sum"] or self.figures["sum"]["dropped_by_rate_limit"])
        self.losses = [] if merged else unknowncheck.losses_of(directory)
        self.end, self.limit = int(self.figures["end_ns"]), float("inf")
        self.is_raw = any(e["event"] == "sys_enter" for e in events)
        channels = collections.defaultdict(set)
        self.ends, self.away = collections.defaultdict(list), collections.defaultdict(list)
        for e in events:
            channels[e["event"]].add(e["channel"])
            if e["kind"] == "end":
                self.ends[e["tid"], e["event"], e["fields"].get("m")].append(e["ns"])
            if e["event"] == "sched_switch":
                self.away[e["fields"]["prev_tid"]].append(e["ns"])
        self.lost = {name: [sorted(x[2:] for x in self.losses if x[0] == channel and x[1] == cpu)
                            for channel in where for cpu in {x[1] for x in self.losses}]
                     for name, where in channels.items()}
        done["with losses"] += bool(self.losses)

    def check(self, claim, reader):
        until = min(claim.end or self.end, self.limit,
                    int(reader[3]) if "--to" in reader else self.limit)
        need(None in (claim.n, claim.m) or claim.n == claim.m, "two spans:", claim)
        if claim.n is not None and claim.last:
            need(not any(claim.begin <= ns < until for ns in
                         self.ends[claim.tid, claim.name, claim.n]), "it has ended:", claim)
        is_call = claim.name.startswith("sys_")
        lost = self.lost.get("sys_enter" if is_call and self.is_raw else claim.name, [])
        need(claim.end is None or not any(unknowncheck.overlaps(claim.begin, until, times)
                                          for times in lost), "events were lost:", claim)
        if claim.name == "work" or (is_call and self.is_raw):
            need(not self.limited and "where" not in self.requested, "it may be hidden:", claim)
        if (is_call or claim.name == "work") and "cpus" in self.requested:
            need(self.away and not any(claim.begin < ns < until for ns in self.away[claim.tid]),
                 "it went to another CPU:", claim)
        if is_call:
            self.truth.check_call(claim, until, self.near)

    def check_figures(self, strace):
        """The times of calls are those of the lines of --strace, which are checked."""
        lengths = collections.defaultdict(list)
        for claim in strace:
            lengths[claim.name[4:]].append(claim.end - claim.begin)
        for call in self.figures["system_calls"] or []:
            own = lengths[call["name"]]
            need(call["timed"] == len(own) and call["timed"] <= call["calls"] and
                 abs((call["total_ns"] or 0) - sum(own)) <= len(own) and
                 (abs(call["max_ns"] - max(own)) <= 1 if own else call["max_ns"] is None),
                 "stat:", call, "and in --strace", len(own), "of", sum(own), "ns")
        for thread in self.figures["threads"]:
            if thread["switched_in"] is None:
                continue
            need(thread["tid"] and not (self.lost.get("sched_switch") and
                 any(self.lost["sched_switch"])), "stat: not all are recorded:", thread)
            # What a recorder that was killed had not written is not counted.
            if self.truth.whole and self.figures["complete"] and not self.merged:
                self.truth.check_switches(thread, int(self.figures["begin_ns"]), self.end, self.near)

    def check_page(self, page, reader):
        spans, runs, gaps, until = claims.of_page(page)
        for run in runs:
            self.truth.check_run(run, min(run[3], self.limit), self.near)
        if not reader and not self.merged and self.events:
            unknowncheck.check_runs(runs, until, self.events, self.losses, ["all"])
            for channel, cpu, since, to in self.losses:
                need(to == float("inf") or any(
                    g[:2] == (channel, cpu) and g[2] <= since + self.near and
                    g[3] >= min(to, until) - self.near
                    for g in gaps), "no gap:", channel, cpu, since, to, gaps)
        done["spans"] += len(runs)
        return spans

    def check_rows(self, work, reader):
        """Exports of events have those that dump prints with the same filter."""
        shown = events_of(self.directory, *reader)
        with open(f"{work}/x.csv", encoding="utf-8", errors="surrogateescape") as file:
            rows = sum(1 for line in file) - 1
        need(rows == len(shown), "csv:", rows, "rows of", len(shown), "events")
        with open(f"{work}/x.txt", "rb") as file:
            rows = sum(1 for line in file if line[:2] == b"20")
        need(rows == len(shown), "text:", rows, "lines of", len(shown), "events")
        out = subprocess.run(["babeltrace2", f"{work}/x.ctf"], capture_output=True, check=False)
        rows = sum(1 for line in out.stdout.split(b"\n") if b"}" in line)
        need(rows == len(shown), "ctf:", rows, "events of", len(shown), out.stderr[-200:])
        stacks = sum("stack" in e["fields"] for e in shown)
        if os.path.exists(f"{work}/x.folded"):
            with open(f"{work}/x.folded", encoding="utf-8", errors="replace") as file:
                rows = sum(int(line.rsplit(" ", 1)[1]) for line in file)
            need(rows == stacks, "folded:", rows, "of", stacks, "events with stacks")

    def check_all(self, work, reader, pb):
        for name, suffix in FORMATS.items():
            trace_ctl("export", "-q", "-f", name, "-o", f"{work}/x.{suffix}", *reader,
                      self.directory, statuses=(0, 1, 3) if name == "folded" else (0, 3))
        trace_ctl("report", "-q", "-o", f"{work}/x.html", *reader, self.directory)
        strace = claims.of_strace(trace_ctl("dump", "--strace", "--utc", *reader, self.directory))
        for source, found in (("report", self.check_page(f"{work}/x.html", reader)),
                              ("json", claims.of_json(f"{work}/x.json")),
                              ("perfetto", claims.of_perfetto(f"{work}/x.pftrace", pb)),
                              ("otf2", claims.of_otf2(f"{work}/x.otf2")), ("strace", strace)):
            done["spans"] += len(found)
            try:
                for claim in found:
                    self.check(claim, reader)
            except Wrong as e:
                raise Wrong(f"{source}: {e}") from e
        self.check_rows(work, reader)
        if not reader:
            self.check_figures(strace)
        for path in pathlib.Path(work).glob("x.*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def run_random(r, work, env):
    """A random recording"""
    env["TSCTRACE_PROVIDER"] = "embedded"
    try:
        what = record(r, work, env)
    finally:
        end_all()
    parts = {part: events_of(f"{work}/{part}") for part in ("r", "s")
             if os.path.exists(f"{work}/{part}/metadata")}
    truth = Truth(f"{work}/truth", sum(parts.values(), []))
    if len(parts) == 2:
        trace_ctl("merge", "-q", "--force", "--salvage", "-o", f"{work}/merged", f"{work}/r",
                  f"{work}/s")
        parts["merged"] = events_of(f"{work}/merged")
    ends = []
    for part, events in parts.items():
        recording = Recording(f"{work}/{part}", truth, events, part == "merged")
        ends.append(recording.end)
        # A merged recording does not say when each recorder ended.
        recording.limit = min(ends) if recording.merged else recording.limit
        for reader in ([], reader_options(r, events)):
            try:
                recording.check_all(work, reader, run_random.pb)
            except (Wrong, AssertionError) as e:
                raise Wrong(f"{what}: {part} {' '.join(reader)}: {e}") from e


if __name__ == "__main__":
    os.makedirs(DIR, exist_ok=True)
    run_random.pb = claims.perfetto_reader(str(PROTO), DIR)
    status = account.main([run_random], "recordings without a fault")
    print(", ".join(f"{nr} {what}" for what, nr in done.items()))
    sys.exit(status or not done["spans"])
