#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo's part inside the guest: the module is loaded; start the daemon,
# check the machine, record. All that is to be shown on the host goes to
# /tmp/demo, and from there out of the guest. "stage:" lines are its progress.
set -eu
hostname demo
mkdir -p /tmp/demo
cd /tmp

echo "stage: starting the daemon"
tsctraced 2>/tmp/demo/tsctraced.log &
daemon=$!
n=0
until trace-ctl clock --json 2>/dev/null | grep -q '"status": *"synchronized"'; do
	n=$((n + 1))
	[ $n -lt 100 ] || { echo "the clock does not synchronize"; cat /tmp/demo/tsctraced.log; exit 1; }
	sleep 0.2
done

echo "stage: checking the CPUs' counters"
trace-ctl check >/tmp/demo/check 2>&1
trace-ctl clock >/tmp/demo/clock 2>&1

echo "stage: recording"
status=0
trace-ctl record -e sched_switch -e sys_enter -e sys_exit -o /tmp/demo/recording \
	-- sh -c 'sqlite3 /tmp/orders.db </tests/workload.sql && /usr/bin/jobs' \
	>/tmp/demo/record.out 2>/tmp/demo/record.log || status=$?
echo "$status" >/tmp/demo/record.status
[ $status = 0 ] || cat /tmp/demo/record.log

echo "stage: stopping the daemon"
kill -TERM $daemon
wait $daemon || echo "tsctraced ended with status $?"

echo "stage: bringing the recording out"
tar -C /tmp/demo -czf - . | out
exit "$status"
