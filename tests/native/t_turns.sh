#!/bin/bash
# SPDX-License-Identifier: MIT
# A master (l, falseticker.c) whose session never ends, and assigns impossible turns: its
# child o sends neither as fast as the path allows, nor too rarely, and logs it.
set -euo pipefail

. "$(dirname "$0")/sync.sh"
compile falseticker
mkdir "$work"/{m,l,o}
printf 'name m\nserve\nallow 10.83.0.0/24\nstratum 10\n' >"$work/m/conf"
echo 'master 10.83.0.2' >"$work/o/conf"
for i in m l o; do net $i; done
join l 10.83.0.2/24 o 10.83.0.3/24
start m a1
wait_for "m is synchronized" synced m

# TURN_US LEAST MOST: o sends from LEAST to MOST requests in 5 s
turn() {
	local before after
	in_net l "$work/falseticker" "$work/m" turn "$1" 2>>"$work/l/log"
	l=$pid
	start o d4
	wait_for "o takes part in the session" logged o "session: a turn of $1 us is outside"
	before=$(of o 'p["sources"][0]["sent"]')
	sleep 5
	after=$(of o 'p["sources"][0]["sent"]')
	echo "# turns of $1 us: $((after - before)) requests in 5 s"
	[ $((after - before)) -ge "$2" ] && [ $((after - before)) -le "$3" ] ||
		fail "turns of $1 us: $((after - before)) requests in 5 s"
	[ "$(grep -c "session: a turn of" "$work/o/log")" = 1 ] || fail "it was not logged once"
	slay o
	slay l
	rm "$work/o/log"
}
# 250 us apart, and a part of the 5 s that two runs of trace-ctl take
turn 0 100 24000
turn 4294967295 4 40
