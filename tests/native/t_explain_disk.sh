#!/bin/bash
# SPDX-License-Identifier: MIT
# explain: a span that reads from a slow disk, which is a file system of FUSE (slow_disk.py).
# test-wing: explain kernel python
. "$(dirname "$0")/record.sh"
need_root "kernel events, mounts"
[ -w /dev/fuse ] || skip "there is no /dev/fuse"

python=/usr/bin/python3
[ -x $python ] || python=python3
compgen -G "$out/python/tsctrace/_tsctrace*.so" >/dev/null || skip "python3-dev is not installed"
export PYTHONPATH=$out/python
touch "$work/file"
run 0 record -q -o "$work/rec" -e sched -e syscalls -- \
	unshare -m $python "$here/slow_disk.py" "$work/file"
run 0 explain --json --slowest disk "$work/rec"
$python -c '
import json, sys
(span,) = json.load(sys.stdin)["spans"]
def longest(whole):	# but for a CPU
    return max((p for p in whole["parts"] if p["state"] != "runnable"), key=lambda p: p["ns"])
read = longest(span)
assert read["call"] == "read" and read["object"].startswith("fd ") and read["woken_by"], read
sleep = longest(read)
assert sleep["call"] == "clock_nanosleep" and sleep["ns"] > 0.1e9, sleep' \
	<"$work/out" || fail "other causes: $(cat "$work/out")"
