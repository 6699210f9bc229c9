#!/bin/bash
# SPDX-License-Identifier: MIT
# Falsetickers, and a path with asymmetric delay, on one bridge:
#
#   m (master), s (a child of m), l (falseticker.c) --> o, which polls all three
#
# Network namespaces of one machine share its counter, so the true difference of m and
# o is zero; synccheck measures it during the test.
. "$(dirname "$0")/sync.sh"
wired 10.81.0 m s l o
printf 'name m\nserve\nallow 10.81.0.0/24\nstratum 10\n' >"$work/m/conf"
printf 'name s\nserve\nallow 10.81.0.0/24\nstratum 10\nmaster 10.81.0.1 %s\n' \
	'minpoll -4 maxpoll -4' >"$work/s/conf"
sources() {	# LINE...: writes the configuration of o, and reloads it
	printf '%s\n' "$@" >"$work/o/conf"
	[ -z "${o:-}" ] || reload o
}
polls='minpoll -4 maxpoll -4'
sources "master 10.81.0.1 $polls" "master 10.81.0.2 $polls" "master 10.81.0.3 $polls"

# [LIE VALUE]...: restarts falseticker with these errors; without arguments, it serves
# the correct time
lie() {
	[ -z "${l:-}" ] || slay l
	in_net l "$helpers/falseticker" "$work/m" "$@" 2>>"$work/l/log"
	l=$pid
}
source='p["sources"][-1]'
# STATUS: succeeds if node o reports STATUS for its last source, the falseticker
said() { is o "$source[\"status\"]" "$1"; }
used() { said used || said agrees; }
epoch() { of o 'p["cluster"]["epoch"]'; }
watched() {
	end_by TERM "$watcher" "$1" "$work/watched"
	sed "s|$work/|# $1: |" "$work/watched"
}

# --- one of three --------------------------------------------------------------------
start m a1
wait_for "m is synchronized" synced m
start s b2
lie
start o d4
wait_for "o is synchronized" synced o
wait_for "all three are used" used
watch m o
# STATUS REASON: succeeds if one output of trace-ctl peers, $work/out, reports both. The
# source that steps has another status for a moment after each step.
reported() {
	in_dir o "$ctl" peers >"$work/out"
	grep -A1 "^10\.81\.0\.3  *$1 " "$work/out" | grep -q "$2"
}
# STATUS REASON LIE VALUE: restarts falseticker with the error LIE VALUE. trace-ctl
# peers on node o must report STATUS and REASON, and the log of node o must have REASON.
named() {
	from=$(wc -l <"$work/o/log")
	lie "${@:3}"
	wait_for "the source with '${*:3}' is $1" said "$1"
	wait_for "it is logged" logged_since "not used: $2"
	wait_for "trace-ctl peers reports it" reported "$1" "$2"
	grep -A1 "^10\.81\.0\.3" "$work/out" | sed "s/^/# ${*:3}: /"
	from=$(wc -l <"$work/o/log")
	lie
	wait_for "it is used again" logged_since 'used again'
	wait_for "it is used again" used
}
logged_since() {	# PATTERN
	grep -q "10\.81\.0\.3: $1" < <(tail -n +$((from + 1)) "$work/o/log")
}
vote='outvoted: .* the time on which 2 of 3 sources agree'
named falseticker "$vote" ahead 1000000
named falseticker "$vote" ahead -300000
named falseticker "$vote" fast 200
named refused "the source's time runs [0-9]* ppm fast, which is more than any crystal does" fast 10000
named falseticker "$vote" step 0.5
lie past 10
past() { above o "$source[\"answers\"][\"backwards\"]" 20; }
wait_for "answers from the past are counted" past
logged o '10.81.0.3: the server.s counter is behind its last answer' ||
	fail "answers from the past are not logged"
lie epoch 0.1
sleep 1
lie other 1
wait_for "its status is elsewhere" said elsewhere
watched "one of three is a falseticker"
# On a loaded machine, answers may be late for a while: holdover is allowed.
grep -Eq 'o: synchronized in epoch ([0-9]+)(, [a-z]+ in epoch \1)*(, \.\.\.)?; 0 steps' "$work/watched" ||
	fail "o did not keep its epoch: $(cat "$work/watched")"

# --- one of three NTP servers ----------------------------------------------------------
polls='minpoll -3 maxpoll -3'
lie ahead 50000000
from=$(wc -l <"$work/o/log")
sources "ntp 10.81.0.1 $polls" "ntp 10.81.0.2 $polls" "ntp 10.81.0.3 $polls"
wait_for "the NTP server is outvoted" said falseticker
wait_for "o is synchronized" synced o
wait_for "it is logged" logged_since "not used: $vote"
"$helpers/synccheck" 1 - "$work/o" >"$work/out" || fail "by NTP: $(cat "$work/out")"
sed "s|$work/|# one NTP server of three is a falseticker: |" "$work/out"

# --- the only source is a falseticker: each disruption begins an epoch of o ------------
polls='minpoll -4 maxpoll -4'
lie epoch 1
sources "master 10.81.0.3 $polls"
wait_for "o follows it" said used
before=$(epoch)
later() { [ "$(epoch)" -gt $((before + $1)) ]; }
wait_for "each new epoch of the source begins one of o" later 2
lie
wait_for "o follows it again" said used
wait_for "o is synchronized" synced o
before=$(epoch)
watch m o
lie step 0.5
wait_for "a step begins an epoch" later 0
wait_for "o is synchronized" synced o
kill "$watcher"
wait "$watcher" || true	# the error may exceed the bound: o has no other source
sed "s|$work/|# the only source steps: |" "$work/watched"
grep -q 'o: [a-z]* in epoch .*; 0 steps within one' "$work/watched" ||
	fail "a step within an epoch"

# --- asymmetric delay, without and with the option asymmetry ----------------------------
# MIN MAX: fails unless the cluster times of m (master) and o (which polls m and the
# falseticker) differ by MIN to MAX ns (median), and each difference is within the sum
# of both error bounds
off() {
	"$helpers/synccheck" 1 "$work/m" "$work/o" >"$work/out" || return
	median=$(sed -n 's/.*off zero by median \([0-9]*\) ns.*/\1/p' "$work/out")
	[ "$median" -ge "$1" ] && [ "$median" -le "$2" ]
}
show() { sed "s|$work/|# $1: |" "$work/out"; }
lie there 200000
wait_for "the estimate is off by half of the asymmetry" off 60000 140000
show "200 us longer there"
sources "master 10.81.0.3 $polls asymmetry 200000"
wait_for "the asymmetry is corrected" off 0 30000
show "... and configured"
lie back 200000
sources "master 10.81.0.3 $polls asymmetry -200000"
wait_for "the asymmetry is corrected" off 0 30000
show "200 us longer back, and configured"

end_nodes m s o
