#!/bin/bash
# SPDX-License-Identifier: MIT
# The members of a master: they survive each reload of its configuration, so that a session right
# after it has them; `trace-ctl sync` names who did not take part. Nodes with one id are named.
. "$(dirname "$0")/sync.sh"

wired 10.79.0 alpha beta gamma
children=$'child beta 10.79.0.2\nchild gamma 10.79.0.3'
limits=$'sync-max-messages 20\nsync-max-duration 30'
printf 'name alpha\n%s\n%s\n' "$children" "$limits" >"$work/alpha/conf"
# After their first polls, the members poll every 16 s only.
for i in beta gamma; do
	printf 'name %s\nmaster 10.79.0.1 minpoll 4 maxpoll 4\n' $i >"$work/$i/conf"
done
start alpha a1
wait_for "alpha has a clock" logged alpha 'clock synchronized'
start beta b1
start gamma c1
for i in beta gamma; do wait_for "$i is synchronized" synced $i; done
quiet() { is beta 'p["session"]["busy"]' False && is gamma 'p["session"]["busy"]' False; }
wait_for "the first polls are over" quiet

# --- a session right after a reload ------------------------------------------------------
# Prints the members by name, and which of them took part.
part() {
	python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
part = p["session"].get("participants", [])
print(*sorted(m["name"] for m in p["members"]), *sorted(m["name"] + ":" + str(m["exchanges"] > 0)
	for m in part))' "$work/out"
}
meets() {	# NAME NAME WHAT: alpha has a session with these two
	run_on 0 alpha sync --json
	[ "$(part)" = "$1 $2 $1:True $2:True" ] || fail "$3: $(part), not $1 and $2"
}
reread() { [ "$(grep -c "$2" "$work/alpha/log" || true)" -gt "$1" ]; }	# NR PATTERN
reloads() {	# PATTERN TEXT: alpha reads this configuration, and logs PATTERN
	local nr
	nr=$(grep -c "$1" "$work/alpha/log" || true)
	printf '%s\n' "$2" >"$work/alpha/conf"
	reload alpha
	wait_for "alpha has read it" reread "$nr" "$1"
}
meets beta gamma "at first"
limits=$'sync-max-messages 21\nsync-max-duration 29'
reloads ': reloaded' "name alef
$children
$limits"
meets beta gamma "other limits, and another name"
reloads ': reloaded' "$children
$limits
listen 10.79.0.1"
meets beta gamma "other sockets"
reloads ': reloaded' "serve
allow all
$limits"
meets 10.79.0.2 10.79.0.3 "no children"
reloads ': not applied' "$children
$limits
listen 10.98.0.1"
meets 10.79.0.2 10.79.0.3 "a configuration that cannot be applied"
reloads ': reloaded' "$children
$limits"
meets beta gamma "children again"

# --- who did not take part -----------------------------------------------------------------
limits=${limits/29/3}
reloads ': reloaded' "$children
$limits"
slay beta
# A node that is stopped for the three seconds of the session does not take part, either.
lacks_beta() (
	run_on 3 alpha sync
	grep -q 'beta: did not take part in the session: it sent no request; check' "$work/err" ||
		fail "beta is not named"
	! grep -q gamma "$work/err" || fail "gamma took part"
)
steadily lacks_beta || fail "a session without beta"
slay gamma
run_on 1 alpha sync
for i in beta gamma; do
	grep -q "$i: did not take part in the session" "$work/err" || fail "$i is not named"
done

# A master that no node knows, and a child that has no route to its master
printf 'serve\nallow all\nsync-max-duration 1\n' >"$work/gamma/conf"
printf 'master 10.98.0.1\nsync-max-duration 1\n' >"$work/beta/conf"
start gamma c1
start beta b1
for i in beta gamma; do
	wait_for "the daemon of $i answers" serves $i
	wait_for "$i has a clock" in_dir $i "$ctl" clock --wait-synced=0.1
done
run_on 1 gamma sync
grep -q 'no node took part in the session: this node has no source, and no' "$work/err" ||
	fail "a session with nobody"
run_on 1 beta sync
grep -q '10.98.0.1: no request was sent' "$work/err" || fail "a session without a route"

# --- nodes whose state directories are copies, so that they have one id --------------------------
end_nodes alpha beta gamma
printf 'serve\nallow all\n' >"$work/alpha/conf"
printf 'master 10.79.0.1 minpoll 0 maxpoll 0\n' >"$work/beta/conf"
for i in alpha beta; do
	mkdir -p "$work/$i/state"
	echo 00000000000000cd >"$work/$i/state/node"
	: >"$work/$i/log"
done
start alpha a1 --state-dir "$work/alpha/state"
wait_for "alpha answers" logged alpha 'clock synchronized'
start beta b1 --state-dir "$work/beta/state"
wait_for "beta names the copy" logged beta "10.79.0.1: the answer has this node's id"
# More polls than it takes to say that a node does not answer
above() { is beta "p['sources'][0]['sent'] > $1" True; }
wait_for "beta has polled" above 16
! logged beta 'does not answer' || fail "a node with this node's id is said not to answer"
run_on 1 beta sync
grep -q "the answer has this node's id" "$work/err" || fail "sync: $(cat "$work/err")"
names_copy() {
	rm -rf "$work/own"
	run_on 0 beta record -o "$work/own" -- true
	grep -q "10.79.0.1 sends no answer that can be used: the answer has this node's id" "$work/err"
}
steadily names_copy || fail "record: $(cat "$work/err")"
slay alpha
wait_for "beta misses the copy" logged beta '10.79.0.1: does not answer'
