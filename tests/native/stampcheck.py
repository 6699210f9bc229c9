#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stampcheck.py TRACE-CTL DIR

Converts the unique stamps of a recording to seconds as any other program would: by the
event bits and the nominal clock period that the recording's metadata and `trace-ctl dump
--stamps` state, without any code of tsctrace. Fails unless the results are the times that
dump shows. Prints the number of stamps.
"""
import re
import subprocess
import sys
from fractions import Fraction

import exact

SEGMENT_TICKS = 2**51


def must(holds, *what):
    if not holds:
        print("stampcheck:", *what)
        sys.exit(1)


def dump(ctl, path, *options):
    got = subprocess.run([ctl, "dump", "--stamps", *options, path], capture_output=True,
                         text=True, check=False)
    must(got.returncode in (0, 3), "dump failed:", got.stderr)
    return got.stdout.splitlines()


class Header:
    """Event bits, nominal period in ns as an exact fraction, and in s as a float"""
    def __init__(self, bits, mult, shift, seconds=None):
        self.bits, self.period = int(bits), Fraction(int(mult), 2 ** int(shift))
        self.seconds = seconds if seconds is None else float(seconds)

    def legacy(self, segment, stamp):
        """ns of the stamp as a number, times the nominal period"""
        return ((segment * SEGMENT_TICKS << self.bits) + stamp) * self.period

    def accurate(self, segment, stamp):
        """ns of the stamp without its event bits, times the period and 2^bits"""
        tick = segment * SEGMENT_TICKS + (stamp >> self.bits)
        return tick * self.period * 2**self.bits


def from_metadata(path):
    with open(f"{path}/metadata", encoding="ascii") as f:
        m = re.search(r'^\tunique_stamps = "event_bits=(\d+) period_mult=(\d+)'
                      r' period_shift=(\d+)";$', f.read(), re.M)
    must(m, "the metadata has no unique_stamps")
    return Header(*m.groups())


def from_text(line):
    m = re.fullmatch(r"# stamps: (\d+) event bits, nominal clock period (\S+) s"
                     r" \((\d+) / 2\^(\d+) ns\)", line)
    must(m, "dump begins with", line)
    return Header(m[1], m[3], m[4], m[2])


def from_json(line):
    s = exact.loads(line)["stamps"]
    return Header(s["event_bits"], s["period_mult"], s["period_shift"], s["period_s"])


def check_times(header, segment, stamp, legacy_ns, accurate_ns):
    legacy, accurate = header.legacy(segment, stamp), header.accurate(segment, stamp)
    must((int(legacy), int(accurate)) == (legacy_ns, accurate_ns), "stamp", stamp, "is",
         (legacy_ns, accurate_ns), "ns and not", (float(legacy), float(accurate)))
    # In floating point, as the legacy applications do
    if header.seconds is not None and not segment:
        error_ns = abs(stamp * header.seconds * 1e9 - float(legacy))
        must(error_ns < 1, "the period in seconds is", error_ns, "ns off")


def main():
    ctl, path = sys.argv[1:]
    text, lines = dump(ctl, path), dump(ctl, path, "--json")
    headers = from_metadata(path), from_text(text[0]), from_json(lines[0])
    must(len({(h.bits, h.period) for h in headers}) == 1, "the headers differ")
    origins = []
    for shown, line in zip(text[1:], lines[1:]):
        e = exact.loads(line)
        u = e["unique"]
        stamp = int(u["stamp"])
        for header in headers:
            check_times(header, u["segment"], stamp, u["legacy_ns"], u["accurate_ns"])
        must(shown.split()[:4] == [
            f"{u['segment']}:", str(stamp),
            *(f"{u[k] // 10**9}.{u[k] % 10**9:09}" for k in ("legacy_ns", "accurate_ns"))],
             "dump shows", shown, "as text, and as JSON", line)
        origins.append(e["time_ns"] - u["accurate_ns"])
    must(len(text) == len(lines) and origins, "dump shows", len(text), "lines")
    # The time of an event is that of the stamps' origin plus that of its stamp. Each of
    # the three is rounded to a nanosecond.
    must(max(origins) - min(origins) <= 3, "the times are", max(origins) - min(origins),
         "ns apart from the stamps")
    print(len(origins))


if __name__ == "__main__":
    main()
