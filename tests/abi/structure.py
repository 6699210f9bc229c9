#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the structure of the sources; see t_structure.sh.

structure.table has today's values: none may get worse, and one that gets better is to be
written there. BUILD is the folder of the objects, whose symbols say which file uses which.
"""
import glob
import os
import re
import subprocess
import sys

import rooms

FAULTS = []
# A definition: the name, and the body between the braces
FUNCTION = re.compile(r"^(?:[a-zA-Z_](?:[^\n;={}()]|\(\(\w+\)\))*?\b)?(?!__attribute__)(\w+)\("
                      r"[^;{}]*\)\s*\n\{\n(.*?)^\}", re.M | re.S)


def circles(build):
    """Groups of files each of which reaches all others of its group by what it calls."""
    makers, wants = {}, {}
    for top in ("lib", "daemon", "tools"):
        for folder, _, names in os.walk(os.path.join(build, top)):
            for name in names:
                path = os.path.join(folder, name)
                source = re.sub(r"(lib/mpi)-[a-z]+(/mpi)?", r"\1",
                                os.path.relpath(path, build)).removesuffix(".o") + ".c"
                if not name.endswith(".o") or not os.path.exists(source):
                    continue
                text = subprocess.run(["nm", path], check=True, capture_output=True,
                                      text=True).stdout
                for words in map(str.split, text.splitlines()):
                    if words[-2] in "U":
                        wants.setdefault(source, set()).add(words[-1])
                    elif words[-2] in "TDBRVW":
                        makers.setdefault(words[-1], set()).add(source)
    if not wants:
        sys.exit(f"no objects in {build}: run 'make' first")
    uses = {source: {maker for name in names for maker in makers.get(name, ())
                     if maker != source and
                     (maker.startswith("lib/") or maker.split("/")[0] == source.split("/")[0])}
            for source, names in wants.items()}
    return components(uses)


def components(uses):
    """Strongly connected components of more than one member, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(uses.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(members) > 1:
                found.append(sorted(members))
    for node in sorted(uses):
        if node not in index:
            visit(node)
    return sorted(found)


def core_lines(build):
    """Lines of all files that `make CORE=1` compiles, by folder: each source and what it
    includes, as the compiler wrote it, and all of the module with its rooms of lib/."""
    files = {f for top in ("kmod", "lib/abi", "lib/core")
             for f in glob.glob(top + "/**/*.[ch]", recursive=True)}
    for top in ("lib", "daemon", "tools"):
        objects = subprocess.run(["make", "-s", "-C", top, "CORE=1", "O=" + build, "all-objects"],
                                 check=True, capture_output=True, text=True).stdout.split()
        for made in objects:
            words = [os.path.join("..", os.path.relpath(made, build).removesuffix("o") + "c")]
            if os.path.exists(made.removesuffix(".o") + ".d"):	# not of the core alone
                with open(made.removesuffix(".o") + ".d") as text:
                    words = text.read().replace("\\\n", " ").split()
            paths = (os.path.relpath(os.path.join(top, w.rstrip(":"))) for w in words)
            files.update(p for p in paths if re.match(r"(lib|daemon|tools)/.*\.[ch]$", p))
    lines = {}
    for file in files:
        if os.path.exists(file):
            folder = os.path.dirname(file)
            lines[folder] = lines.get(folder, 0) + open(file).read().count("\n")
    for folder, nr in sorted(lines.items(), key=lambda item: -item[1]):
        print(f"core: {nr:6} {folder}")
    return sum(lines.values())


def clients(sources):
    """For each header, the files that include it, except its own source."""
    found = {file: set() for file in sources if file.endswith(".h")}
    for file, text in sources.items():
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            near = os.path.normpath(os.path.join(os.path.dirname(file), name))
            path = near if near in sources else os.path.normpath(name)
            if path in found and file != path[:-1] + "c":
                found[path].add(file)
    return found


def functions(sources):
    """The files and bodies of the functions of each name."""
    found = {}
    for file, text in sources.items():
        for match in FUNCTION.finditer(rooms.bare(text)):
            found.setdefault(match[1], []).append((file, match[2]))
    return found


def walk(steps, where):
    """Follows a walk: a list of functions, each called by the one before, or, after returns,
    by an earlier one; "-" begins again, in another thread or program. Returns the numbers of
    functions, rooms and returns."""
    stack, returns, visited, nr = [], 0, set(), 0
    for step in steps:
        if step == "-":
            stack = []
            continue
        name, _, file = step.partition("@")
        bodies = [(f, b) for f, b in where.get(name, ()) if file in f]
        if not bodies:
            raise LookupError(f"{step}: no such function")
        while stack and not re.search(r"\b%s\b" % name, stack[-1][1]):
            stack.pop()
            returns += 1
            if not stack:
                raise LookupError(f"{step}: none of the functions before it names it")
        stack.append(bodies[0])
        visited.add(rooms.room_of(bodies[0][0]))
        nr += 1
    return nr, len(visited), returns


def measure(build):
    files = [f for f in rooms.tracked() if re.search(r"\.(c|h)$", f)]
    sources = {f: open(f).read() for f in files}
    promises, walks, values = set(), {}, {}
    for kind, *words in rooms.table("structure.table"):
        if kind == "promise":
            promises.add(words[0])
        elif kind == "walk":
            walks.setdefault(words[0], []).extend(words[1:])
        else:
            values[" ".join([kind, *words[:-1]])] = int(words[-1])
    for file in sorted(promises - set(files)):
        FAULTS.append(f"structure.table: promise {file}: no such file")
    found = {}
    groups = circles(build)
    found["circles"] = len(groups)
    found["lines of the core"] = core_lines(build)
    for group in groups:
        print(f"circle of {len(group)}: {' '.join(group)}")
    includers = clients(sources)
    single = [h for h, by in sorted(includers.items()) if len(by) < 2 and h not in promises and
              rooms.room_of(h) != "public"]
    found["headers with one client"] = len(single)
    for header in single:
        print(f"one client: {header}: {' '.join(includers[header])}")
    found["clients of a private header"] = max(
        (len(by) for h, by in includers.items() if h.endswith("_private.h")), default=0)
    where = functions(sources)
    for name, steps in walks.items():
        try:
            nr, nr_rooms, returns = walk(steps, where)
        except LookupError as error:
            FAULTS.append(f"walk {name}: {error}")
            continue
        found[f"functions {name}"] = nr
        found[f"rooms {name}"] = nr_rooms
        found[f"returns {name}"] = returns
    for what, value in found.items():
        print(f"{what}: {value}")
        if what.startswith("lines ") and value <= values.get(what, -1):
            continue
        if value != values.get(what):
            FAULTS.append(f"{what}: {value}, and structure.table has {values.get(what)}" +
                          ("" if value > values.get(what, -1) else ": write it there"))


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    measure(os.environ.get("O", "build"))
    for text in FAULTS:
        print(text)
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
