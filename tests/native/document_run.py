#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""document_run.py FILE... - runs the commands of documents (*.rst, *.md) one after the other in
the working directory, and compares what they print with what is printed below them.

A block of commands is a literal block of an rst with lines that begin with "$ ", or a block ```sh
of an md, of which each line is a command if none begins with "$ ". Below a command: its output,
standard error first. A line "..." (the character) stands for any lines, "..." within a line for any
text. The number of a thread, a CPU, a time, a number with a fraction or with a unit is compared
as such. A command without output below it may print anything. A block ```c is a program, or the
statements of one that uses the clock, a block ```python a script: all must run. The comment ".. not run: REASON" (md: "<!-- not run: REASON -->") in the
line before a block, or two before it, leaves the block out, and prints the reason.
Prints each fault; exit status 1 if there are any."""
import glob
import os
import re
import subprocess
import sys

NOT_RUN = re.compile(r"^(?:\.\.|<!--) not run: (.*?)(?: -->)?$")
# Parts of a line that differ in each run; all else is compared literally.
CHANGING = (
    (r"\d\d:\d\d:\d\d\.\d{9}", r"\d\d:\d\d:\d\d\.\d{9}"),		# a time of day
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?",
     r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?"),
    (r"\[\d{3}\] +\d+ ", r"\[\d{3,}\] +\d+ "),			# CPU and thread
    (r"\bCPU \d+ +\d+ events", r"CPU \d+ +\d+ events"),
    (r"(?<![=\w])\d{10,}\b", r"\d{10,}"),			# a counter
    (r"\b\d+(?:\.\d+)? ?(?:[num]?s|(?:[KMG]i)?B|[kMG]?Hz|pp[bm]|%)(?![\w])",
     r"\d+(?:\.\d+)? ?(?:[num]?s|(?:[KMG]i)?B|[kMG]?Hz|pp[bm]|%)"),
    (r"[-+]?\d+\.\d+", r"[-+]?\d+(?:\.\d+)?"),
    (r"0x[0-9a-f]{6,}", r"0x[0-9a-f]+"),
    (r"\btsc\b", r"(?:tsc|monotonic_raw)"),	# the clock of programs on this machine
    (r"\u2026", r".*"),
    (r" +", r" +"),
)
SPLIT = re.compile("|".join("(%s)" % part for part, _ in CHANGING))


def pattern(line):
    text, at = "", 0
    for found in SPLIT.finditer(line):
        text += re.escape(line[at:found.start()]) + CHANGING[found.lastindex - 1][1]
        at = found.end()
    return re.compile(text + re.escape(line[at:]) + r"\s*$")


class Block:
    def __init__(self, path, line, kind, reason):
        self.path, self.line, self.kind, self.reason, self.lines = path, line, kind, reason, []


def blocks_of(path):
    """Yields the literal blocks of a document."""
    block, reason, at, indent = None, None, 0, 0
    for nr, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
        if block and path.endswith(".md"):
            if line.startswith("```"):
                yield block
                block = None
            else:
                block.lines.append(line)
            continue
        if block:
            if not line.strip() or line.startswith("  "):
                block.lines.append(line[2:])
                continue
            yield block
            block = None
        mark = NOT_RUN.match(line)
        if mark:
            reason, at = mark.group(1), nr
        if line.startswith("```") if path.endswith(".md") else line.endswith("::"):
            block = Block(path, nr, line[3:] if path.endswith(".md") else "sh",
                          reason if nr - at <= 2 else None)
            reason = None
    if block:
        yield block


def steps_of(block):
    """Yields (line number, command, lines of output) of a block of commands."""
    lines = block.lines
    typed = any(line.startswith("$ ") for line in lines)
    step = None
    i = 0
    while i < len(lines):
        if lines[i].startswith("$ ") or (not typed and lines[i].strip()):
            if step:
                yield step
            step = (block.line + 1 + i, lines[i][2 * typed:], [])
            here = re.search(r"<<'(\w+)'", lines[i])
            while (here and lines[i] != here.group(1)) or step[1].endswith("\\"):
                i += 1
                step = (step[0], step[1] + "\n" + lines[i], [])
        elif step and lines[i].strip():
            step[2].append(lines[i])
        i += 1
    if step:
        yield step


def matches(wanted, got):
    """True if the lines of output match; a line of one ellipsis stands for any lines."""
    if not wanted:
        return not got
    if wanted[0].strip() == "\u2026":
        return any(matches(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and pattern(wanted[0]).match(got[0]) and matches(wanted[1:], got[1:])


def run(command):
    """Returns the exit status and the lines of standard error, then output."""
    # Files, as a process in the background may keep its output open
    with open(".out", "w+", encoding="utf-8") as out, open(".err", "w+", encoding="utf-8") as err:
        status = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=out,
                                stderr=err, timeout=240, check=False).returncode
        out.seek(0)
        err.seek(0)
        return status, (err.read() + out.read()).split("\n")[:-1]


PROGRAMS = {
    "c": (".c", "cc -Wall -Werror -o block {} $(pkg-config --cflags --libs tsctrace) && ./block"),
    "python": (".py", "/usr/bin/python3 {}"),
}


def reason_of(block):
    """Returns why a block is not run, or None."""
    if block.kind == "python" and not glob.glob(os.environ["PYTHONPATH"] + "/tsctrace/*.so"):
        return "python3-dev is not installed"
    return block.reason


def steps(block):
    if block.kind == "sh":
        return steps_of(block)
    if block.kind not in PROGRAMS:
        return ()
    suffix, command = PROGRAMS[block.kind]
    name = "block" + suffix
    with open(name, "w", encoding="utf-8") as to:
        text = "\n".join(block.lines) + "\n"
        if block.kind == "c" and "main(" not in text:
            text = ("#include <stdio.h>\n#include <tsctrace/clock.h>\nint main(void)\n{\n" + text +
                    "\treturn !printf(\"%lld %lld\", (long long)now, (long long)then.ns);\n}\n")
        to.write(text)
    return ((block.line, command.format(name), []),)


faults = commands = compared = left_out = 0
for document in sys.argv[1:]:
    for block in blocks_of(document):
        name = os.path.basename(document)
        if reason_of(block):
            left_out += 1
            print("# %s:%d: not run: %s" % (name, block.line, reason_of(block)))
            continue
        for line, command, wanted in steps(block):
            commands += 1
            status, got = run(command)
            if status:
                print("FAILED: %s:%d: %s: status %d" % (name, line, command, status))
            elif wanted and not matches(wanted, got):
                print("FAILED: %s:%d: %s: the document says" % (name, line, command))
                print("\n".join("#   " + text for text in wanted) + "\n# printed is")
            else:
                compared += bool(wanted)
                continue
            faults += 1
            print("\n".join("#   " + text for text in got[:40]), flush=True)
print("# %d commands, %d outputs compared, %d blocks not run, %d faults" %
      (commands, compared, left_out, faults))
sys.exit(faults != 0 or not compared)
