#!/bin/sh
# SPDX-License-Identifier: MIT
# The command recorded on alpha: a redis server, until both clients are done. The script
# polls the server over loopback, so its requests are not packets between the nodes.
set -eu
/tmp/redis-server --save '' --appendonly no --daemonize no --protected-mode no \
	--logfile /tmp/redis.log &
server=$!
tries=0
until [ "$(redis-cli exists done:beta done:gamma 2>/dev/null)" = 2 ]; do
	tries=$((tries + 1))
	[ $tries -lt 120 ] || { cat /tmp/redis.log; exit 1; }
	sleep 0.5
done
redis-cli dbsize | sed 's/^/keys in the server at the end: /'
redis-cli shutdown nosave
wait $server
