#!/bin/bash
# SPDX-License-Identifier: MIT
# A member that reports callers, stops, and begins again: its master sends poll requests to
# the other member once, not each time.
# test-waits: yes
set -euo pipefail

. "$(dirname "$0")/sync.sh"
mkdir "$work/m"
printf 'name m\nchild a 10.84.0.2\nchild b 10.84.0.3\n' >"$work/m/conf"
net m
net o
join m 10.84.0.1/24 o 10.84.0.2/24
within "${net_id}o" ip addr add 10.84.0.3/24 dev vm
start m a1
wait_for "m is synchronized" synced m
# After ten seconds, the master may send a second one. If the machine stalls that long, the
# test is repeated.
while :; do
	begin=$SECONDS
	within "${net_id}o" "$top/tests/native/members.py" 10.84.0.1 10.84.0.2 10.84.0.3 4 \
		>"$work/polls" || fail "no poll requests counted"
	echo "# $(cat "$work/polls") poll requests for four reports in $((SECONDS - begin)) s"
	[ "$(cat "$work/polls")" != 1 ] || break
	[ $((SECONDS - begin)) -gt 8 ] || fail "$(cat "$work/polls") poll requests, not 1"
	sleep 10
done
