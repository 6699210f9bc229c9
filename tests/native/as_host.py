#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""as_host.py DIR HOST NS UTC_NS

Changes a recording to one of another host: with the name HOST and another boot, whose
CLOCK_REALTIME differs by NS and whose kernel states the bound UTC_NS to UTC ("unknown":
none).
"""
import os
import re
import sys
import uuid


def change_metadata(path, host, shift, utc):
    with open(path, "rb") as f:
        text = f.read().decode("latin1")
    text = re.sub(r'(base_ns=)(\d+)', lambda m: m[1] + str(int(m[2]) + shift), text)
    text = re.sub(r'hostname = "[^"]*"', f'hostname = "{host}"', text)
    new = f"{sum(host.encode()) % 256:02x}"
    text = re.sub(r'((?:boot_id|trace_uuid|uuid) = ")..', lambda m: m[1] + new, text)
    source, ns = (0, 2**64 - 1) if utc == "unknown" else (1, utc)
    text, nr = re.subn(r'ns=\d+ source=\d', f"ns={ns} source={source}", text)
    assert nr, "the recording has no bounds to UTC"
    with open(path, "wb") as f:
        f.write(text.encode("latin1"))
    return uuid.UUID(re.search(r'trace_uuid = "([^"]*)"', text)[1]).bytes


def change_packets(path, new):
    """Every packet names the recording's UUID."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    at = 0
    while at < len(data):
        data[at + 4:at + 20] = new
        at += int.from_bytes(data[at + 48:at + 56], "little") // 8
    with open(path, "wb") as f:
        f.write(data)


def main():
    path, host, shift, utc = sys.argv[1:]
    new = change_metadata(f"{path}/metadata", host, int(shift), utc)
    for name in os.listdir(path):
        if name != "metadata":
            change_packets(f"{path}/{name}", new)


if __name__ == "__main__":
    main()
