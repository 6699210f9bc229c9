#!/bin/bash
# SPDX-License-Identifier: MIT
# tsct_timesync() on two nodes that are sources of each other, and on their master: each
# node takes part through the master, and does not wait for the other one's members.
set -euo pipefail

. "$(dirname "$0")/sync.sh"
compile timesync

names='m a b'
bridge wire
address=1
for i in $names; do
	mkdir "$work/$i"
	net $i
	plug $i 10.81.0.$((address++))/24 wire
done
polls='minpoll -3 maxpoll -2'
printf 'name m\nserve\nallow 10.81.0.0/24\n' >"$work/m/conf"
printf 'name a\nserve\nallow 10.81.0.0/24\nmaster 10.81.0.1 %s\nmaster 10.81.0.3 %s\n' "$polls" "$polls" >"$work/a/conf"
printf 'name b\nserve\nallow 10.81.0.0/24\nmaster 10.81.0.1 %s\nmaster 10.81.0.2 %s\n' "$polls" "$polls" >"$work/b/conf"
for i in $names; do start $i; done
for i in a b; do wait_for "$i is synchronized" synced $i; done

waits=()
for i in $names; do
	in_dir $i "$work/timesync" 5000 5 >"$work/$i.out" & waits+=($!)
done
for i in "${waits[@]}"; do
	wait "$i" || fail "$(grep -h '' "$work"/*.out)"
done
echo "ok 1 - five collective calls of nodes that are sources of each other"
echo 1..1
