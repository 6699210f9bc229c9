#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
known_random.py CTL HELPERS DIR TURNS SEED [FIRST]

Makes TURNS random recordings of random loads, with all filters and limits of the recorder, losses
in small rings, flight recorders, recorders that are killed, files that are cut off, and merges.
Passes each through every verb and export, with random filters of the reader, and checks that
nothing drawn, printed or exported covers a time in which it could not be known.

Three things tell what is known, none of them from the code that decides it:
- the numbers of the load (spans.c): a begin and an end with other numbers are two spans;
- a second recording of the same time, of all threads without filters and losses: a thread that is
  said to run on a CPU is not switched away there, and a call that is said to last makes no other;
- the headers of the packets, and babeltrace2, for the times of losses.

Prints a line for each turn in which something is wrong; the number of a turn and SEED determine
it but for the times of the machine. FIRST: number of the first turn. KEEP=1 keeps the files of
such a turn. LONG: seconds after which no further turn begins. Exit status: 0: nothing was wrong.
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

import known_claims as claims
import unknowncheck

CTL, HELPERS, DIR = (os.path.abspath(a) for a in sys.argv[1:4])
TURNS, SEED = int(sys.argv[4]), sys.argv[5]
FIRST = int(sys.argv[6]) if len(sys.argv) > 6 else 0
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROTO = TOP / "tools/wings/formats/export_perfetto.proto"
LOAD = f"{HELPERS}/spans"
CPUS = sorted(os.sched_getaffinity(0))
WAIT_S = 240		# longest time of anything, on a machine that is busy
NEAR_NS = 200_000	# two recorders note the same event within this time
LATE_NS = 5_000_000	# longest time between an end that is seen by one of them and by the other
FORMATS = {"json": "json", "csv": "csv", "text": "txt", "perfetto": "pftrace", "otf2": "otf2",
           "ctf": "ctf", "folded": "folded"}
CGROUPS = next((p for p in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
                if os.path.exists(p + "/cgroup.procs")), None)


class Wrong(Exception):
    """Something is stated that cannot be known."""


def need(true, *what):
    if not true:
        raise Wrong(" ".join(map(str, what)))


def wait_for(what, true):
    end = time.monotonic() + WAIT_S
    while not true():
        need(time.monotonic() < end, "waited for", what)
        time.sleep(0.01)


def trace_ctl(*words, env=None, statuses=(0, 3)):
    done = subprocess.run([CTL, *words], text=True, capture_output=True, timeout=WAIT_S,
                          check=False, env=env, errors="surrogateescape")
    need(done.returncode in statuses, "trace-ctl", *words, "has status", done.returncode,
         done.stderr.strip()[-300:])
    return done.stdout


# --- recording ------------------------------------------------------------------------------

running = []	# processes of this turn


def start(words, env, **more):
    process = subprocess.Popen(words, env=env, **more)
    running.append(process)
    return process


def end_all():
    """Ends what a turn that failed has left: the kernel keeps what a recorder attached."""
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait()
    running.clear()


class Recorder:
    """A recorder in the background"""

    def __init__(self, out, words, env):
        self.flight = "-f" in words
        end = [] if self.flight else ["--duration", str(WAIT_S)]
        self.process = start([CTL, "record", "-q", "-o", out, *end, *words], env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # A flight recorder writes files at its end only; it may end before it has begun.
        if not self.flight:
            wait_for("a recording", lambda: os.path.exists(f"{out}/metadata") or self.ended())
        if self.ended():
            raise Wrong(f"no recording: {words} {self.why()}")

    def ended(self):
        return self.process.poll() is not None

    def why(self):
        return self.process.stderr.read().decode(errors="replace")[-300:]

    def end(self, how=signal.SIGINT):
        if not self.ended():
            self.process.send_signal(how)
        self.process.wait(WAIT_S)
        if how != signal.SIGKILL and self.process.returncode not in (0, 3) and not self.flight:
            raise Wrong(f"the recorder ended with {self.process.returncode}: {self.why()}")


def snapshot(out, env):
    """Copies the flight recorders. Returns true when they have kernel events."""
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([CTL, "snapshot", "-q", "-o", out], env=env, check=False,
                          capture_output=True)
    return done.returncode in (0, 3) and bool(list(pathlib.Path(out).glob("kernel_*")))


def load(r, small):
    words = {"threads": r.randint(1, 4), "loops": int(10 ** r.uniform(1.5, 3.3)),
             "pause": r.choice([0, 0, 100, 2000]), "seed": r.randint(1, 10 ** 6),
             "move": r.randint(0, 1), "burst": r.choice([500, 2000]) if small else 0}
    if words["pause"]:
        words["loops"] = min(words["loops"], 300)
    if r.random() < 0.2:
        words["kill"] = int(10 ** r.uniform(3, 5))
    return [LOAD] + [f"{k}={v}" for k, v in words.items()]


def options(r):
    """Returns the recorder's words, and flags of what they hide."""
    kinds = r.choice([["sched", "syscalls"], ["sched", "syscalls"], ["syscalls"], ["sched"],
                      ["sched", "sys_enter", "sys_exit"], ["sys_enter", "sys_exit"]])
    if r.random() < 0.5:
        kinds = kinds + [f"uprobe:{LOAD}:work(n=%di:s32)", f"uretprobe:{LOAD}:work(m=%ax:s32)"]
    words = [w for kind in kinds for w in ("-e", kind)]
    if r.random() < 0.5:
        words += ["--block-size", "4096", "--blocks", r.choice(["2", "2", "4"])]
    if r.random() < 0.2:
        words += ["--rate-limit", str(int(10 ** r.uniform(0.5, 4)))]
    if r.random() < 0.2:
        words += ["--cpu", str(r.choice(CPUS))]
    if r.random() < 0.15:
        words += ["--comm", r.choice(["spans", "other", "true"])]
    if r.random() < 0.2:
        where = r.choice(["ret < 0", "ret >= 0", "fd == 3", "next_prio >= 120", "n & 2", "m & 4",
                          "n & 8", "prev_prio < 130", "id == 0"])
        fields = {"n": "uprobe", "m": "uprobe", "next_prio": "sched", "prev_prio": "sched",
                  "id": "sys_enter", "fd": "syscalls", "ret": "sys"}
        if any(k.startswith(fields[where.split()[0]]) for k in kinds):
            words += ["--where", where]
    if r.random() < 0.1:
        words += ["--timestamps", r.choice(["tsc/16", "tsc/256", "interpolated", "system"])]
    if r.random() < 0.1 and "uprobe" not in " ".join(kinds):
        words += ["--stack"]
    return words


def reader_options(r, events):
    """A random filter of the reader, and what it selects, as a function of an event"""
    kind = r.choice(["none", "none", "cpu", "tid", "event", "kind", "time"])
    if kind == "none" or not events:
        return []
    e = r.choice(events)
    if kind == "cpu":
        return ["--cpu", str(e["cpu"])]
    if kind == "tid":
        return ["--tid", str(e["tid"])]
    if kind == "event":
        return ["--event", e["event"]]
    if kind == "kind":
        return ["--event", f"*/{e['kind']}"]
    first, last = sorted((r.choice(events)["ns"], e["ns"]))
    return ["--from", str(first), "--to", str(last + 1)]


def record(r, work, env):
    """Makes a random recording, and the one of everything. Returns what it is."""
    words = options(r)
    way = r.choice(["command", "command", "all", "late", "late", "flight", "killed", "cut",
                    "cgroup" if CGROUPS else "command"])
    # All calls of all threads are many on a busy machine.
    if way in ("all", "killed", "flight") and "--comm" not in words:
        words += ["--comm", "spans"]
    # A flight recorder needs more blocks.
    if way == "flight" and "--blocks" in words:
        words[words.index("--blocks") + 1] = "4"
    truth = Recorder(f"{work}/truth", ["-a", "-e", "sched", "-e", "syscalls"], env)
    second = Recorder(f"{work}/s", ["-a", "--comm", "spans", "-e", "sched", "-e", "syscalls"],
                      env) if r.random() < 0.3 else None
    group = f"{CGROUPS}/tsct{os.getpid()}"
    programs = [load(r, "--blocks" in words) for _ in range(r.choice([1, 1, 2]))]
    try:
        if way in ("command", "cut"):
            shell = " & ".join(" ".join(p) for p in programs) + " & wait"
            trace_ctl("record", "-q", *words, "-o", f"{work}/r", "--", "sh", "-c", shell, env=env)
        else:
            if way == "cgroup":
                os.mkdir(group)
                words += ["--cgroup", group]
                programs = [["sh", "-c", f"echo $$ >{group}/cgroup.procs; exec " + " ".join(p)]
                            for p in programs]
            first = 0 if way in ("late", "flight") else len(programs)
            loads = [start(p, env, stderr=subprocess.DEVNULL) for p in programs[first:]]
            if way == "late" or (way == "flight" and r.random() < 0.5):
                words += ["-p", ",".join(str(p.pid) for p in loads)]
            else:
                words += ["-a"]
            if way == "flight":
                words += ["-f"]
            recorder = Recorder(f"{work}/{'f' if way == 'flight' else 'r'}", words, env)
            loads = loads or [start(p, env, stderr=subprocess.DEVNULL) for p in programs]
            if way == "killed":
                time.sleep(r.uniform(0, 0.5))
                recorder.end(signal.SIGKILL)
            if way == "flight":
                wait_for("a snapshot", lambda: recorder.ended() or snapshot(f"{work}/r", env) or
                         all(p.poll() is not None for p in loads))
            for p in loads:
                need(p.wait(WAIT_S) in (0, -signal.SIGKILL), "the load has status", p.returncode)
            if way != "killed":
                recorder.end()
    finally:
        if second:
            second.end()
        truth.end()
        if os.path.isdir(group):
            wait_for("an empty cgroup", lambda: not open(f"{group}/cgroup.procs").read())
            os.rmdir(group)
    if way == "cut":
        cut(r, f"{work}/r")
    return f"{way}: {' '.join(words)}"


def cut(r, directory):
    files = sorted(p for p in pathlib.Path(directory).glob("*_*") if p.stat().st_size)
    if files:
        path = r.choice(files)
        os.truncate(path, r.randint(0, path.stat().st_size - 1))


# --- what is known ----------------------------------------------------------------------------

def events_of(directory, *more):
    events = [json.loads(line) for line in trace_ctl("dump", "--json", *more, directory).split("\n")
              if line.startswith("{\"time_ns")]
    for e in events:
        e["ns"] = int(e["time_ns"])
    return events


class Truth:
    """What really happened, by the recording of everything"""

    def __init__(self, directory, tids, span):
        figures = json.loads(trace_ctl("stat", "--json", directory))
        self.whole = figures["sum"]["exact"] and not figures["sum"]["lost"]
        self.ends, self.begins = collections.defaultdict(list), collections.defaultdict(list)
        self.switches, self.longest = collections.defaultdict(list), collections.Counter()
        open_calls = {}
        # Lines of dump, without those of other threads' calls: there are many
        for e in events_of(directory, "--event", "sys_*", *span,
                           *(["--tid", tids] if tids else [])):
            tid = e["tid"]
            if e["kind"] == "begin":
                self.begins[tid].append(e["ns"])
                open_calls[tid] = e
            elif e["kind"] == "end":
                self.ends[tid].append(e["ns"])
                begin = open_calls.pop(tid, None)
                if begin:
                    self.longest[e["event"]] = max(self.longest[e["event"]], e["ns"] - begin["ns"])
        for line in trace_ctl("dump", "--event", "sched_switch", "--utc", *span,
                              directory, statuses=(0, 1, 3)).split("\n"):
            words = line.split(None, 3)
            if len(words) == 4 and words[3].startswith("sched_switch"):
                self.switches[int(words[1][1:-1])].append(
                    (claims.ns_of(words[0]), "_comm=\"trace-ctl\"" in words[3]))

    def check_call(self, claim, end):
        if not self.whole or not claim.name.startswith("sys_"):
            return
        until, margin = (end, NEAR_NS) if not claim.last else (claim.end or end, LATE_NS)
        ends, begins = self.ends[claim.tid], self.begins[claim.tid]
        at = bisect.bisect_right(ends, claim.begin + NEAR_NS)
        if at == len(ends) or ends[at] >= until - margin:
            return
        if claim.last:
            need(False, "it has ended:", claim, ends[at])
        at = bisect.bisect_left(begins, ends[at])
        need(at == len(begins) or begins[at] >= until - margin, "there is another call in it:",
             claim, begins[at:at + 1])

    def check_run(self, run):
        cpu, tid, begin, until, ended = run
        if not self.whole:
            return
        switches = self.switches[cpu]
        margin = NEAR_NS if ended else LATE_NS
        inside = switches[bisect.bisect_right(switches, (begin + NEAR_NS,)):
                          bisect.bisect_left(switches, (until - margin,))]
        inside = [ns for ns, own in inside if tid or not own]
        need(len(inside) < (2 if ended else 1), "it was switched away:", run, inside[:3])


# --- checks ------------------------------------------------------------------------------------

class Recording:
    """A recording, and what is known of it without the code that is checked"""

    def __init__(self, directory, truth, merged):
        self.directory, self.truth, self.merged = directory, truth, merged
        self.events = events_of(directory)
        self.losses = [] if merged else unknowncheck.losses_of(directory)
        self.last = self.end = max([e["ns"] for e in self.events], default=0)
        channels = collections.defaultdict(set)
        self.ends = collections.defaultdict(list)
        for e in self.events:
            channels[e["event"]].add(e["channel"])
            if e["kind"] == "end":
                self.ends[e["tid"], e["event"], e["fields"].get("m")].append(e["ns"])
        self.lost = {name: [sorted(x[2:] for x in self.losses if x[0] == channel and x[1] == cpu)
                            for channel in where for cpu in {x[1] for x in self.losses}]
                     for name, where in channels.items()}

    def check(self, source, claim):
        what = f"{source}:"
        end = self.end if claim.end is None else claim.end
        need(None in (claim.n, claim.m) or claim.n == claim.m, what, "two spans:", claim)
        if claim.n is not None and claim.last:
            ends = self.ends[claim.tid, claim.name, claim.n]
            need(not any(claim.begin <= ns < end for ns in ends), what, "it has ended:", claim,
                 ends)
        for times in self.lost.get(claim.name, []):
            need(claim.end is None or not unknowncheck.overlaps(claim.begin, end, times), what,
                 "events were lost:", claim)
        try:
            self.truth.check_call(claim, end)
        except Wrong as e:
            raise Wrong(what, str(e)) from e

    def check_figures(self):
        figures = json.loads(trace_ctl("stat", "--json", self.directory))
        trace_ctl("stat", "-a", self.directory)
        for call in figures["system_calls"] or []:
            name = "sys_" + call["name"]
            need((call["max_ns"] is None) == (not call["timed"]), "stat:", call)
            if self.truth.whole and call["timed"]:
                need(call["max_ns"] < self.truth.longest[name] + 2 * NEAR_NS, "stat:", call,
                     "lasts at most", self.truth.longest[name])
        if self.losses and any(loss[0] == "kernel" for loss in self.losses):
            for t in figures["threads"]:
                need(t["switched_in"] is None or not any(
                    e["event"] == "sched_switch" for e in self.events),
                    "stat: switches were lost, and are counted:", t)

    def check_page(self, page, reader):
        spans, runs, end = claims.of_page(page)
        for claim in spans:
            self.check("report", claim)
        for run in runs:
            self.truth.check_run(run)
        if not reader and not self.merged and self.events:
            unknowncheck.check_runs(runs, end, self.events, self.losses, True)
        return len(spans) + len(runs)

    def check_rows(self, work, reader):
        """Exports of events are those that dump prints with the same filter."""
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

    def check_all(self, work, reader, pb):
        self.end = min([self.last] + [int(to) for to in reader[3:] if "--to" in reader])
        for name, suffix in FORMATS.items():
            trace_ctl("export", "-q", "-f", name, "-o", f"{work}/x.{suffix}", *reader,
                      self.directory, statuses=(0, 1, 3) if name == "folded" else (0, 3))
        trace_ctl("report", "-q", "-o", f"{work}/x.html", *reader, self.directory)
        count = self.check_page(f"{work}/x.html", reader)
        strace = trace_ctl("dump", "--strace", "--utc", *reader, self.directory)
        for source, found in (("json", claims.of_json(f"{work}/x.json")),
                              ("perfetto", claims.of_perfetto(f"{work}/x.pftrace", pb)),
                              ("otf2", claims.of_otf2(f"{work}/x.otf2")),
                              ("strace", claims.of_strace(strace))):
            for claim in found:
                self.check(source, claim)
            count += len(found)
        self.check_rows(work, reader)
        self.check_figures()
        return count


def remove_exports(work):
    for path in pathlib.Path(work).glob("x.*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def turn(r, work, env, pb):
    what = record(r, work, env)
    # A flight recorder whose programs had ended before it began has no snapshot.
    if not os.path.exists(f"{work}/r/metadata"):
        return 0, False, 0
    try:
        events = [e for part in ("r", "s") if os.path.isdir(f"{work}/{part}")
                  for e in events_of(f"{work}/{part}")]
        tids = {e["tid"] for e in events if e["event"].startswith("sys_")}
        times = [e["ns"] for e in events] or [0]
        # A call or a time on a CPU may have begun before.
        truth = Truth(f"{work}/truth", ",".join(map(str, sorted(tids))),
                      ["--from", str(min(times) - 10 ** 9), "--to", str(max(times) + 10 ** 9)]
                      if events else [])
        inputs = [(f"{work}/r", False)]
        if os.path.isdir(f"{work}/s"):
            trace_ctl("merge", "-q", "--force", "--salvage", "-o", f"{work}/merged", f"{work}/r",
                      f"{work}/s")
            inputs.append((f"{work}/merged", True))
        count = 0
        for directory, merged in inputs:
            rec = Recording(directory, truth, merged)
            for reader in ([], reader_options(r, rec.events)):
                try:
                    count += rec.check_all(work, reader, pb)
                except (Wrong, AssertionError) as e:
                    raise Wrong(f"{os.path.basename(directory)} {' '.join(reader)}: {e!r}") from e
                remove_exports(work)
        return count, truth.whole, len(rec.losses)
    except (Wrong, AssertionError) as e:
        raise Wrong(f"{what}: {e}") from e


def main():
    env = {k: v for k, v in os.environ.items() if not k.startswith("TSCTRACE_")}
    env |= {"TSCTRACE_RUN_DIR": f"{DIR}/run", "XDG_RUNTIME_DIR": f"{DIR}/user",
            "TSCTRACE_PROVIDER": "embedded"}
    for name in "run", "user":
        os.makedirs(f"{DIR}/{name}", exist_ok=True)
    pb = claims.perfetto_reader(str(PROTO), DIR)
    print(f"seed {SEED}, {TURNS} turns", flush=True)
    good = whole = lossy = 0
    sum_claims = 0
    begin, turns = time.monotonic(), 0
    for number in range(FIRST, FIRST + TURNS):
        if turns and time.monotonic() - begin > float(os.environ.get("LONG", "inf")):
            break
        turns += 1
        work = f"{DIR}/{number}"
        os.mkdir(work)
        try:
            count, is_whole, losses = turn(random.Random(f"{SEED}:{number}"), work, dict(env), pb)
            good, whole, lossy = good + 1, whole + is_whole, lossy + bool(losses)
            sum_claims += count
            shutil.rmtree(work)
        except (Wrong, subprocess.TimeoutExpired, OSError, ValueError, KeyError,
                AssertionError) as e:
            print(f"turn {number} of seed {SEED}: {e!r}; {work}", flush=True)
            end_all()
            if "KEEP" not in os.environ:
                shutil.rmtree(work)
        if turns % 20 == 0:
            print(f"{turns} turns, {good} without a fault, {lossy} with losses", flush=True)
    print(f"{good} of {turns} turns without a fault; {sum_claims} spans; beside {whole} whole"
          f" recordings of everything; {lossy} with losses")
    need(sum_claims, "nothing is drawn, printed or exported")
    return good != turns


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(main())
    finally:
        end_all()
