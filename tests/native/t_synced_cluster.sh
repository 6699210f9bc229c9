#!/bin/bash
# SPDX-License-Identifier: MIT
# Nodes with synced-cluster in tsctraced.conf: CLOCK_REALTIME is the cluster's time, so
# nothing is measured. Status, recordings of two such nodes, and the merge of these.
. "$(dirname "$0")/sync.sh"

# The kernel of one states a bound of 2 ms to UTC, the configuration of two one of 5 us. one
# serves NTP to three, which has no synced-cluster. Nothing states a bound for four.
net one two three four
printf 'name one\nsynced-cluster\nserve\nallow 10.83.0.0/24\nstratum 10\n' >"$work/one/conf"
printf 'name two\nsynced-cluster error 5000\n' >"$work/two/conf"
printf 'name four\nsynced-cluster\n' >"$work/four/conf"
printf 'name three\nntp 10.83.0.1 minpoll -2 maxpoll -1\n' >"$work/three/conf"
join one 10.83.0.1/24 three 10.83.0.2/24
LD_PRELOAD=$helpers/fakeclock.so FAKE_MAXERROR_US=2000 start one a1
start two a2
start three a3
LD_PRELOAD=$helpers/fakeclock.so start four a4
for i in one two three; do wait_for "$i is synchronized" synced $i; done

# --- status: cluster time is CLOCK_REALTIME, without a master and without NTP servers --
# In subshells, as `steadily` repeats them: a daemon that is stopped tells nothing.
shows_synced() (
	is "$1" '(p["role"], p["sources"], p["cluster"]["master"])' \
		"('synced-cluster', [], None)" ||
		fail "$1: $(of "$1" '(p["role"], p["sources"], p["cluster"])')"
	run_on 0 "$1" clock
	shows '^cluster .*, synchronized, epoch 1, CLOCK_REALTIME of each node (synced-cluster); offset'
	! grep -q NTP "$work/out" || fail "$1: NTP servers: $(cat "$work/out")"
	run_on 0 "$1" clock --json
	holds "$work/out" 'j["cluster"]["origin"] == "synced-cluster" and j["cluster"]["master"] is None and
		abs(j["cluster"]["offset_ns"]) <= j["cluster"]["error_ns"] + j["error_ns"] and
		'"$2"' <= j["cluster"]["error_ns"] < 10**7'
	run_on 0 "$1" peers
	shows '^node .*, synced-cluster$'
)
steadily shows_synced one 2000000 || fail one
steadily shows_synced two 5000 || fail two
shows_ntp() (
	run_on 0 three clock
	shows '^cluster .*, from NTP servers; offset'
	run_on 0 three clock --json
	holds "$work/out" 'j["cluster"]["origin"] == "ntp"'
)
steadily shows_ntp || fail three
# A daemon that does not answer: the origin is unknown, and clock does not wait for it.
suspend "$two"
run_on 0 two clock
kill -CONT "$two"
shows '^cluster .*, without a master; offset'

# Where nothing states a bound, cluster time is unknown, and the log says what to do.
warned() { grep -q 'synced-cluster: the kernel states no bound.*start an NTP daemon' "$work/four/log"; }
wait_for "four logs a warning" warned
run_on 0 four clock
! grep -q '^cluster' "$work/out" || fail "four: $(cat "$work/out")"
run_on 0 four clock --json
holds "$work/out" 'j["cluster"] is None and j["error_ns"] > 0'
run_on 0 four peers
shows '^cluster *unknown, epoch'

# A session has nothing to measure, and succeeds.
run_on 0 one sync

# --- recordings -----------------------------------------------------------------------
# All events of one are earlier than all events of two.
mkfifo "$work/fifo"
in_dir two timeout 300 "$ctl" record --cluster -q -o "$work/b" -- \
	sh -c "read -r _ <'$work/fifo'; '$emit' 20 1 >/dev/null" & track rec
run_on 0 one record --cluster -o "$work/a" -- \
	sh -c "'$emit' 20 1 >/dev/null; echo >'$work/fifo'"
says 'sync: synced-cluster, 0 samples, cluster time synchronized; sync session at the start: done, at the end: done'
wait $rec || fail "the recording of two"
for i in a b; do
	run_on 0 one stat --json "$work/$i"
	holds "$work/out" 'j["complete"] and j["events"] == 21 and
		[j["sync"][k] for k in ("role", "status", "samples", "start", "end")] ==
		["synced-cluster", "synchronized", 0, "done", "done"]'
done

# --- merge of recordings of two machines -------------------------------------------------
# The recordings become those of other machines, as both were made on this one.
of_host() { cp -r "$work/$1" "$work/$2" && python3 "$here/as_host.py" "$work/$2" "${@:3}"; }
of_host a alpha alpha 0 unknown
of_host b beta beta 0 unknown
of_host b gamma gamma 0 5000000
of_host a delta delta 0 7000000
# One after the other, by CLOCK_REALTIME, whether or not a kernel states a bound to UTC.
for pair in 'alpha beta' 'delta gamma'; do
	# shellcheck disable=SC2086
	set -- $pair
	run_on 0 one merge -o "$work/$1-$2" "$work/$1" "$work/$2"
	run_on 0 one dump --json "$work/$1-$2"
	[ "$(grep -o '"node":"[a-z]*"' "$work/out" | uniq -c | tr -d ' \n')" = \
		'21"node":"one"21"node":"two"' ] || fail "order: $(cut -c -60 "$work/out")"
	[ "$(sed 's/.*"time_ns":"\([0-9]*\).*/\1/' "$work/out" | sort -nc 2>&1)" = '' ] ||
		fail "times are out of order"
done
# A node without synced-cluster has not agreed to that.
"$ctl" record --no-cluster -q -o "$work/c" -- "$emit" 20 1 >/dev/null
of_host c other other 0 unknown
run_on 1 one merge -o "$work/no" "$work/alpha" "$work/other"
says 'never compared'

end_nodes one two three four
