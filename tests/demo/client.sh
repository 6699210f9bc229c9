#!/bin/sh
# SPDX-License-Identifier: MIT
# The command recorded on beta and gamma: clients of the server at the address given
set -eu
tries=0
until [ "$(redis-cli -h "$1" ping 2>/dev/null)" = PONG ]; do
	tries=$((tries + 1))
	[ $tries -lt 120 ] || { echo "no server at $1"; exit 1; }
	sleep 0.2
done
redis-benchmark -h "$1" -c 4 -n 1000 -t set,get,lpush -d 100 -q | tr '\r' '\n' |
	grep 'per second'
redis-cli -h "$1" set "done:$(hostname)" yes
