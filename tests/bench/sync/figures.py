# SPDX-License-Identifier: MIT
"""figures.py DIR ROUNDS SECONDS - prints the results of run.sh"""
import json
import pathlib
import re
import statistics
import sys

top, rounds, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def rows(path, first, last=None):
    """Lines first to last of a chrony log, without headings."""
    lines = path.read_text().splitlines()[first:last]
    return [line.split() for line in lines if line[:1].isdigit()]


def chrony(path):
    first, last = (int((path / name).read_text()) for name in ("from", "to"))
    # Columns of measurements.log: date time address leap stratum tests poll score: ...
    samples = [abs(float(r[11])) * 1e9 for r in
               rows(path / "measurements.log", first, last)]
    # Columns of tracking: id name stratum reference-time system-time ...
    errors = [abs(float(line.split(",")[4])) * 1e9 for line in
              (path / "tracking").read_text().splitlines()]
    cpu = int((path / "cpu").read_text())
    return samples, quantile(errors, .5), quantile(errors, .99), cpu / len(samples)


def ours(path):
    source = json.loads((path / "exchanges").read_text())["sources"][0]
    samples = []
    for x in source["exchanges"]:
        if x[0] < -seconds:
            continue
        t1, t2, t3, t4 = x[4:8]
        samples.append(abs((t2 + t3) - (t1 + t4)) / 2 * source["tick_ns"])
    text = (path / "estimate").read_text()
    found = {name: float(value) for name, value in
             re.findall(r"(median|p99) ([0-9.]+) ns", text)}
    cpu = int((path / "cpu").read_text())
    return samples, found["median"], found["p99"], cpu / len(samples)


def show(name, measure):
    figures = []
    for i in range(rounds):
        samples, median, p99, cpu_ns = measure(top / f"{name}.{i}")
        figures.append((quantile(samples, .5), quantile(samples, .9), median, p99,
                        cpu_ns / 1e3, len(samples)))
    names = ("sample_median ns", "sample_p90 ns", "error_median ns",
             "error_p99 ns", "cpu us", "samples samples")
    medians = [statistics.median(column) for column in zip(*figures)]
    for label, value in zip(names, medians):
        label, unit = label.split()
        print(f"{name}_{label} {value:.5g} {unit}")
    return medians


theirs = show("chrony", chrony)
own = show("ours", ours)
for label, a, b in zip(("sample_median", "sample_p90", "error_median",
                        "error_p99", "cpu"), own, theirs):
    print(f"ours_vs_chrony_{label} {a / b:.3g} ratio")
