# SPDX-License-Identifier: MIT
"""figures.py LOGS [ROW.RATE] - prints the results of run.sh

Of one row and rate as "name value unit" lines; of all as a table"""
import pathlib
import re
import statistics
import sys

import legs

quantile = legs.quantile


def cpu_us(path):
    """CPU time that polls add, per answered poll"""
    ns, polls, idle_ns, _ = map(int, (path / "cpu").read_text().split())
    return (ns - 2 * idle_ns) / 1e3 / polls if polls else float("nan")


def total_us(path):
    """CPU time per answered poll, with that of the clocks of both daemons"""
    ns, polls, _, _ = map(int, (path / "cpu").read_text().split())
    return ns / 1e3 / polls if polls else float("nan")


def idle_us(path):
    """CPU time of a daemon without polls, per second"""
    _, _, idle_ns, seconds = map(int, (path / "cpu").read_text().split())
    return idle_ns / 1e3 / seconds


def chrony(path):
    # Columns of tracking: id name stratum reference-time system-time ...
    errors = [abs(float(line.split(",")[4])) * 1e9
              for line in (path / "tracking").read_text().splitlines()]
    return quantile(errors, .5), quantile(errors, .99), cpu_us(path)


def ours(path):
    text = (path / "estimate").read_text()
    found = {name: float(value) for name, value in
             re.findall(r"(median|p99) ([0-9.]+) ns", text)}
    return found["median"], found["p99"], cpu_us(path)


def readings(path):
    """Numbers of readings of the published time: all, outside their bound or unknown"""
    found = re.search(r"(\d+) readings, (\d+) without a time, (\d+) beyond",
                      (path / "estimate").read_text())
    total, unknown, beyond = map(int, found.groups())
    return total, unknown + beyond


NAMES = ("error_median", "error_p99", "cpu")
UNITS = ("ns", "ns", "us")


def medians(dirs, measure):
    return dict(zip(NAMES, map(statistics.median, zip(*map(measure, dirs)))))


class Row:
    """All rounds of a row at a rate"""

    def __init__(self, top, name):
        self.name = name
        self.dirs = {who: sorted(top.glob(f"{name}.*.{who}")) for who in ("chrony", "ours")}
        self.chrony = medians(self.dirs["chrony"], chrony)
        self.ours = medians(self.dirs["ours"], ours)
        counts = [readings(path) for path in self.dirs["ours"]]
        self.readings, self.beyond = map(sum, zip(*counts))
        self.late = [late for paths in self.dirs.values() for path in paths
                     if (path / "relay").exists()
                     for late in legs.Log(path / "relay").late_us()]

    def ratio(self, name):
        return self.ours[name] / self.chrony[name]

    def print_figures(self):
        head = self.name.replace(".", "_")
        for who, figures in (("chrony", self.chrony), ("ours", self.ours)):
            for name, unit in zip(NAMES, UNITS):
                print(f"{head}_{who}_{name} {figures[name]:.5g} {unit}")
        for name in NAMES:
            print(f"{head}_ours_vs_chrony_{name} {self.ratio(name):.3g} ratio")
        idle = statistics.median(map(idle_us, self.dirs["ours"]))
        print(f"{head}_ours_idle_cpu {idle:.4g} us/s")
        total = statistics.median(map(total_us, self.dirs["ours"]))
        print(f"{head}_ours_total_cpu {total:.5g} us")
        print(f"{head}_ours_beyond {self.beyond} of {self.readings} readings")
        if not self.late:
            return
        print(f"{head}_relay_late_median {quantile(self.late, .5) * 1e3:.4g} ns")
        print(f"{head}_relay_late_p99 {quantile(self.late, .99) * 1e3:.4g} ns")
        for path in self.dirs["ours"]:
            log = legs.Log(path / "relay")
            print(f"# {path.name}: {log.stalls}")
            for line in legs.text(log, legs.exchanges(path / "samples")):
                print("#", line)

    def print_row(self):
        late = "-"
        if self.late:
            late = (f"{quantile(self.late, .5) * 1e3:.0f}/"
                    f"{quantile(self.late, .99) * 1e3:.0f}")
        cells = [f"{self.chrony[n]:.0f}" for n in NAMES[:2]]
        cells += [f"{self.ours[n]:.0f}" for n in NAMES[:2]]
        cells += [f"{self.ratio(n):.3g}" for n in NAMES[:2]]
        print(f"{self.name:12}" + "".join(f" {cell:>9}" for cell in cells) +
              f" {self.readings - self.beyond:>9}/{self.readings:<8}"
              f" {self.chrony['cpu']:5.0f}/{self.ours['cpu']:<5.0f} {late:>12}")


def main():
    top = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        Row(top, sys.argv[2]).print_figures()
        return
    dirs = sorted(top.glob("*.0.ours"), key=lambda path: path.stat().st_mtime)
    print(f"{'# row.rate':12}" + "".join(f" {cell:>9}" for cell in (
        "chrony", "p99 ns", "ours", "p99 ns", "ratio", "p99")) +
        f" {'bound held':>18} {'CPU us':>11} {'late ns/p99':>12}")
    for path in dirs:
        Row(top, path.name.removesuffix(".0.ours")).print_row()


main()
