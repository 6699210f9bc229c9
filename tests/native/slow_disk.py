# SPDX-License-Identifier: MIT
"""A span that reads a file of a slow disk: a file system of one file, made by FUSE, whose process
sleeps before it returns data. To be run in a mount namespace of its own. slow_disk.py FILE"""
import ctypes
import os
import struct
import sys
import time

import tsctrace

PAUSE = 0.15	# s
INIT, GETATTR, OPEN, READ = 26, 3, 14, 15	# opcodes of linux/fuse.h
FOPEN_DIRECT_IO = 1
ENOSYS = 38

device = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={device},rootmode=100666,user_id=0,group_id=0"
if libc.mount(b"tsctrace-test", sys.argv[1].encode(), b"fuse", 0, options.encode()):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")


def serve():
    while request := os.read(device, 1 << 17):
        _, opcode, unique = struct.unpack_from("=IIQ", request)
        data, error = b"", 0
        if opcode == INIT:
            data = struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, 4096, 0, 0, 0, 0, *[0] * 7)
        elif opcode == GETATTR:
            data = struct.pack("=QII6Q10I", 0, 0, 0, 1, 4096, 8, 0, 0, 0, 0, 0, 0, 0o100666, 1,
                               0, 0, 0, 4096, 0)
        elif opcode == OPEN:
            data = struct.pack("=QII", 1, FOPEN_DIRECT_IO, 0)
        elif opcode == READ:
            time.sleep(PAUSE)
            data = b"x" * 16
        else:
            error = -ENOSYS
        os.write(device, struct.pack("=IiQ", 16 + len(data), error, unique) + data)


disk = os.fork()
if not disk:
    serve()
file = os.open(sys.argv[1], os.O_RDONLY)
with tsctrace.span("disk"):
    os.read(file, 16)
os.close(file)	# while the file system answers
os.kill(disk, 9)
os.waitpid(disk, 0)
