#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""copies.py FROM N DIR: N copies of a recording, each of a node with its own numbers.

The recordings DIR/n00000 and so on have UUIDs, ids of nodes and names of their own; their
events and samples are those of FROM.
"""
import os
import re
import sys


def copy(meta, uuid, files, number, to):
    raw = bytes.fromhex(uuid.decode().replace("-", ""))
    new = raw[:12] + number.to_bytes(4, "big")
    text = new.hex()
    text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    meta = meta.replace(uuid, text.encode())
    meta = re.sub(rb'(\tsync_state = "role=\d+ node=)(\d+)',
                  lambda m: m.group(1) + b"%d" % (int(m.group(2)) + number + 1), meta)
    meta = meta.replace(b'\tsync_node = "', b'\tsync_node = "%d-' % number)
    os.makedirs(to)
    with open(to + "/metadata", "wb") as file:
        file.write(meta)
    for name, data in files.items():
        with open(to + "/" + name, "wb") as file:
            file.write(data.replace(raw, new))


def main():
    source, count, to = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    files = {name: open(source + "/" + name, "rb").read() for name in os.listdir(source)}
    meta = files.pop("metadata")
    uuid = re.search(rb'\ttrace_uuid = "([0-9a-f-]+)"', meta).group(1)
    for number in range(count):
        copy(meta, uuid, files, number, "%s/n%05d" % (to, number))


main()
