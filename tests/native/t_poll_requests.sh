#!/bin/bash
# SPDX-License-Identifier: MIT
# A member that reports callers, stops, and begins again: its master sends poll requests to
# the other member once, not each time.
# test-waits: yes
# test-timeout: 60
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
within "${net_id}o" "$top/tests/native/members.py" 10.84.0.1 10.84.0.2 10.84.0.3 4 \
	>"$work/polls" || fail "no poll requests counted"
echo "# $(cat "$work/polls") poll requests for four reports in seven seconds"
[ "$(cat "$work/polls")" = 1 ] || fail "$(cat "$work/polls") poll requests, not 1"
