#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
account.py CTL DAEMON HELPERS DIR RUNS SEED [FIRST]

Makes RUNS random recordings, and checks the account of each from outside: programs count their
own events (account.c), and in the recording as many must be recorded, lost, refused, or dropped
by the rate limit, but for those that a filter leaves out. A program that was killed has counted
one event of each thread too few or too many. Tracepoints are counted by BPF programs of the test
(count_events.c), to the unit, also those of programs that are killed. The exit status must be 3
where something is missing, else 0.

Prints a line for each account that does not close, with its run, which can be repeated: the
number of a run and SEED determine it. FIRST: number of the first run. Exit status: 0: all closed.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

CTL, DAEMON, HELPERS, DIR = (os.path.abspath(a) for a in sys.argv[1:5])
RUNS, SEED = int(sys.argv[5]), sys.argv[6]
FIRST = int(sys.argv[7]) if len(sys.argv) > 7 else 0
HERE = pathlib.Path(__file__).resolve().parent
LIB = pathlib.Path(CTL).parent.parent / "lib/libtsctrace.so"
PROGRAM = f"{HELPERS}/account"
CPUS = sorted(os.sched_getaffinity(0))
KERNEL = os.environ.get("ACCOUNT_KERNEL") != "no"
WAIT_S = 240			# longest time of anything, on a machine that is busy


class Wrong(Exception):
    """The account does not close."""


def wait_for(what, true):
    end = time.monotonic() + WAIT_S
    while not true():
        if time.monotonic() > end:
            raise Wrong(f"waited for {what}")
        time.sleep(0.01)


class Program:
    """One program, and its own counts"""

    def __init__(self, r, path, kind, **more):
        self.path, self.kind, self.program = path, kind, PROGRAM
        self.words = {
            "threads": r.randint(1, 4), "events": int(10 ** r.uniform(0, 4)),
            "pause": r.choice([0, 0, 10, 1000]),
        }
        if kind == "user":
            self.words |= {
                "types": r.choice([1, 3, 500, 1000]), "size": r.choice([0, 8, 100, 2000]),
                "large": r.choice([0, 0, 0, 7]),
            }
        if r.random() < 0.4:
            self.words["kill"] = int(10 ** r.uniform(1, 5))
        self.words |= more

    def argv(self):
        return [self.program, self.path, self.kind] + [f"{k}={v}" for k, v in self.words.items()]

    def read(self):
        with open(self.path, "rb") as file:
            data = file.read()
        return struct.unpack(f"{len(data) // 8}Q", data)

    def started(self, state):
        return os.path.exists(self.path) and len(c := self.read()) and c[0] >= state

    def between(self, passes, late):
        """Returns the least and the largest number of events that a recorder can have seen, of
        those whose numbers pass; late: not the early ones."""
        counts = self.read()
        early, low, high = self.words.get("early", 0), 0, 0
        for thread in range(8):
            before, after = counts[2 + 7 * thread:4 + 7 * thread]
            skip = early if thread == 0 else 0
            for count, add in (before, "high"), (after, "low"):
                nr = passes(max(count - skip, 0)) + (0 if late else passes(min(count, skip)))
                if add == "high":
                    high += nr
                else:
                    low += nr
        return low, high


def shell(words):
    return " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)


def trace_ctl(words, env, **more):
    return subprocess.run([CTL, *words], env=env, text=True, capture_output=True,
                          timeout=WAIT_S, check=False, **more)


def rings(r):
    return r.choice([[], [], ["--block-size", "4096", "--blocks", "2"],
                     ["--block-size", "4096", "--blocks", "16"]])


def check(out, status, low, high, misses=0):
    """Compares a recording with the numbers of events that it must account for. Returns its
    figures."""
    stat = subprocess.run([CTL, "stat", "--json", out], text=True, capture_output=True,
                          timeout=WAIT_S, check=False)
    if stat.returncode not in (0, 3):
        raise Wrong(f"stat: {stat.stderr}")
    figures = json.loads(stat.stdout)
    account = figures["sum"]
    no_ring = figures.get("lost_no_ring", 0)
    total = (account["recorded"] + account["lost"] + account["never_published"] + no_ring +
             account["dropped_by_rate_limit"])
    says = (f"{low} to {high} events, {account['recorded']} recorded + {account['lost']} lost + "
            f"{account['never_published']} never published + "
            f"{account['dropped_by_rate_limit']} limited, up to {misses} missed")
    if not account["exact"] or account["published"] != account["recorded"] + account["lost"]:
        raise Wrong(f"not exact: {says}")
    if not low - misses <= total <= high:
        raise Wrong(says)
    if figures["events"] != account["recorded"]:
        raise Wrong(f"{figures['events']} events in the files: {says}")
    missing = account["lost"] + account["never_published"] + no_ring
    if status != (3 if missing else 0):
        raise Wrong(f"exit status {status}: {says}")
    if stat.returncode != (3 if missing else 0):
        raise Wrong(f"exit status of stat {stat.returncode}: {says}")
    return figures


def contained(r, programs):
    """Returns a command that runs the programs together, each in namespaces of its own."""
    inner = [shell(p.argv()) for p in programs]
    if r.random() < 0.3:
        flags = r.choice(["--pid", "--pid --mount", "--pid --net --ipc", "--mount --uts",
                          "--time --pid --monotonic 1000 --boottime 1000"])
        fork = "--fork" if "--pid" in flags else ""
        inner = [f"unshare {flags} {fork} sh -c {shell([i + '; true'])}" for i in inner]
    return " & ".join(inner) + " & wait"


def last_json(text):
    """The summary of record --json, behind what programs have printed"""
    return json.loads(text[text.index("{"):]) if "{" in text else {}


def run_user(r, work, env):
    programs = [Program(r, f"{work}/counts{i}", "user") for i in range(r.choice([1, 1, 2, 3]))]
    command = contained(r, programs)
    if r.random() < 0.04:	# no definition fits any more
        command = f"{HERE}/fill_definitions.py {LIB} >/dev/null; {command}"
    size = rings(r)
    if r.random() < 0.04:	# the rings cannot be mapped
        command, size = f"ulimit -v 30000; {command}", ["--block-size", "65536", "--blocks", "512"]
    env["TSCTRACE_PROVIDER"] = "embedded"
    done = trace_ctl(["record", "-q", *size, "-o", f"{work}/r", "--", "sh", "-c", command],
                     env)
    bounds = [p.between(lambda n: n, False) for p in programs]
    check(f"{work}/r", done.returncode, sum(b[0] for b in bounds), sum(b[1] for b in bounds))


def run_late(r, work, env):
    """The program has been emitting events into a channel of the daemon."""
    name = f"c{os.getpid()}-{time.monotonic_ns()}"
    env |= {"TSCTRACE_PROVIDER": "daemon", "TSCTRACE_CHANNEL": name}
    program = Program(r, f"{work}/counts", "user", early=r.randint(1, 300))
    unread = r.random() < 0.5
    trace_ctl(["channel", "create", name, *rings(r)], env)
    try:
        with subprocess.Popen(program.argv(), env=env) as running:
            wait_for("early events", lambda: program.started(2))
            record = [CTL, "record", "-q", "-c", name, "-o", f"{work}/r"]
            with subprocess.Popen(record + ["--unread"] * unread, env=env,
                                  stderr=subprocess.DEVNULL) as recorder:
                wait_for("the recording", lambda: os.path.exists(f"{work}/r/metadata") or
                         recorder.poll() is not None)
                open(f"{work}/go", "w").close()
                running.wait(WAIT_S)
                recorder.send_signal(signal.SIGINT)
                status = recorder.wait(WAIT_S)
        check(f"{work}/r", status, *program.between(lambda n: n, not unread))
    finally:
        trace_ctl(["channel", "remove", name], env)


def run_kernel(r, work, env):
    """Calls of a function, or system calls, with filters and rate limits"""
    late = r.random() < 0.3
    cpu = r.choice([-1, -1, r.choice(CPUS)])
    more = {"cpu": cpu}
    if late:
        more["early"] = r.randint(1, 100)
    programs = [Program(r, f"{work}/counts{i}", "calls", **more)
                for i in range(1 if late else r.choice([1, 1, 2]))]
    probe = r.random() < 0.6
    options = ["-e", f"uprobe:{PROGRAM}:work(n=%di:s32)" if probe else
               "syscalls:sys_enter_getsid", *rings(r)]
    low, high = 0, 10 ** 9
    if probe and r.random() < 0.3:
        low, high = sorted((int(10 ** r.uniform(0, 4)), int(10 ** r.uniform(0, 4))))
        options += ["--where", f"work:n >= {low} && work:n < {high}"]
    passing = [True]
    if r.random() < 0.4:
        options += ["--rate-limit", str(int(10 ** r.uniform(0.5, 5)))]
    if cpu >= 0 and r.random() < 0.5:
        chosen = r.choice(CPUS)
        options += ["--cpu", str(chosen)]
        passing.append(chosen == cpu)
    if r.random() < 0.2:
        comm = r.choice(["account", "other"])
        options += ["--comm", comm]
        passing.append(comm == "account")

    def passes(count):
        return max(0, min(count, high) - low) if all(passing) else 0

    env["TSCTRACE_PROVIDER"] = "embedded"
    record = [CTL, "record", "--json", *options, "-o", f"{work}/r"]
    if late:
        with subprocess.Popen(programs[0].argv(), env=env) as running:
            wait_for("early calls", lambda: programs[0].started(2))
            out, status, _ = attach(record, running, work, env)
    else:
        done = trace_ctl(record[1:] + ["--", "sh", "-c", contained(r, programs)], env)
        out, status = done.stdout, done.returncode
    bounds = [p.between(passes, late) for p in programs]
    check(f"{work}/r", status, sum(b[0] for b in bounds), sum(b[1] for b in bounds),
          last_json(out).get("kernel_misses", 0))


def attach(record, running, work, env, at_end=lambda: None):
    """Records a running program, which is let go on, until its end. Returns the output of record,
    its exit status, and the result of at_end(), which is called before record is ended."""
    with subprocess.Popen(record + ["-p", str(running.pid)], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
        wait_for("the recording", lambda: os.path.exists(f"{work}/r/metadata") or
                 recorder.poll() is not None)
        open(f"{work}/go", "w").close()
        running.wait(WAIT_S)
        result = at_end()
        recorder.send_signal(signal.SIGINT)
        out = recorder.communicate(timeout=WAIT_S)[0]
    return out, recorder.returncode, result


class Counter:
    """Counts the events of tracepoints that threads of one name cause, with BPF programs that
    are the test's own."""

    def __init__(self, name, tracepoints):
        self.process = subprocess.Popen(
            [f"{HELPERS}/count_events", name, *tracepoints, "sched_process_exit", "dead"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "counts\n":
            raise Wrong("nothing counts tracepoints")

    def end(self):
        """Returns of each tracepoint the least and the largest number of events."""
        lines = self.process.communicate(timeout=WAIT_S)[0].split("\n")[:-1]
        words = [line.split() for line in lines]
        return {w[0]: (int(w[1]), int(w[1]) + int(w[2])) for w in words}


# Tracepoints: the event for -e, and a pattern of those of the recording with their kinds
TRACEPOINTS = {
    "sched_switch": ("sched_switch", r"sched_switch/instant"),
    "sys_enter": ("syscalls", r"sys_\w+/begin"),
    "sys_exit": ("syscalls", r"sys_\w+/end"),
    "sched_wakeup": ("sched:sched_wakeup", r"sched_wakeup/instant"),
    "task_newtask": ("task:task_newtask", r"task_newtask/instant"),
    "signal_generate": ("signal:signal_generate", r"signal_generate/instant"),
    # in interrupts, in the name of the thread that was interrupted
    "hrtimer_start": ("timer:hrtimer_start", r"hrtimer_start/instant"),
    "softirq_entry": ("irq:softirq_entry", r"softirq_entry/instant"),
}


def run_tracepoints(r, work, env):
    """Tracepoints of programs, from their begin or from a pause on, until they have ended"""
    late = r.random() < 0.4
    name = f"a{os.getpid() % 1000000}-{work.rsplit('/', 1)[1]}"[-15:]
    more = {"early": r.randint(1, 100)} if late else {}
    programs = [Program(r, f"{work}/counts{i}", "calls", **more)
                for i in range(1 if late else r.choice([1, 1, 2]))]
    os.symlink(PROGRAM, f"{work}/{name}")
    os.mkfifo(f"{work}/go")
    for program in programs:
        program.program = f"{work}/{name}"
    chosen = r.sample(sorted(TRACEPOINTS), r.randint(1, len(TRACEPOINTS)))
    if "sys_enter" in chosen or "sys_exit" in chosen:
        chosen = sorted({*chosen, "sys_enter", "sys_exit"})
    options = ["--comm", name, *rings(r), "-v"]
    for event in sorted({TRACEPOINTS[c][0] for c in chosen}):
        options += ["-e", event]
    if "sched_switch" in chosen:	# not those to threads of the name
        options += ["--where", f"sched_switch:prev_comm == {name}"]
    if r.random() < 0.3:
        options += ["--rate-limit", str(int(10 ** r.uniform(0.5, 5)))]
    env["TSCTRACE_PROVIDER"] = "embedded"
    record = [CTL, "record", "--json", *options, "-o", f"{work}/r"]
    if not late:
        counter = Counter(name, chosen)
        record += ["-a"] * (r.random() < 0.3)
        # A thread that has ended may be switched away from when others know of its end.
        command = contained(r, programs) + \
            f"; touch {work}/ended; while [ ! -e {work}/quiet ]; do sleep 0.02; done"
        with subprocess.Popen(record + ["--", "sh", "-c", command], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
            wait_for("the programs", lambda: os.path.exists(f"{work}/ended") or
                     recorder.poll() is not None)
            counts = counter.end()
            open(f"{work}/quiet", "w").close()
            out = recorder.communicate(timeout=WAIT_S)[0]
            status = recorder.returncode
    else:
        with subprocess.Popen(programs[0].argv(), env=env) as running:
            wait_for("a pause", lambda: programs[0].started(2) and in_openat(running.pid))
            counter = Counter(name, chosen)
            out, status, counts = attach(record, running, work, env, counter.end)
    misses = last_json(out).get("kernel_misses", 0)
    try:
        figures = check(f"{work}/r", status, sum(counts[c][0] for c in chosen),
                        sum(counts[c][1] for c in chosen), misses)
    except Wrong as e:
        raise Wrong(f"{e}; {counts}") from e
    for event in chosen:
        recorded = sum(e["count"] for e in figures["by_event"] if
                       re.fullmatch(TRACEPOINTS[event][1], f"{e['event']}/{e['kind']}"))
        low, high = counts[event]
        if not (0 if loses(figures) else low - misses) <= recorded <= high:
            raise Wrong(f"{event}: {recorded} recorded, {low} to {high} counted")


def in_openat(pid):
    with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
        return file.read().startswith("257 ")


def loses(figures):
    account = figures["sum"]
    return account["lost"] + account["never_published"] + account["dropped_by_rate_limit"] > 0


def main():
    closed = 0
    base = {k: v for k, v in os.environ.items() if not k.startswith("TSCTRACE_")}
    base |= {"TSCTRACE_RUN_DIR": f"{DIR}/run", "XDG_RUNTIME_DIR": f"{DIR}/user"}
    for name in "run", "user":
        os.makedirs(f"{DIR}/{name}", exist_ok=True)
    print(f"seed {SEED}, {RUNS} runs", flush=True)
    with open(f"{DIR}/daemon.log", "w", encoding="utf-8") as log, \
            subprocess.Popen([DAEMON], env=base, stderr=log) as daemon:
        try:
            wait_for("the daemon", lambda: os.path.exists(f"{DIR}/run/socket") or
                     b"synchronized" in open(f"{DIR}/daemon.log", "rb").read())
            for run in range(FIRST, FIRST + RUNS):
                r = random.Random(f"{SEED}:{run}")
                kind = r.choices([run_user, run_late, run_kernel, run_tracepoints],
                                 [4, 2, 3 * KERNEL, 3 * KERNEL])[0]
                work = f"{DIR}/{run}"
                os.mkdir(work)
                try:
                    kind(r, work, dict(base))
                    closed += 1
                    shutil.rmtree(work)
                except (Wrong, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as e:
                    print(f"run {run} of seed {SEED}, {kind.__name__}: {e!r}; {work}", flush=True)
                if run % 100 == 99:
                    print(f"{run + 1 - FIRST} runs, {closed} accounts close", flush=True)
        finally:
            daemon.terminate()
    print(f"{closed} of {RUNS} accounts close")
    return closed != RUNS


if __name__ == "__main__":
    sys.exit(main())
