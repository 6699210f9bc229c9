#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the layout of the sources and the names in them; see t_rooms.sh.

rooms.table lists, for each folder, the folders that it may include from.
words.table lists names that are not used, with the term that is.
"""
import os
import re
import subprocess
import sys

PRODUCT = ("kmod", "lib", "daemon", "tools")
# Folders that a core build leaves out, besides tools/wings/
WING_ROOMS = ("daemon/collective", "daemon/exchanges", "daemon/history", "daemon/metrics", "lib/export",
              "lib/history", "lib/mpi", "lib/python/tsctrace", "lib/reference", "lib/syscalls", "tools/bpf", "tools/bpf/progs", "tools/shared")
FAULTS = []


def fault(text):
    FAULTS.append(text)


def tracked():
    """The product's C files, as git has them, or as they lie there."""
    try:
        text = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *PRODUCT],
                              check=True, capture_output=True, text=True).stdout
        files = text.splitlines()
    except (OSError, subprocess.CalledProcessError):
        files = [os.path.join(folder, name) for top in PRODUCT
                 for folder, _, names in os.walk(top) for name in names]
    return sorted(f for f in files if os.path.exists(f))


def table(name):
    """Lines of a table in this folder: words, without comments."""
    with open(os.path.join(os.path.dirname(__file__), name)) as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if words:
                yield words


def room_of(path):
    """The folder that counts as the room of a file."""
    folder = os.path.dirname(path)
    for public in ("lib/include", "kmod/uapi", "kmod/include"):
        if folder.startswith(public):
            return "public"
    return folder


def bare(text):
    """The code alone: no comments, no strings; lines stay where they are."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  blank, text, flags=re.S)


def check_includes(sources):
    allowed = {room: set(rest) for room, *rest in table("rooms.table")}
    for file, text in sources.items():
        room = room_of(file)
        if room == "public":
            continue
        if room not in allowed:
            fault(f"{file}: folder {room} is not in rooms.table")
            continue
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            near = os.path.normpath(os.path.join(os.path.dirname(file), name))
            path = near if near in sources else os.path.normpath(name)
            if path not in sources:
                continue	# a generated header, which is not among the sources
            target = room_of(path)
            if target not in (room, "public") and target not in allowed[room]:
                fault(f"{file}: includes {path}; rooms.table does not let {room} use {target}")
    check_order(allowed)


def is_of_wing(room):
    """Folders of wings, and those that only wings share: lib/Makefile and tools/Makefile leave
    them out of `make CORE=1`."""
    return room in WING_ROOMS or room.startswith("tools/wings/")


def check_core(sources):
    """The core names no wing: neither in its rows of rooms.table nor by an include, which a
    search path of the compiler might find."""
    for room, *rest in table("rooms.table"):
        for other in rest:
            if not is_of_wing(room) and is_of_wing(other):
                fault(f"rooms.table: {room}, of the core, names {other}, of wings")
    names = {os.path.basename(f): f for f in sources if is_of_wing(room_of(f))}
    for file, text in sources.items():
        if is_of_wing(room_of(file)):
            continue
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            near = os.path.normpath(os.path.join(os.path.dirname(file), name))
            path = next((p for p in (near, name) if p in sources),
                        names.get(os.path.basename(name), file))
            if is_of_wing(room_of(path)) or name.endswith(".skel.h"):
                fault(f"{file}: the core includes {name}, of a wing")


def check_order(allowed):
    """No folder may reach itself by way of the table."""
    done, path = set(), []

    def visit(room):
        if room in path:
            fault("rooms.table has a cycle: " + " -> ".join(path[path.index(room):] + [room]))
            return
        if room in done:
            return
        path.append(room)
        for target in sorted(allowed.get(room, ())):
            visit(target)
        path.pop()
        done.add(room)
    for room in sorted(allowed):
        visit(room)


def check_tops(files):
    """lib/ and daemon/ have their sources in rooms."""
    top = [f for f in files if f.endswith(".c") and os.path.dirname(f) == "lib"]
    if top:
        fault(f"lib/ has sources at its top: {', '.join(top)}")
    top = [f for f in files if f.endswith(".c") and os.path.dirname(f) == "daemon"]
    if len(top) > 3:
        fault(f"daemon/ has more than three sources at its top: {', '.join(top)}")


def check_structs(code):
    where = {}
    for file, text in code.items():
        for kind, name in re.findall(r"\b(struct|union)\s+(\w+)\s*(?:__\w+(?:\([^)]*\))?\s*)?\{", text):
            where.setdefault(name, []).append(file)
    for name, files in sorted(where.items()):
        if len(files) > 1:
            fault(f"struct {name} is defined {len(files)} times: {', '.join(files)}")


def check_statics(code):
    """Static names of the module: kallsyms and backtraces show nothing else."""
    where = {}
    for file, text in code.items():
        if not file.startswith("kmod/") or "/include/" in file:
            continue
        for line in re.findall(r"^static (?!inline\b|const struct \w+ \w+;)[^\n]*(?:\n[^\n{;=]*)?", text, re.M):
            head = re.split(r"[=;{]", line)[0]
            names = re.findall(r"(\w+)\s*\(", head) or re.findall(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", head.strip())
            names = [n for n in names if not n.startswith("__") and n.islower()]
            if names:
                where.setdefault(names[0], set()).add(file)
    for name, files in sorted(where.items()):
        if len(files) > 1:
            fault(f"static {name} stands in {', '.join(sorted(files))}")
        if len(name) < 3:
            fault(f"{sorted(files)[0]}: static {name} says nothing in a backtrace")


def check_flows():
    """design.rst names the files of each flow, in order: they exist."""
    flows, flow = {}, None
    with open("Documentation/design.rst") as lines:
        for line in lines:
            match = re.match(r"\.\. flow: (\w+)", line)
            if match:
                flow = flows.setdefault(match[1], [])
            elif flow is not None and re.match(r"[a-z]+/\S+\.[ch]\b", line):
                flow.append(line.split()[0])
            elif line.startswith("**") or re.match(r"[A-Z]", line):
                flow = None
    for name in ("event", "clock", "sync"):
        files = flows.get(name, [])
        if not files:
            fault(f"design.rst: flow {name} names no file")
        for file in files:
            if not os.path.exists(file):
                fault(f"design.rst: flow {name}: {file} does not exist")


def check_words(files, code):
    """Names whose term is another one: as a part of a name, or as all of it."""
    part, whole = {}, {}
    for how, word, *instead in table("words.table"):
        {"part": part, "name": whole}[how][word] = " ".join(instead)
    found = {}
    for file in files:
        name = re.sub(r"\..*", "", os.path.basename(file))
        for piece in {name, *re.split(r"[-_]", name)}:
            if piece in part or (piece == name and piece in whole):
                fault(f"{file}: file name: {piece} -> {part.get(piece) or whole[piece]}")
    for file, text in code.items():
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("#include"):
                continue
            for name in re.findall(r"[A-Za-z_]\w*", line):
                low = name.lower()
                for piece in low.split("_"):
                    if piece in part:
                        found.setdefault((piece, name), f"{file}:{number}")
            for name in re.findall(r"\b(?:struct|enum|union)\s+(\w+)", line):
                if name in whole or name.removeprefix("tsct_") in whole:
                    found.setdefault((name.removeprefix("tsct_"), "struct " + name), f"{file}:{number}")
    for (piece, name), place in sorted(found.items()):
        fault(f"{place}: {name}: {piece} -> {part.get(piece) or whole[piece]}")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    files = [f for f in tracked() if re.search(r"\.(c|h|hpp)$", f)]
    sources = {f: open(f).read() for f in files}
    code = {f: bare(text) for f, text in sources.items() if f.endswith((".c", ".h"))}
    check_includes(sources)
    check_core(sources)
    check_tops(files)
    check_structs({f: t for f, t in code.items()})
    check_statics(code)
    check_words(files, code)
    check_flows()
    print(f"{len(files)} files, {len(list(table('rooms.table')))} folders, {len(FAULTS)} faults")
    for text in FAULTS:
        print(text)
    return 1 if FAULTS or not files else 0


if __name__ == "__main__":
    sys.exit(main())
