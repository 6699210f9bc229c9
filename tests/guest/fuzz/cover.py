#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cover.py KO COVERAGE [--lines]: the module's lines that a run of the fuzzer reached

The compiler puts a call before each basic block, and KCOV records where these calls
return to. COVERAGE has a line "SECTION OFFSET" for each that was reached. A line of the
source is reached if one of its blocks is. Prints a table of files; with --lines, also the
lines that were not reached, by function.
"""
import collections
import re
import subprocess
import sys

CALL = "__sanitizer_cov_trace_pc"


def sites(module):
    """Yields (section, offset behind the call) of each instrumented block."""
    text = subprocess.run(["objdump", "-r", module], check=True, capture_output=True,
                          text=True).stdout
    section = None
    for line in text.splitlines():
        match = re.match(r"RELOCATION RECORDS FOR \[(.*)\]", line)
        if match:
            section = match[1]
        words = line.split()
        if len(words) == 3 and words[2].startswith(CALL + "-") and "text" in section:
            yield section, int(words[0], 16) + 4


def places(module, section, offsets):
    """Returns the (function, file, line) of each offset, innermost of inlined ones."""
    # The call, not the instruction behind it
    text = subprocess.run(["addr2line", "-f", "-e", module, "-j", section],
                          input="".join(f"{o - 5:x}\n" for o in offsets),
                          check=True, capture_output=True, text=True).stdout.split("\n")
    for function, place in zip(text[0::2], text[1::2]):
        file, _, line = place.partition(":")
        file = re.sub(r".*/(?=(kmod|lib/core|include)/)", "", file)
        yield function, file, int(re.match(r"\d*", line)[0] or 0)


def main():
    module, coverage = sys.argv[1:3]
    reached = set()
    with open(coverage) as lines:
        for line in lines:
            section, offset = line.split()
            reached.add((section, int(offset, 16)))
    by_section = collections.defaultdict(list)
    for section, offset in sites(module):
        by_section[section].append(offset)
    lines = collections.defaultdict(bool)
    blocks = collections.Counter()
    function_of = {}
    for section, offsets in by_section.items():
        for offset, (function, file, line) in zip(offsets, places(module, section, offsets)):
            hit = (section, offset) in reached
            blocks[file, hit] += 1
            lines[file, line] |= hit
            function_of[file, line] = function
    files = sorted({file for file, _ in lines if file.startswith(("kmod/", "lib/"))})
    total = [0] * 4
    for file in files + ["all"]:
        mine = [hit for (name, _), hit in lines.items() if name == file]
        row = [sum(mine), len(mine), blocks[file, True], blocks[file, True] + blocks[file, False]]
        row = total if file == "all" else row
        print(f"{file:28} {row[0]:5} of {row[1]:5} lines {100 * row[0] / row[1]:6.1f} %"
              f" {row[2]:6} of {row[3]:6} blocks")
        total = [a + b for a, b in zip(total, row)]
    if "--lines" in sys.argv[3:]:
        missed = collections.defaultdict(list)
        for (file, line), hit in sorted(lines.items()):
            if not hit and file in files:
                missed[file, function_of[file, line]].append(line)
        print("not reached:")
        for (file, function), numbers in missed.items():
            print(f"  {file}: {function}: {' '.join(map(str, numbers))}")


main()
