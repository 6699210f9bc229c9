# SPDX-License-Identifier: MIT
"""Spans with known causes; each is named after its cause."""
import os
import socket
import threading
import time

import tsctrace

PAUSE = 0.15	# s; longer than a busy machine delays a thread

lock = threading.Lock()


def ask_peer():
    near.send(b"x")
    near.recv(1)


def wait_for_lock(name, cause):
    """A span that waits for a lock, whose holder does `cause` meanwhile."""
    held, waited = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            waited.wait()
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
    while far.recv(1):
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
