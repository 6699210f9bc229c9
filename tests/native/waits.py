# SPDX-License-Identifier: MIT
"""Spans with known causes; each is named after its cause."""
import os
import socket
import threading
import time

import tsctrace

PAUSE = 0.15	# s
FUTEX, RECVFROM = 202, 45	# numbers of system calls

lock = threading.Lock()


def await_blocked(pid, tid, call):
    """Waits until a thread is blocked in a system call; in futex, without a time limit: the
    waits for Python's own lock have one."""
    while True:
        with open(f"/proc/{pid}/task/{tid}/syscall") as file:
            words = file.read().split()
        if words[0] == str(call) and (call != FUTEX or not int(words[4], 16)):
            return
        time.sleep(0.001)


def ask_peer():
    near.send(b"%d" % threading.get_native_id())
    near.recv(1)


def wait_for_lock(name, cause):
    """A span that waits for a lock, whose holder does `cause` meanwhile."""
    held, waited = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            waited.wait()
            await_blocked(os.getpid(), os.getpid(), FUTEX)
            cause()
    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with tsctrace.span(name):
        waited.set()
        with lock:
            pass
    holder.join()


def serve():
    while thread := far.recv(20):
        await_blocked(os.getppid(), int(thread), RECVFROM)
        time.sleep(PAUSE)
        far.send(b"y")
    os._exit(0)


def spin():
    """Takes the CPU whenever it can."""
    while True:
        pass


near, far = socket.socketpair()
peer = os.fork()
if not peer:
    near.close()
    serve()
far.close()
with tsctrace.span("sleep", how="nap"):
    time.sleep(PAUSE)
with tsctrace.span("peer"):
    ask_peer()
wait_for_lock("lock", lambda: time.sleep(PAUSE))
wait_for_lock("chain", ask_peer)
with tsctrace.span("compute"):
    begin = time.thread_time()
    while time.thread_time() < begin + 0.02:
        pass
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
spinner = os.fork()
if not spinner:
    spin()
with tsctrace.span("cpu"):
    begin = time.thread_time()
    while time.thread_time() < begin + 0.05:
        pass
os.kill(spinner, 9)
os.waitpid(spinner, 0)
near.close()
os.waitpid(peer, 0)
