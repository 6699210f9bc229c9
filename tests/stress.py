#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
stress.py [SUITE]...    run each test again and again on a machine that disturbs it

Without a SUITE: all but `guest`, whose tests have limits for emulated CPUs; `guest` stops
whole guests. Both CPUs are kept busy by endless loops, and processes of the tests, chosen at
random, are stopped for 1 to 3 seconds. ROUNDS=n (20) is the number of runs of each program,
TEST=GLOB picks programs by name. Programs in tests/stress.table are left out; the table has
a reason for each. A failure is one of the test: its log is kept under build/test-log.

The last line is "N passed, N failed, N skipped"; the exit status is 0 if nothing failed.
"""
import os
import random
import signal
import subprocess
import sys
import threading
import time

import run as tests

LIMIT_FACTOR = 6	# a hang is one although the machine is busy


def excused():
    """{label: reason} of tests/stress.table"""
    found = {}
    for line in (tests.HERE / "stress.table").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            label, reason = line.split(None, 1)
            found[label] = reason
    return found


def read_stat(pid):
    """(parent, session, state) of a process; None if it has ended"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
        return int(words[1]), int(words[3]), words[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def processes_of(leaders):
    """Processes in the sessions of the leaders, and their descendants in others, except
    those that are stopped already: a test may have stopped them."""
    stats = {int(pid): read_stat(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    stats = {pid: stat for pid, stat in stats.items() if stat}
    found = {pid for pid, stat in stats.items() if stat[1] in leaders}
    grown = True
    while grown:
        more = {pid for pid, stat in stats.items() if stat[0] in found} - found
        found |= more
        grown = bool(more)
    return sorted(pid for pid in found if stats[pid][2] in "RSD")


class Disturber(threading.Thread):
    """Stops one process after another, each for 1 to 3 seconds."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_of_tests = run
        self.stops = 0
        self.random = random.Random(int(tests.seed_of("stress")))

    def run(self):
        while True:
            time.sleep(self.random.uniform(0.2, 1.5))
            leaders = {job.process.pid for job in list(self.run_of_tests.running)
                       if hasattr(job, "process")}
            pids = processes_of(leaders)
            if pids:
                self.stop(self.random.choice(pids), self.random.uniform(1, 3))

    def stop(self, pid, seconds):
        try:
            os.kill(pid, signal.SIGSTOP)
            self.stops += 1
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


class StressRun(tests.Run):
    def report_durations(self, elapsed):
        """Keeps those of the last run: this machine is disturbed."""
        self.write_durations(self.durations)
        print(f"{elapsed:.0f} s elapsed")


def rounds_of(make_jobs, rounds, left_out):
    """`rounds` jobs for each program, each with a seed and a log of its own."""
    jobs = []
    for i in range(rounds):
        for job in make_jobs():
            if job.label not in left_out:
                job.label += f".{i}"
                job.log = tests.LOGS / (job.label + ".log")
                job.limit *= LIMIT_FACTOR
                jobs.append(job)
    return jobs


def main(suites):
    began = time.monotonic()
    suites = suites or [suite for suite in tests.list_suites() if suite != "guest"]
    left_out = excused()
    run = StressRun(tests.CPUS)
    tests.prepare(suites)
    print(f"seed {tests.seed_of('stress')}")
    if "guest" in suites:
        build = tests.guest_build([])
        subprocess.run(build.command, env=tests.environment(), check=True)
    for label, reason in left_out.items():
        print(f"left out: {label}: {reason}")
    rounds = int(os.environ.get("ROUNDS") or 20)
    for suite in suites:
        run.add(rounds_of(lambda: list(tests.guest_boots()) if suite == "guest" else
                          tests.suite_jobs(suite, False), rounds, left_out))
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(tests.CPUS)]
    disturber = Disturber(run)
    try:
        disturber.start()
        run.run()
    finally:
        for process in busy:
            process.kill()
        run.stop()
    print(f"{disturber.stops} times a process was stopped")
    run.report_durations(time.monotonic() - began)
    return run.report()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
