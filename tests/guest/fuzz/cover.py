#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cover.py KO COVERAGE [--lines]: the module's lines that a run of the fuzzer reached

The compiler puts a call before each basic block, and KCOV records where these calls
return to. COVERAGE has a line "SECTION OFFSET" for each that was reached. A line of the
source is reached if one of its blocks is. Functions of the core that the module contains
and never calls do not count. Prints a table of files; with --lines, also the lines that
were not reached, by function.
"""
import collections
import os
import re
import subprocess
import sys

CALL = "__sanitizer_cov_trace_pc"


# Sections that refer to functions without calling them
PASSIVE = re.compile(r"\.(debug|orc|return_sites|retpoline|static_call|altinst|ibt)|mcount"
                     r"|eh_frame|_error_injection|kasan|init_array|fini_array|BTF")


def run(*command, text=None):
    return subprocess.run(command, input=text, check=True, capture_output=True,
                          text=True).stdout


def functions(module):
    """Returns {section: [(begin, end, name)]}."""
    found = collections.defaultdict(list)
    for line in run("objdump", "-t", module).splitlines():
        match = re.match(r"([0-9a-f]+) ....... *(\S+)\s+([0-9a-f]+) (?:\.hidden )?(\S+)$", line)
        if match and "text" in match[2] and int(match[3], 16):
            begin = int(match[1], 16)
            found[match[2]].append((begin, begin + int(match[3], 16), match[4]))
    return found


def references(module):
    """Yields (section, offset, symbol, addend) of each relocation."""
    section = None
    for line in run("objdump", "-r", module).splitlines():
        match = re.match(r"RELOCATION RECORDS FOR \[(.*)\]", line)
        section = match[1] if match else section
        match = re.match(r"([0-9a-f]+) (\S+) +(\S+?)(?:([+-])0x([0-9a-f]+))?$", line)
        if match:
            addend = int((match[4] or "+") + (match[5] or "0"), 16)
            # Relative to the next instruction in code, to the section in data
            addend += 4 if match[2] in ("R_X86_64_PLT32", "R_X86_64_PC32") else 0
            yield section, int(match[1], 16), match[3], addend


def local_jumps(module):
    """Yields (section, offset, target) of calls and jumps without a relocation."""
    section = pending = None
    for line in run("objdump", "-dr", "--no-show-raw-insn", module).splitlines() + ["end"]:
        match = re.match(r"Disassembly of section (.*):", line)
        if pending and "R_X86_64" not in line:
            yield pending
        section = match[1] if match else section
        match = re.match(r" *([0-9a-f]+):\s+(?:call|j\w+) +([0-9a-f]+) <", line)
        pending = match and (section, int(match[1], 16), int(match[2], 16))


def called(module):
    """Returns the names of functions that can be reached from data and entry points."""
    where = functions(module)

    def owner(section, offset):
        return next((name for begin, end, name in where.get(section, ())
                     if begin <= offset < end), None)
    names = {name for rows in where.values() for _, _, name in rows}
    # Entry points: BTF has no relocation for the function that BPF programs call.
    calls, todo = collections.defaultdict(set), ["tsct_bpf_emit"]
    todo += [name for section in (".init.text", ".exit.text")
             for _, _, name in where.get(section, ())]
    for section, offset, symbol, addend in references(module):
        target = symbol if symbol in names else owner(symbol, addend)
        if not target or PASSIVE.search(section):
            continue
        if "text" in section:
            calls[owner(section, offset)].add(target)
        else:
            todo.append(target)
    for section, offset, target in local_jumps(module):
        calls[owner(section, offset)].add(owner(section, target))
    reached = set()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += calls[name]
    return {(section, name): (begin, end) for section, rows in where.items()
            for begin, end, name in rows if name in reached}


def sites(module):
    """Yields (section, offset behind the call) of each instrumented block."""
    ranges = collections.defaultdict(list)
    for (section, _), limits in called(module).items():
        ranges[section].append(limits)
    for section, offset, symbol, _ in references(module):
        if symbol == CALL and any(begin <= offset < end for begin, end in ranges[section]):
            yield section, offset + 4


def places(module, section, offsets):
    """Returns the (function, file, line) of each offset, innermost of inlined ones."""
    # The call, not the instruction behind it
    text = run("addr2line", "-f", "-e", module, "-j", section,
               text="".join(f"{o - 5:x}\n" for o in offsets)).split("\n")
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
    for file in files + ["kmod", "lib/core", "all"]:
        group = [name for name in files if file in (name, os.path.dirname(name), "all")]
        mine = [hit for (name, _), hit in lines.items() if name in group]
        met = sum(blocks[name, True] for name in group)
        print(f"{file:28} {sum(mine):5} of {len(mine):5} lines {100 * sum(mine) / len(mine):6.1f} %"
              f" {met:6} of {met + sum(blocks[name, False] for name in group):6} blocks")
    if "--lines" in sys.argv[3:]:
        missed = collections.defaultdict(list)
        for (file, line), hit in sorted(lines.items()):
            if not hit and file in files:
                missed[file, function_of[file, line]].append(line)
        print("not reached:")
        for (file, function), numbers in missed.items():
            print(f"  {file}: {function}: {' '.join(map(str, numbers))}")


main()
