#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A node of a cluster recording that goes through all states, and sends something else than
its recording.

hostile_node.py trace-ctl VERSION CASE
"""
import json
import os
import sys
import zlib

VERSION, CASE = sys.argv[2:4]


def send(kind, data=b"", **members):
    line = {"type": kind, **members, **({"data": len(data)} if data else {})}
    sys.stdout.buffer.write(json.dumps(line).encode() + b"\n" + data)
    sys.stdout.buffer.flush()


def send_file(name, data, size=None):
    send("file", name=name, size=len(data) if size is None else size)
    data = zlib.compress(data)
    for at in range(0, len(data), 200000):
        send("data", data[at:at + 200000])


def gather():
    if CASE == "path":
        send_file("../../touched", b"x")
    elif CASE == "bomb":
        send_file("metadata", bytes(1 << 26), 1000000)
    elif CASE == "damage":
        send("file", name="metadata", size=100)
        send("data", b"this is no zlib stream")
    elif CASE == "twice":
        send_file("metadata", b"x")
        send_file("metadata", b"x")
    elif CASE == "dies":
        send_file("metadata", b"x" * 1000000)
        sys.exit(9)
    elif CASE == "no_recording":
        send_file("metadata", b"x" * 1000000)
        send_file("stream_0", b"x" * 1000000)
        send("gathered")


def main():
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    send("hello", protocol=1, version=VERSION)
    for line in sys.stdin:
        kind = json.loads(line)["type"]
        if kind == "check":
            send("checked", boot=boot, host="h", dir="/nowhere", error="", free=10**9,
                 cwd_exists=True)
        elif kind == "start":
            send("ready")
        elif kind == "go" and CASE == "live":
            send("live", b"x" * 64, names=["a", "b"])
        elif kind == "go":
            send("output", b"\x1b]0;title\x07 and no end of line", stream=2)
            send("ended", exit_status=0, signal=0)
        elif kind == "stop" and CASE == "noise":
            sys.stdout.buffer.write(os.urandom(100000) + b"\n")
            sys.stdout.buffer.flush()
        elif kind == "stop":
            send("summary", summary={"events": 2**62, "lost": {"full": "x"}, "command": []})
            send("recorded", status=0, files=2, bytes=2000000)
        elif kind == "gather":
            gather()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os._exit(1)
