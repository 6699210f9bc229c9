#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""callcheck.py TABLE FORMATS: compares the arguments in the table of system calls, as
calls.c prints it, with the lines "field:" of the kernel's events sys_enter_*.

The types of the formats are those of the kernel's sources. A string is a pointer there;
file descriptors of type unsigned long are s32 in the table.
"""
import re
import sys

# Names of the kernel's functions that are not those of the calls
FUNCTIONS = {"stat": "newstat", "fstat": "newfstat", "lstat": "newlstat",
             "uname": "newuname", "sendfile": "sendfile64", "umount2": "umount"}
TYPES = {
    "s32": {"int", "pid_t", "__s32", "clockid_t", "timer_t", "key_serial_t", "mqd_t",
            "rwf_t", "key_t"},
    "u32": {"unsigned int", "unsigned", "u32", "__u32", "uid_t", "gid_t", "qid_t",
            "enum landlock_rule_type"},
    "u16": {"umode_t"},
    "s64": {"long", "off_t", "loff_t"},
    "u64": {"size_t", "unsigned long", "__u64", "u64", "aio_context_t"},
}


def formats(path):
    """The arguments of each call: [(type, name), ...]"""
    calls = {}
    for line in open(path):
        found = re.match(r"sys_enter_(\w+)/format:\s*field:(.*?)(\w+);", line)
        call, kind, name = found.groups()
        args = calls.setdefault(call, [])
        if not name.startswith("common_") and name != "__syscall_nr":
            args.append((kind.strip(), name))
    return calls


def is_same(ours, name, kernels):
    if "*" in kernels or kernels.startswith("cap_user") or "const cap_user" in kernels:
        return ours in ("pointer", "string")
    kernels = kernels.replace("const ", "")
    if ours == "s32" and name == "fd":
        return kernels in TYPES["s32"] | {"unsigned long"}
    # A number that the call uses as an address
    if ours == "pointer":
        return kernels in ("unsigned long", "long")
    return kernels in TYPES[ours]


def main():
    theirs, compared, faults = formats(sys.argv[2]), 0, []
    for line in open(sys.argv[1]):
        _, call, *args = line.split()
        kernel = theirs.get(FUNCTIONS.get(call, call))
        if kernel is None:
            continue
        compared += 1
        ours = [arg.split(":") for arg in args]
        if [name for name, _ in ours] != [name for _, name in kernel]:
            faults.append(f"{call}: {args}, kernel {kernel}")
            continue
        for (name, mine), (kind, _) in zip(ours, kernel):
            if not is_same(mine, name, kind):
                faults.append(f"{call}: {name} is {mine}, kernel {kind}")
    print(f"{compared} of {len(theirs)} calls of the kernel compared")
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(bool(faults) or compared < 300)


main()
