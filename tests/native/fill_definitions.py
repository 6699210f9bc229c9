#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
fill_definitions.py LIB [NUMBER]

Defines NUMBER events in $TSCTRACE_CHANNEL, without emitting them; or as many as it takes until
no definition fits. Prints how many it has defined.
"""
import ctypes
import errno
import sys

lib = ctypes.CDLL(sys.argv[1])
channel = ctypes.c_void_p()
if lib.tsct_channel_open(None, ctypes.byref(channel)):
    sys.exit("no channel")
number = int(sys.argv[2]) if len(sys.argv) > 2 else None
nr = 0
# The largest definitions first, to be quick, then the smallest ones
for fields in (b"",) if number else (",".join(f"f{i}:u8" for i in range(32)).encode(), b""):
    while nr != number:
        result = lib.tsct_event_define(channel, f"filler{nr}".encode(), 0, fields)
        if result == -errno.ENOSPC:
            break
        if result < 0:
            sys.exit(f"definition {nr}: error {result}")
        nr += 1
print(nr)
lib.tsct_channel_close(channel)
