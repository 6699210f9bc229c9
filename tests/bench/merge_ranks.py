#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""merge_ranks.py BUILD - memory and time of merges of many recordings by ranks.

Measures merges of 10, 100 and 1000 recordings of 2000 events, by one process and by
ranks of each MPI that is installed; then the costs of the parts of a merge. From these
costs it simulates merges of 10,000 recordings by up to 4096 ranks. Prints tables.
NODES, EVENTS (of each recording) and ENDS (one of so many events is a send or a receive)
change what is simulated.
"""
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COPIES = os.path.join(os.path.dirname(HERE), "native", "copies.py")
# Assumed of the cluster: a parallel file system and a network, bytes/s and s
FILES_BPS, RANK_BPS, NET_BPS, LATENCY = 100e9, 2e9, 1e9, 20e-6
# As in lib/merge/merge_messages.c: ends of a batch, slices; bytes of an end
BATCH, SLICES, END = 32768, 256, 40


class Bench:
    def __init__(self, build):
        self.build, self.tools = build, build + "/tools/trace-ctl"
        self.work = tempfile.mkdtemp(prefix="tsctrace-ranks-", dir=os.environ.get(
            "TMPDIR", "/dev/shm"))
        self.peak = self.work + "/peak"
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", self.peak,
                        os.path.join(os.path.dirname(HERE), "native", "peak.c")], check=True)

    def measure(self, *command):
        """Runs a command, which may run others. Returns the largest CPU time, s, and the
        largest memory, KiB, of those that run in self.peak."""
        to = self.work + "/peaks"
        shutil.rmtree(to, True)
        os.mkdir(to)
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 3):
            sys.exit("failed: %s: %d" % (" ".join(command[:9]), done.returncode))
        runs = [open(to + "/" + name).read().split() for name in os.listdir(to)]
        return max(float(cpu) for cpu, _ in runs), max(int(kib) for _, kib in runs)

    def world(self, name, *what):
        to = "%s/%s" % (self.work, name)
        os.mkdir(to)
        subprocess.run([self.build + "/bench/world", to, *what], check=True)
        return to

    def many(self, world, count):
        """Makes many recordings, and a file with their names"""
        to = "%s/many%d" % (self.work, count)
        if not os.path.isdir(to):
            subprocess.run([sys.executable, COPIES, world + "/b", str(count), to], check=True)
            shutil.copytree(world + "/a", to + "/a")
        with open(to + ".names", "w") as file:
            file.writelines("%s/%s\n" % (to, name) for name in sorted(os.listdir(to)))
        return "--inputs=%s.names" % to

    def merge(self, *inputs, keep=False):
        """CPU time and memory of one process with one thread; the median of 3"""
        runs = []
        for _ in range(3):
            shutil.rmtree(self.work + "/o", True)
            runs.append(self.measure(self.peak, self.work + "/peaks", self.tools, "merge", "-q",
                                     "-j", "1", "-o", self.work + "/o", *inputs))
        if not keep:
            shutil.rmtree(self.work + "/o")
        return sorted(runs)[1]

    def ranks(self, mpi, count, inputs):
        """Largest CPU time and memory of a rank"""
        shutil.rmtree(self.work + "/o", True)
        return self.measure("mpirun." + mpi, "-n", str(count), self.peak, self.work + "/peaks",
                            self.tools + "-merge-mpi", "-q", "-o", self.work + "/o", inputs)

    def memory(self):
        small = self.world("small", "big", "2000")
        mpis = [mpi for mpi in ("openmpi", "mpich")
                if os.path.exists("%s-merge-mpi-%s" % (self.tools, mpi))]
        print("recordings  ranks            CPU s/rank   memory/rank MiB")
        for count in (10, 100, 1000):
            inputs = self.many(small, count)
            rows = [("trace-ctl merge", self.merge(inputs))]
            rows += [("%d %s" % (n, mpi), self.ranks(mpi, n, inputs))
                     for mpi in mpis for n in (1, 2, 4)]
            for name, (cpu, kib) in rows:
                print("%10d  %-16s %10.2f   %15.1f" % (count + 1, name, cpu, kib / 1024))

    def costs(self):
        """CPU time of the parts of a merge, s, and sizes in bytes"""
        few = self.merge(self.many(None, 100))[0]
        most = self.merge(self.many(None, 1000), keep=True)[0]
        meta = os.path.getsize(self.work + "/o/metadata") / 1001
        events = 2000000
        large = self.world("large", "big", str(events))
        plain = self.merge(large + "/a", large + "/b", keep=True)[0]
        size = sum(os.path.getsize("%s/o/%s" % (self.work, name))
                   for name in os.listdir(self.work + "/o"))
        large = self.world("messages", "big", str(events), "messages")
        ends = self.merge(large + "/a", large + "/b")[0]
        plan = self.world("plan", "4711")
        fits = self.merge(plan + "/a", plan + "/b", plan + "/c")[0]
        cost = {
            # of a recording: opening, samples, a fit of a second, definitions, files
            "open": (most - few) / 900,
            "copy": plain / (2 * events),
            # read, sorted and matched twice: to search shifts, and to count
            "ends": (ends - plain) / (2 * events),
            "bytes": size / (2 * events),
            "metadata": meta,
            # of a recording of 19 s with some 200 samples
            "plan": fits / 3,
        }
        print("\ncosts: a recording %.2f ms, a fitted one of 19 s %.1f ms, an event %.1f ns to"
              " copy and %.1f bytes, a send or receive %.0f ns, %.1f KB of metadata per recording"
              % (cost["open"] * 1e3, cost["plan"] * 1e3, cost["copy"] * 1e9, cost["bytes"],
                 cost["ends"] * 1e9, meta / 1e3))
        return cost


def simulate(cost, ranks, nodes, events, ends):
    """Times of the steps, s, of the rank that takes longest in each"""
    choose = random.Random(1)
    # Recordings differ in size: a sigma of 0.5 is a factor of 1.6 up or down.
    sizes = [events * math.exp(choose.gauss(0, 0.5) - 0.125) for _ in range(nodes)]
    parts = [sizes[nodes * r // ranks:nodes * (r + 1) // ranks] for r in range(ranks)]
    most = max(len(part) for part in parts)
    largest = max(sum(part) for part in parts)
    steps = math.ceil(math.log2(ranks)) if ranks > 1 else 0

    def tree(size):
        return steps * (LATENCY + size / NET_BPS)

    def files(times):
        """Reading or writing all events so many times"""
        size = times * cost["bytes"]
        return max(largest * size / RANK_BPS, sum(sizes) * size / FILES_BPS)

    # A recording of four minutes or more has 255 + 127 fits of up to 1024 samples; that
    # of 19 s has 20 + 42 of 200.
    long_plan = cost["plan"] * 6 * 5
    rounds = math.ceil(largest / ends / BATCH)
    # Each round: five agreements by trees, there and back, and an exchange each with each
    a_round = 10 * steps * LATENCY + (ranks - 1) * LATENCY + BATCH * END / NET_BPS
    return {
        "open, unify": most * cost["open"] + tree(nodes * 40) + tree(500 * 1000),
        "fit": most * long_plan,
        "copy": max(largest * cost["copy"], files(2)),
        # Two passes over all events: one to search shifts, one to count
        "find messages": 2 * max(largest * cost["copy"] / 2, files(1)),
        "sort, match": sum(sizes) / ends * cost["ends"] / min(ranks, SLICES),
        "exchange": 2 * rounds * a_round if ranks > 1 else 0,
        "metadata": nodes * cost["metadata"] / 100e6 + tree(nodes * cost["metadata"] / ranks),
    }


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_rmaps_base_oversubscribe="1",  # Open MPI 4
                      PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")  # and 5
    bench = Bench(sys.argv[1])
    try:
        bench.memory()
        cost = bench.costs()
    finally:
        shutil.rmtree(bench.work)
    nodes = int(os.environ.get("NODES", 10000))
    ends = float(os.environ.get("ENDS", 100))
    for events in [float(os.environ["EVENTS"])] if "EVENTS" in os.environ else [1e5, 1e9]:
        print("\n%d recordings of %.0e events, one of %g a send or a receive, s:" %
              (nodes, events, ends))
        rows = [simulate(cost, ranks, nodes, events, ends) for ranks in RANKS]
        print("%-14s" % "ranks" + "".join("%10d" % ranks for ranks in RANKS))
        for step in rows[0]:
            print("%-14s" % step + "".join("%10.1f" % row[step] for row in rows))
        print("%-14s" % "all" + "".join("%10.1f" % sum(row.values()) for row in rows))


RANKS = (1, 16, 64, 256, 1024, 4096)
main()
