#!/bin/bash
# SPDX-License-Identifier: MIT
# A child (beta) whose master (alpha) is 300 ms away: bursts, polls that are more frequent
# than that, sessions and collectives have to wait for their answers.
# test-wing: collective
. "$(dirname "$0")/sync.sh"
relay_start floor=150000,exp=20 floor=150000,exp=20 "$work/relay.log"
printf 'name alpha\nchild beta 10.77.1.2\n' >"$work/alpha/conf"
# Polls every 31 ms would give up every request.
printf 'name beta\nmaster 10.77.1.1 minpoll -5 maxpoll -5\n' >"$work/beta/conf"
start alpha a1
wait_for "alpha is synchronized" synced alpha
start beta b2
wait_for "beta is synchronized" synced beta

# --- a session of beta's own, and collectives --------------------------------------------
counted() { of beta "p[\"sources\"][0][\"answers\"][\"$1\"]"; }
over() { of beta 'p["session"]["over"]'; }
has_ended() { [ "$(over)" -gt "$before" ]; }
gives_up_few() {
	local i before late callers=()
	late=$(counted replay) before=$(over)
	in_dir beta "$ctl" sync >"$work/sync" || fail "$(cat "$work/sync")"
	wait_for "the session is over" has_ended
	for i in alpha beta; do
		in_dir $i "$helpers/timesync" 60000 3 >"$work/$i/calls" & callers+=($!)
	done
	for i in "${callers[@]}"; do wait "$i" || fail "$(cat "$work"/*/calls)"; done
	grep -q '^after 3$' "$work/beta/calls" || fail "$(cat "$work/beta/calls")"
	echo "# $(counted taken) answers, $(counted replay) that were given up, $late at first"
	# The first burst gives up some requests, as it does not know the path.
	[ "$(counted replay)" -le "$((late + 10))" ]
}
steadily gives_up_few || fail "requests were given up too early"
