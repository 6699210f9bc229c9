#!/bin/sh
# SPDX-License-Identifier: MIT
# A recorder of sched_switch on an idle machine: the work by which the module wakes readers is
# itself two context switches, and does not run because of these.
# guest-test: timeout=60 needs=btf rt=yes
# guest-test: files=build/tools/trace-ctl,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
evidence="out err"
cd "$(mktemp -d)"
mkdir tracing
mount -t tracefs tracefs tracing
begins=tracing/events/workqueue/workqueue_execute_start/enable
recorder=
trap '[ -z "$recorder" ] || kill -9 $recorder 2>/dev/null || true' EXIT

TSCTRACE_PROVIDER=module trace-ctl record -a -e sched_switch -o r >out 2>err &
recorder=$!
records() { [ -s r/metadata ] && [ "$(du -s r | cut -f 1)" -gt 40 ]; }
wait_for "events" records
echo 1 >$begins
: >tracing/trace
from=$(cut -d. -f1 /proc/uptime)
sleep 5
echo 0 >$begins
took=$(($(cut -d. -f1 /proc/uptime) - from + 1))
runs=$(grep -c tsct_channel_watch_fn tracing/trace || true)
end_by INT $recorder
recorder=
umount tracing
echo "$runs runs in $took s"
[ "$runs" -lt $((2 * took)) ] || fail "$runs runs of the module's work item in $took s"
