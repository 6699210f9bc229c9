#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
run.py [all | SUITE]...         run test suites and add up their results
run.py guest [KERNEL]...        the guest suite on these kernels only
run.py fast                     unit tests with fewer seeds and no search for leaks, and the
                                scripts of other suites with `test-fast: yes` in a comment

A suite is a folder beside this file. `unit` consists of build/tests/unit/check_* (libcheck
programs, built here), `guest` of the boots that guest/run.sh plans, any other of its scripts
t_*.sh. A program prints TAP, or its exit status is the result: 0 passed, 77 skipped (its
last line is the reason), else failed. A program that prints less TAP than it planned, exits
with a status that contradicts its results, or exceeds its time limit has failed.

As many programs run at a time as there are CPUs, of all suites together, the longest first;
a guest is one of them. More run, up to twice as many, while those that run mostly wait, as
their CPU time in earlier runs tells. Comments in a script change that:

  test-alone: yes, REASON    nothing runs beside it; for scripts that measure
  test-lock: NAME            not beside another script with this lock
  test-timeout: SECONDS      time limit; without it 300. A limit detects a hang and asserts
                             nothing about time.
  test-seed: NUMBER, REASON  the seed, in place of that of the day
  test-wing: NAME            it tests a wing, and is left out where CORE=1 is set, of which
                             only unit, model, sim and native tests run

TEST=GLOB picks programs by name, in the guest suite tests. TSCT_TIER=all runs everything:
all tests on all kernels, with the large numbers of repeats. SEED=n replaces the seeds of
all tests; without it each program gets a seed made from the date and its name, which its
log contains.

Whole outputs stay in build/test-log/, durations in its file `durations`: they decide the
order of the next run. The table tests/durations has those of the first run. Failures are
printed once more at the end, with their output. The last line is always "N passed, N failed,
N skipped"; the exit status is 0 if something passed and nothing failed.
"""
import contextlib
import datetime
import fnmatch
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
OUT = pathlib.Path(os.path.abspath(os.environ.get("O") or HERE.parent / "build"))
LOGS = OUT / "test-log"
PLAN = OUT / "guest" / "plan"		# what guest/run.sh --plan wrote
CPUS = len(os.sched_getaffinity(0))
CORE = bool(os.environ.get("CORE"))
CORE_SUITES = ["unit", "model", "sim", "native"]
NO_SUITES = {"bench", "demo", "fuzz", "mutants", "packages", "service", "world"}
LIMIT = 300
BUDGET = 25 * 60
GRACE = 10			# seconds between SIGTERM and SIGKILL
LEAST_SHARE = 0.35		# of a CPU, that a program is taken to use
MOST_SHARES = 1.15		# of programs, for each CPU: not all want it at the same time


def environment():
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TEST")}
    env.update(O=str(OUT), CK_TAP_LOG_FILE_NAME="-", CK_VERBOSITY="silent",
               UBSAN_OPTIONS="print_stacktrace=1", TSCT_TIER=tier())
    # The search for leaks at the end of each test takes a quarter of the unit tests' time.
    env.setdefault("ASAN_OPTIONS", f"detect_leaks={int(tier() != 'fast')}")
    return env


def tier():
    return os.environ.get("TSCT_TIER") or "check"


def seed_of(label):
    """The day, and three digits by name: other seeds for each program and each day."""
    day = datetime.date.today().toordinal()
    return os.environ.get("SEED") or str(day * 1000 + zlib.crc32(label.encode()) % 1000)


# --- results of one program ---------------------------------------------------------

class Result:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.skips = []		# "label: reason"
        self.failures = []	# lines to print at the end

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.skips += other.skips
        self.failures += other.failures

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


SKIP = re.compile(r"# *SKIP:? *(.*)", re.I)


def count_tap(lines, label, result):
    """Adds the TAP results of lines, which may be of several programs. Returns the number
    of planned tests, or None if there is no plan."""
    planned = None
    for line in lines:
        skip = SKIP.search(line)
        if line.startswith("ok "):
            if skip:
                name = re.sub(r"^ok \d+ -? ?", "", line[:skip.start()])
                result.skips.append(f"{label}: {name}({skip[1]})")
                result.skipped += 1
            else:
                result.passed += 1
        elif line.startswith("not ok "):
            result.failed += 1
        elif match := re.match(r"1\.\.(\d+)", line):
            planned = (planned or 0) + int(match[1])
            if skip and match[1] == "0":
                result.skips.append(f"{label}: {skip[1]}")
                result.skipped += 1
    return planned


def near_failures(lines, label):
    """Each failed test of a log, with the comments near it: some programs print comments
    before the failure, some after it."""
    near = set()
    for i, line in enumerate(lines):
        if line.startswith("not ok "):
            near.update(range(max(0, i - 2), min(len(lines), i + 11)))
    return [f"  {label}: {lines[i][:300]}" for i in sorted(near)
            if lines[i].startswith(("not ok", "#"))][:40]


def find_fault(result, planned, status, killed):
    """The reason for which a program failed although its TAP does not say so, or ''."""
    ran = result.passed + result.failed + result.skipped
    fault = ""
    if planned is None and ran:
        fault = "it printed no plan"
    elif planned and planned != ran:
        fault = f"it planned {planned} tests and reported {ran}"
    if status == 77 and not result.skipped:
        fault = "exit status 77 without a skipped test"
    elif status not in (0, 77) and not result.failed:
        fault = f"exit status {status}"
    elif status == 0 and result.failed:
        fault = "exit status 0 in spite of failures"
    return f"killed after {killed:.0f} s" if killed else fault


def judge(label, text, status, killed):
    """The result of a program, from its output, its exit status and, if it exceeded its
    time limit, that limit."""
    lines = text.splitlines()
    result = Result()
    planned = count_tap(lines, label, result)
    no_tap = planned is None and not result.passed + result.failed + result.skipped
    if no_tap and status == 0:
        result.passed = 1
        planned = 1
    elif no_tap and status == 77:
        result.skipped = 1
        result.skips.append(f"{label}: {lines[-1] if lines else 'no reason given'}")
        planned = 1
    fault = find_fault(result, planned, status, killed)
    if result.failed:
        result.failures += near_failures(lines, label)
    if fault:
        result.failed += 1
        result.failures.append(f"  {label}: {fault}")
        # The first line that begins with FAILED and 12 lines after it, or the last 12
        first = next((i for i, x in enumerate(lines) if x.startswith("FAILED")), None)
        if no_tap:
            result.failures += [f"  {label}: | {x[:300]}" for x in
                                (lines[-12:] if first is None else lines[first:first + 13])]
    return result


# --- programs -------------------------------------------------------------------------

def lower_priority(niceness):
    """Of this process and its session: the scheduler may weigh sessions first (autogroup)."""
    os.nice(niceness)
    if niceness:
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
            file.write(str(niceness))


class Job:
    def __init__(self, label, command, limit=LIMIT, alone=False, lock=None, seed=None,
                 niceness=0):
        self.label = label		# SUITE/NAME
        self.suite = label.split("/")[0]
        self.command = [str(word) for word in command]
        self.limit = limit
        self.alone = alone
        self.lock = lock
        self.seed = seed
        self.niceness = niceness
        self.log = LOGS / (label + ".log")
        self.seconds = 30.0		# expected duration
        self.share = 1.0		# expected share of one CPU
        self.killed = 0

    def start(self, alone):
        """alone: it may use all CPUs, as no other program is left to run."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.began = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=lambda: lower_priority(self.niceness),
                env={**environment(), "SEED": self.seed or seed_of(self.label),
                     "TSCT_JOBS": str(CPUS if alone else 1)})

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def has_ended(self):
        """Also enforces the time limit."""
        took = time.monotonic() - self.began
        if took > self.limit and not self.killed:
            self.killed = self.limit
            self.signal(signal.SIGTERM)
        if took > self.limit + GRACE:
            self.signal(signal.SIGKILL)
        return os.waitid(os.P_PID, self.process.pid,
                         os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def finish(self):
        """Ends what the program left in its process group; returns the result."""
        self.signal(signal.SIGKILL)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status
        self.took = time.monotonic() - self.began
        self.cpu = usage.ru_utime + usage.ru_stime
        code = os.waitstatus_to_exitcode(status)
        self.text = self.log.read_text(errors="replace")
        return judge(self.label, self.text, code if code >= 0 else 128 - code, self.killed)


def marks(source):
    """The marks `test-NAME: VALUE` in the comments of a script."""
    return dict(re.findall(r"^# test-([a-z]+): *(.*)$", source.read_text(), re.M))


def chosen(name):
    return fnmatch.fnmatchcase(name, os.environ.get("TEST") or "*")


def script_job(source):
    mark = marks(source)
    interpreter = source.open().readline()[2:].split()
    return Job(f"{source.parent.name}/{source.stem}", interpreter + [source],
               limit=int(mark.get("timeout", LIMIT)),
               alone="alone" in mark, lock=mark.get("lock"),
               seed=None if "SEED" in os.environ else mark.get("seed", "").split(",")[0])


def suite_jobs(suite, fast):
    if suite == "unit":
        listed = subprocess.run(["make", "-s", "-C", HERE, "unit-programs"], check=True,
                                env=environment(), capture_output=True, text=True)
        programs = map(pathlib.Path, listed.stdout.split())
        # libcheck ends each test that hangs.
        return [Job(f"unit/{p.name}", [p], limit=6 * LIMIT)
                for p in programs if chosen(p.name)]
    return [script_job(source) for source in sorted((HERE / suite).glob("t_*.sh"))
            if chosen(source.stem) and (not fast or "fast" in marks(source))
            and not (CORE and "wing" in marks(source))]


def guest_build(kernels):
    """Builds the module for the kernels and plans the boots. Uses all CPUs at times, but is
    not worth waiting for."""
    test = os.environ.get("TEST")
    return Job("guest/build", [HERE / "guest/run.sh", "--plan", PLAN]
               + (["--test", test] if test else []) + kernels, limit=3600)


def guest_boots():
    """The boots that the build planned: lines "NUMBER LABEL CPUS LIMIT"."""
    plan = PLAN / "boots"
    for line in plan.read_text().splitlines() if plan.exists() else []:
        number, label, cpus, limit = line.split()
        yield Job(f"guest/{label}", [HERE / "guest/run.sh", "--boot", PLAN, number],
                  limit=int(limit), alone=int(cpus) > 1, niceness=5)


# --- durations ------------------------------------------------------------------------

def read_durations():
    """{label: (seconds, seconds of CPU time)}"""
    found = {}
    for path in (HERE / "durations", LOGS / "durations"):
        for line in path.read_text().splitlines() if path.exists() else []:
            if not line.startswith("#"):
                label, seconds, cpu = line.split()
                found[label] = float(seconds), float(cpu)
    return found


def guest_tests(job):
    """(seconds, label) of each test of a boot, as the guest reports them."""
    for line in job.text.splitlines():
        match = re.match(r"(?:not )?ok \d+ - (\S+) (t_\w+) # ([\d.]+) s", line)
        if match:
            yield float(match[3]), f"guest/{match[1]}/{match[2]}"


# --- all of them ------------------------------------------------------------------------

class Run:
    def __init__(self, slots):
        self.slots = slots
        self.durations = read_durations()
        self.pending, self.running, self.done = [], [], []
        self.results = {}	# by suite

    def add(self, jobs):
        for job in jobs:
            if job.label in self.durations:
                job.seconds, cpu = self.durations[job.label]
                job.share = min(1.0, max(LEAST_SHARE, cpu / max(job.seconds, 0.1)))
            self.pending.append(job)
        # Those that run alone come last: until then no CPU has to wait for another.
        self.pending.sort(key=lambda job: (job.alone, -job.seconds))

    def fits(self, job):
        busy = sum(other.share for other in self.running)
        return len(self.running) < 2 * self.slots and \
            (len(self.running) < self.slots or busy + job.share <= MOST_SHARES * self.slots) and \
            not (job.lock and any(job.lock == other.lock for other in self.running))

    def start_next(self):
        """Starts the first program that fits. Returns False if there is none."""
        for job in self.pending:
            if job.alone and (self.running or self.building()):
                return False
            if self.fits(job):
                self.pending.remove(job)
                self.running.append(job)
                job.start(alone=not self.pending and len(self.running) == 1)
                return True
        return False

    def building(self):
        return any(job.label == "guest/build" for job in self.pending + self.running)

    def run(self):
        while self.pending or self.running:
            while self.start_next():
                pass
            time.sleep(0.05)
            for job in [job for job in self.running if job.has_ended()]:
                self.running.remove(job)
                self.take(job)

    def take(self, job):
        result = job.finish()
        self.done.append(job)
        self.results.setdefault(job.suite, Result()).add(result)
        print(f"{job.label}: {result} ({job.took:.0f} s, CPU {job.cpu:.0f} s)")
        if job.suite == "guest":
            print("\n".join("  " + line for line in job.text.splitlines()
                            if re.match("(not )?ok |# .* left out ", line)))
        if result.failed:
            print(f"  --- end of {job.log}:")
            for line in job.text.splitlines()[-int(os.environ.get("SHOW", 60)):]:
                print("  | " + line)
        sys.stdout.flush()
        self.keep_seeds(job)
        if job.label == "guest/build":
            self.add(guest_boots())

    @staticmethod
    def keep_seeds(job):
        seeds = sorted({line for line in job.text.splitlines()
                        if re.search(r"(^|\W)seeds?[ :=]+(0x)?[0-9a-f]+", line, re.I)})
        with open(LOGS / "seeds", "a") as file:
            file.writelines(f"{job.label}: {line}\n" for line in seeds)

    def stop(self):
        for job in self.running:
            job.signal(signal.SIGKILL)

    @staticmethod
    def write_durations(durations):
        with open(LOGS / "durations", "w") as file:
            file.writelines(f"{label} {seconds:.1f} {cpu:.1f}\n"
                            for label, (seconds, cpu) in sorted(durations.items()))

    def report_durations(self, elapsed):
        took = {job.label: (job.took, job.cpu) for job in self.done}
        self.write_durations({**self.durations, **took})
        print("longest, in seconds:")
        longest = [(job.took, job.label) for job in self.done if job.suite != "guest"]
        longest += [part for job in self.done for part in guest_tests(job)]
        for seconds, label in sorted(longest, reverse=True)[:20]:
            print(f"  {seconds:6.1f} {label}")
        print(f"{sum(seconds for seconds, _ in took.values()):.0f} s of programs, "
              f"{sum(cpu for _, cpu in took.values()):.0f} s of CPU time; "
              f"{elapsed:.0f} s elapsed, of a budget of {BUDGET} s")

    def report(self):
        total = Result()
        for suite, result in sorted(self.results.items()):
            print(f"{suite}: {result}")
            total.add(result)
        if total.skips:
            print("skipped:", *("  " + line for line in total.skips), sep="\n")
        if total.failed:
            print(f"whole outputs: {LOGS}", "failed:", *total.failures, sep="\n")
        print(total)
        return 0 if total.passed and not total.failed else 1


def list_suites():
    return sorted(path.name for path in HERE.iterdir()
                  if path.is_dir() and path.name not in NO_SUITES
                  and not path.name.startswith((".", "__")))


def prepare(suites):
    """Removes the logs of the last run, and builds what the suites run, in one parallel
    make."""
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    targets = [suite for suite in ("unit", "native", "guest", "model", "sim", "netsim")
               if suite in suites]
    if targets:
        subprocess.run(["make", "-C", HERE, "--no-print-directory", f"-j{CPUS}"] + targets,
                       env=environment(), check=True)


def main(words):
    began = time.monotonic()
    fast = words[:1] == ["fast"]
    suites, kernels = words or ["all"], []
    if fast:
        os.environ["TSCT_TIER"] = "fast"
        suites = ["unit", "abi", "model", "native"]
    elif suites[0] == "all":
        suites = CORE_SUITES if CORE else list_suites()
    elif suites[0] == "guest":
        suites, kernels = ["guest"], words[1:]
    unknown = [suite for suite in suites if not list((HERE / suite).glob("t_*"))
               and suite != "unit"]
    if unknown:
        print(f"run.py: no suite {unknown[0]}; there are {' '.join(list_suites())}",
              file=sys.stderr)
        return 2
    # Some fast tests mostly wait: one more runs than there are CPUs.
    run = Run(CPUS + 1 if fast else CPUS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seeds of {os.environ.get('SEED') or datetime.date.today()}, tier {tier()}")
    try:
        prepare(suites)
        if "guest" in suites:
            run.add([guest_build(kernels)])
        for suite in suites:
            if suite != "guest":
                run.add(suite_jobs(suite, fast))
        run.run()
    finally:
        run.stop()
    run.report_durations(time.monotonic() - began)
    return run.report()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        print(f"run.py: the build of the tests failed (make exited with {error.returncode})")
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
