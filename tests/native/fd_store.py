#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts a daemon as systemd does, and stores its descriptors as systemd does.

usage: fd_store.py TSCTRACED TRACE_CTL DIR EMIT
"""
import array
import os
import socket
import subprocess
import sys
import time

daemon, ctl, work, emit = sys.argv[1:]
run = os.path.join(work, "fdrun")
os.mkdir(run, 0o755)
env = dict(os.environ, TSCTRACE_RUN_DIR=run)
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(os.path.join(work, "notify"))
notify.settimeout(20)
stored = []		# (name, descriptor)


def read_until(wanted):
    """Receives notifications until one has a line that begins with @wanted."""
    while True:
        text, ancillary, _, _ = notify.recvmsg(4096, socket.CMSG_SPACE(64))
        fds = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[:len(data) // 4 * 4])
        lines = text.decode().split("\n")
        values = dict(line.split("=", 1) for line in lines if "=" in line)
        if values.get("FDSTORE") == "1":
            stored.extend((values["FDNAME"], fd) for fd in fds)
        if values.get("FDSTOREREMOVE") == "1":
            for entry in [e for e in stored if e[0] == values["FDNAME"]]:
                os.close(entry[1])
                stored.remove(entry)
        if any(line.startswith(wanted) for line in lines):
            return


def start():
    names = ":".join(name for name, _ in stored)
    fds = [fd for _, fd in stored]

    def child():
        high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)),
                          LISTEN_FDNAMES=names, NOTIFY_SOCKET=os.path.join(work, "notify"),
                          TSCTRACE_RUN_DIR=run)
        os.execv(daemon, [daemon, "--no-module"])
    pid = os.fork()
    if not pid:
        try:
            child()
        finally:
            os._exit(1)
    read_until("READY=1")
    return pid


def end(pid, signal):
    os.kill(pid, signal)
    os.waitpid(pid, 0)


def trace_ctl(*args):
    return subprocess.run([ctl, *args], env=env, check=True, capture_output=True, text=True)


pid = start()
trace_ctl("channel", "create", "one", "--policy", "overwrite")
trace_ctl("channel", "create", "two")
read_until("FDNAME=channel-2-")
assert sorted(name for name, _ in stored) == [f"channel-1-{os.getuid()}-one",
                                             f"channel-2-{os.getuid()}-two"], stored
subprocess.run([emit, "1000"], env=dict(env, TSCTRACE_CHANNEL="one"), check=True,
               stdout=subprocess.DEVNULL)
end(pid, 9)
pid = start()
text = trace_ctl("channel", "list").stdout
assert any(line.split()[1:2] == ["one"] and "1001" in line.split()
           for line in text.split("\n")), text
trace_ctl("channel", "remove", "two")
read_until("FDSTOREREMOVE=1")
assert [name for name, _ in stored] == [f"channel-1-{os.getuid()}-one"], stored
# A descriptor that is no channel, and one whose name was made up
fd = os.memfd_create("junk")
os.truncate(fd, 4096)
stored += [("channel-7-0-junk", fd), ("else", os.open("/dev/null", os.O_RDWR))]
end(pid, 15)
pid = start()
read_until("FDSTOREREMOVE=1") if any(n == "channel-7-0-junk" for n, _ in stored) else None
assert all(name != "channel-7-0-junk" for name, _ in stored), stored
text = trace_ctl("channel", "list").stdout
assert "junk" not in text and " one " in text, text
assert not os.path.exists(os.path.join(run, "kept.sock")), "a holder was started, too"
trace_ctl("channel", "remove", "one")
end(pid, 15)
