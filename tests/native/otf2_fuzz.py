#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""otf2_fuzz.py TRACE-CTL FOLDER SEED SECONDS ARCHIVE...

For SECONDS, damages copies of random archives and merges them. Even if libotf2
crashes or hangs, merge must write a result (exit status 0; 3 with a warning), or report
an error and leave no files (1). Prints how often each occurred. Otherwise exits with 1
and leaves the archive in FOLDER/x.
"""
import collections
import os
import random
import shutil
import subprocess
import sys
import time

LIMIT_S = 8  # after that, merge is terminated
LEAST = 20


def numbers(dice):
    return dice.choice([b"\xff", b"\0", b"\x80", b"\x7f", bytes([dice.randrange(256)]),
                        b"\xff" * dice.choice([2, 4, 8]), b"\0" * dice.choice([2, 4, 8]),
                        (2 ** dice.randrange(64)).to_bytes(8, "little")])


def damage_bytes(dice, data):
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.choice([0, 1, 1, 1, 2, 4, 8, 100]))
    how = dice.randrange(6)
    if how == 0:
        return data[:at]
    if how == 1:
        return data[:at] + data[end:]
    if how == 2:
        return data[:at] + data[at:end] * dice.choice([2, 100]) + data[end:]
    if how == 3 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1:]
    new = numbers(dice)
    return data[:at] + new + data[at + len(new):]


def damage(dice, folder):
    """Damages random files of an archive, sometimes removes one."""
    files = sorted(os.path.join(at, name) for at, _, names in os.walk(folder)
                   for name in names)
    for _ in range(dice.choice([1, 1, 2, 5])):
        path = dice.choice(files)
        if not os.path.exists(path):
            continue
        if not dice.randrange(40):
            os.unlink(path)
            continue
        with open(path, "rb") as f:
            data = f.read()
        with open(path, "wb") as f:
            f.write(damage_bytes(dice, data))


def merge(ctl, folder, other, options):
    start = time.monotonic()
    child = subprocess.Popen([ctl, "merge", "-q", *options, "-o", f"{folder}/o",
                              other, f"{folder}/x"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    try:
        err = child.communicate(timeout=LIMIT_S)[1]
    except subprocess.TimeoutExpired:
        child.terminate()
        err = child.communicate()[1]
    return child.returncode, err.decode(errors="replace"), time.monotonic() - start


def wrong(status, err, folder):
    left = [name for name in os.listdir(folder) if name.startswith((".o", "o"))]
    lines = err.splitlines()
    if status not in (0, 1, 3):
        return f"exit status {status}"
    if status and not (lines and all(line.startswith("trace-ctl merge: ")
                                     for line in lines)):
        return f"unexpected error text {err!r}"
    if status == 1 and left:
        return f"files are left: {left}"
    return None if status == 1 or left == ["o"] else f"unexpected files: {left}"


def main():
    ctl, folder, seed, seconds = sys.argv[1:5]
    dice, counts = random.Random(int(seed)), collections.Counter()
    begin = time.monotonic()
    while time.monotonic() - begin < float(seconds) or sum(counts.values()) < LEAST:
        shutil.rmtree(f"{folder}/x", ignore_errors=True)
        shutil.rmtree(f"{folder}/o", ignore_errors=True)
        shutil.copytree(dice.choice(sys.argv[5:]), f"{folder}/x")
        damage(dice, f"{folder}/x")
        options = dice.choice([[], ["--salvage"], ["--force"], ["--force", "--salvage"]])
        status, err, took = merge(ctl, folder, sys.argv[5], options)
        why = wrong(status, err, folder)
        if why:
            print(f"otf2_fuzz: merge {' '.join(options)}: {why} after {took:.1f} s; "
                  f"see {folder}/x")
            sys.exit(1)
        counts["crashed" if "libotf2 crashed" in err else "stopped" if took > LIMIT_S
               else f"status {status}"] += 1
    print(sum(counts.values()), "archives:",
          ", ".join(f"{what}: {nr}" for what, nr in sorted(counts.items())))


main()
