#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings without --cluster: sync sessions at start and end where a master is
# configured, and only there; a master or a daemon that does not answer is reported, and
# does not keep record from recording.
. "$(dirname "$0")/sync.sh"

silent() { [ ! -s "$work/err" ] || fail "$1: $(cat "$work/err")"; }
# STATES of the sessions: "START END", or "none" without samples
sessions_of() {	# DIR
	stat_of "$1" 's["sync"]["start"] + " " + s["sync"]["end"] if s["sync"] else "none"'
}
is_sessions() { [ "$(sessions_of "$1")" = "$2" ]; }	# DIR STATES
has_sessions() { is_sessions "$@" || fail "$1: sessions: $(sessions_of "$1"), not $2"; }
# Prints how many samples the sessions at start and end have: those that were sent and
# answered within the times that the metadata states.
samples_of() {	# DIR
	"$ctl" dump --sync --json "$1" | python3 -c 'import json, re, sys
meta = open(sys.argv[1] + "/metadata").read()
rows = [json.loads(l)["fields"] for l in sys.stdin]
print(*(sum(a <= int(r["t1"]) and int(r["t4"]) <= b for r in rows) for a, b in
	(map(int, re.search(k + " = \"state=1 begin=(\\d+) end=(\\d+)", meta).groups())
	 for k in ("sync_start", "sync_end"))))' "$1"
}
net alpha beta gamma delta
mkdir "$work/none"
join alpha 10.77.5.1/24 beta 10.77.5.2/24
join alpha 10.77.6.1/24 delta 10.77.6.2/24
printf 'child beta 10.77.5.2\n' >"$work/alpha/conf"
# Sessions end after 100 messages. On a busy machine they may take several seconds.
poll=$'master 10.77.5.1 minpoll -3 maxpoll -2\nsync-max-duration 20'
printf 'name beta\n%s\n' "$poll" >"$work/beta/conf"
: >"$work/gamma/conf"
printf 'name delta\nntp 10.77.6.1\n' >"$work/delta/conf"
start alpha a1
for i in beta gamma delta; do start $i; done
for i in alpha beta gamma delta; do wait_for "$i has a clock" logged $i 'clock synchronized'; done
wait_for "beta is synchronized" synced beta

# --- with a master: sessions, unless they are turned off -----------------------------
# On a machine that stalls, answers come too late, or the daemon does not answer in time.
in_sessions() {	# DIR NUMBER: each session has at least this number of samples
	rm -rf "$1"
	run_on 0 beta record -q -o "$1" -- sleep 0.1
	[ ! -s "$work/err" ] && is_sessions "$1" 'done done' || return
	read -r first last < <(samples_of "$1")
	[ "$first" -ge "$2" ] && [ "$last" -ge "$2" ]
}
steadily in_sessions "$work/a" 90 ||
	fail "sessions of 100: ${first:-0}, ${last:-0} samples, $(sessions_of "$work/a"): $(cat "$work/err")"
run_on 0 beta record -q --no-sessions -o "$work/b" -- sleep 0.1
has_sessions "$work/b" 'none none'
# The metadata has the times of the last samples, for recordings whose rings took long to
# drain.
"$ctl" dump --sync --json "$work/b" | python3 -c 'import json, re, sys
last = max(int(json.loads(l)["fields"]["t4"]) for l in sys.stdin)
end = re.search(r"sync_end = .state=0 begin=(\d+) end=(\d+)", open(sys.argv[1]).read())
assert int(end[1]) < int(end[2]) and last <= int(end[2]), (last, end[0])' \
	"$work/b/metadata" || fail "the time of the last samples"
run_on 0 beta record -q --no-cluster -o "$work/c" -- true
has_sessions "$work/c" none

# --- without a master, network or daemon: neither sessions nor messages --------------
run_on 0 alpha record -q -o "$work/master" -- sleep 0.1
silent "a recording of the master"
has_sessions "$work/master" 'none none'
run_on 0 delta record -q -o "$work/ntp" -- true
silent "a recording of a node with NTP servers only"
has_sessions "$work/ntp" 'none none'
for i in gamma none; do
	run_on 0 $i record -q -o "$work/of_$i" -- true
	silent "a recording on $i"
	has_sessions "$work/of_$i" none
done

# --- a recording that is shorter than its sessions, of more than a second each --------
printf 'name beta\n%s\nsync-max-messages 1500\n' "$poll" \
	>"$work/beta/conf"
reload beta
wait_for "beta has the new limits" logged beta 'SIGHUP: .*reloaded'
steadily in_sessions "$work/d" 1000 ||
	fail "sessions of 1500: $first and $last samples, $(sessions_of "$work/d"): $(cat "$work/err")"
run_on 0 alpha record -q -o "$work/master2" -- true
run_on 0 alpha merge -q -o "$work/merged" "$work/master2" "$work/d"

# --- a session that does not end, and signals -----------------------------------------
printf 'name beta\n%s\nsync-max-messages 100000\n' "$poll" \
	>"$work/beta/conf"
: >"$work/beta/log"
reload beta
wait_for "beta has the new limits" logged beta 'SIGHUP: .*reloaded'
recorded() { [ -e "$work/e/metadata" ]; }
# The first signal ends the recording, a later one the session at the end.
interrupted() { ! kill -INT $rec 2>/dev/null; }
is_endless() {
	rm -rf "$work/e"
	TSCTRACE_RUN_DIR=$work/beta "$ctl" record --sync-timeout 3 -c other -o "$work/e" \
		2>"$work/err" & track rec
	wait_for "it records without the session" recorded
	wait_for "record ends" interrupted
	wait $rec || fail "interrupted in the session at the end: $(cat "$work/err")"
	grep -q 'session at the start failed: not finished after 3 s.*recording without it' "$work/err" &&
		grep -q 'session at the end failed: .*interrupted; the recording is complete' "$work/err"
}
steadily is_endless || fail "an endless session: $(cat "$work/err")"
has_sessions "$work/e" 'failed interrupted'
# A signal in the session at the start: nothing is recorded, no command is started.
TSCTRACE_RUN_DIR=$work/beta "$ctl" record --sync-timeout 300 -o "$work/no" \
	-- touch "$work/touched" 2>"$work/err" & track rec
wait_for "record handles signals" catches $rec
wait_for "record ends" interrupted
wait $rec && fail "exit status 0 after a signal in the session at the start"
says 'session at the start failed: .*interrupted; nothing was recorded'
[ ! -e "$work/no" ] && [ ! -e "$work/touched" ] || fail "a recording is left, or the command ran"

# --- a master that is dead, and a daemon that is stopped ------------------------------
printf 'name beta\n%s\n' "$poll" >"$work/beta/conf"
reload beta
slay alpha
run_on 0 beta record -q -o "$work/f" -- touch "$work/touched"
says 'session at the start failed: 10.77.5.1 does not answer.*recording without it'
says 'session at the end failed: 10.77.5.1 does not answer.*; the recording is complete'
has_sessions "$work/f" 'failed failed'
[ -e "$work/touched" ] || fail "the command was not started"
suspend "$beta"
TSCTRACE_PROVIDER=embedded run_on 0 beta record -q -o "$work/g" -- true
kill -CONT "$beta"
has_sessions "$work/g" none
