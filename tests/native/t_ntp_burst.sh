#!/bin/bash
# SPDX-License-Identifier: MIT
# A daemon with an NTP server: `trace-ctl sync`, which any user may run, begins no second
# burst during the one at the start, so the server gets six requests and not more.
# test-waits: yes
# test-timeout: 300
set -euo pipefail

. "$(dirname "$0")/sync.sh"
mkdir "$work"/{m,o}
printf 'name m\nserve\nallow 10.85.0.0/24\nstratum 10\n' >"$work/m/conf"
echo 'ntp 10.85.0.1' >"$work/o/conf"
net m
net o
join m 10.85.0.1/24 o 10.85.0.2/24
start m a1
wait_for "m is synchronized" synced m
start o b2
sent() { of o 'p["sources"][0]["sent"]'; }
wait_for "the server answers" logged o "10.85.0.1: answers"
for i in 1 2 3 4 5; do
	sleep 4
	in_dir o "$ctl" sync >"$work/sync" 2>&1 || true
done
echo "# $(sent) requests in 20 s"
[ "$(sent)" -le 6 ] || fail "$(sent) requests in 20 s"
