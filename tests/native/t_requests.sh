#!/bin/bash
# SPDX-License-Identifier: MIT
# How often daemons send requests. m is a master with two members, and an NTP server.
. "$(dirname "$0")/sync.sh"

net m o l c
printf 'name m\nserve\nallow all\nstratum 10\nchild a 10.84.0.2\nchild b 10.84.0.3\n' \
	>"$work/m/conf"
echo 'ntp 10.84.0.1' >"$work/o/conf"
echo 'master 10.83.0.2' >"$work/c/conf"
join m 10.84.0.1/24 o 10.84.0.4/24
for i in 2 3; do
	within "${net_id}o" ip addr add 10.84.0.$i/24 dev vm
done
join l 10.83.0.2/24 c 10.83.0.3/24
start m a1
wait_for "m is synchronized" synced m
sent() { of "$1" 'p["sources"][0]["sent"]'; }

# --- an NTP server ---------------------------------------------------------------------------
# `trace-ctl sync`, which any user may run, begins no second burst during the one at the start,
# so the server gets six requests and not more.
start o b2
wait_for "the server answers" logged o "10.84.0.1: answers"
# It is counted before the first poll, 64 s after the burst, can be due.
counts_sent() { sent o >"$work/sent" && [ -s "$work/sent" ]; }
{
	for i in 1 2 3 4 5; do
		sleep 2
		in_dir o "$ctl" sync >"$work/sync" 2>&1 || true
	done
	wait_for "the requests of o are counted" counts_sent
} & track often

# --- a member that reports callers, stops, and begins again ----------------------------------
# Its master sends poll requests to the other member once, not each time. After ten seconds,
# the master may send a second one. If the machine stalls that long, the test is repeated.
members() {
	while :; do
		begin=$SECONDS
		within "${net_id}o" "$here/members.py" 10.84.0.1 10.84.0.2 10.84.0.3 4 \
			>"$work/polls" || fail "no poll requests counted"
		echo "# $(cat "$work/polls") poll requests for four reports in $((SECONDS - begin)) s"
		[ "$(cat "$work/polls")" != 1 ] || break
		[ $((SECONDS - begin)) -gt 8 ] || fail "$(cat "$work/polls") poll requests, not 1"
		sleep 10
	done
}
{ ! has_collectives || members; } & track members

# --- a session that never ends, with impossible turns ----------------------------------------
# l is such a master (falseticker.c): its child c sends neither as fast as the path allows, nor
# too rarely, and logs it.
# LEAST: c sends at least LEAST requests in 5 s. Sets: requests; seconds, that they took at most
keeps_rate() {
	local first last
	seconds=$SECONDS
	first=$(sent c) || return
	sleep 5
	last=$(sent c) || return
	seconds=$((SECONDS - seconds + 1)) requests=$((last - first))
	[ $requests -ge "$1" ]
}
# TURN_US LEAST MOST: c sends at least LEAST requests in 5 s, and at most MOST
turn() {
	local requests=unknown seconds
	in_net l "$helpers/falseticker" "$work/m" turn "$1" 2>>"$work/l/log"
	l=$pid
	start c d4
	wait_for "c takes part in the session" logged c "session: a turn of $1 us is outside"
	steadily keeps_rate "$2" || fail "turns of $1 us: $requests requests in $seconds s"
	echo "# turns of $1 us: $requests requests in $seconds s"
	[ $requests -le $(($3 * seconds / 5)) ] ||
		fail "turns of $1 us: $requests requests in $seconds s"
	[ "$(grep -c "session: a turn of" "$work/c/log")" = 1 ] || fail "it was not logged once"
	slay c
	slay l
	rm "$work/c/log"
}
# 250 us apart, and a part of the 5 s that two runs of trace-ctl take
turn 0 100 24000
turn 4294967295 4 40

wait "$members" || exit 1
wait "$often"
echo "# $(cat "$work/sent") requests of the NTP client"
[ "$(cat "$work/sent")" -le 6 ] || fail "$(cat "$work/sent") requests of the NTP client"
