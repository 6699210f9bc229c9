#!/bin/sh
# SPDX-License-Identifier: MIT
# The part of the demo about one machine, on alpha: its counters are checked, and
# system calls, switches and a program's own events are recorded.
set -eu
cd /tmp

echo "stage: alpha: checking the CPUs' counters"
trace-ctl check >/tmp/demo/check 2>&1
trace-ctl clock >/tmp/demo/clock 2>&1

echo "stage: alpha: recording sqlite3"
status=0
trace-ctl record --no-cluster -e sched_switch -e syscalls -o /tmp/demo/recording \
	-- sh -c 'sqlite3 /tmp/orders.db </tests/workload.sql && /usr/bin/jobs' \
	>/tmp/demo/record.out 2>/tmp/demo/record.log || status=$?
echo "$status" >/tmp/demo/record.status
[ $status = 0 ] || cat /tmp/demo/record.log
exit $status
