#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings of nodes in a cluster: sync sessions at start and end, samples in
# between, fits over the samples, and error messages.
. "$(dirname "$0")/sync.sh"

# record must fail: no recording is left, and the command is not started.
refused() {	# NODE WORDS
	run_on 1 "$1" record --cluster -o "$work/no" -- touch "$work/touched"
	says "--cluster: .*$2"
	says 'nothing was recorded'
	[ ! -e "$work/no" ] || fail "$1: a recording is left"
	[ ! -e "$work/touched" ] || fail "$1: the command was started"
}
has() {		# DIR EXPRESSION VALUE
	local got
	got=$(stat_of "$1" "$2")
	[ "$got" = "$3" ] || fail "$1: $2 is $got, not $3"
}
# DIR NAME=VALUE...: fails unless DIR is complete, with these values in "sync"
is_sync() {
	has "$1" "s['complete'] and ' '.join(i + '=' + str(s['sync'][i]) for i in
		(i.split('=')[0] for i in '${*:2}'.split()))" "${*:2}"
}
counted() { "$ctl" dump --sync --event sync_sample "$1" | wc -l; }

net alpha beta gamma
mkdir "$work/none"
join alpha 10.77.4.1/24 beta 10.77.4.2/24

# --- an unsynchronized master is reported at once, not after some polls ---------------
printf 'master 10.77.4.9\nchild beta 10.77.4.2\n' >"$work/alpha/conf"
printf 'name beta\nmaster 10.77.4.1 minpoll 4\n' >"$work/beta/conf"
start alpha a1
start beta
wait_for "beta has a clock" logged beta 'clock synchronized'
wait_for "its master is unsynced" is beta 'p["sources"][0]["status"]' unsynced
at_once() {
	SECONDS=0
	run_on 1 beta record --cluster -o "$work/no" -- touch "$work/touched"
	[ $SECONDS -le 10 ] &&
		grep -q -- '--cluster: .*10.77.4.1 is not synchronized yet' "$work/err"
}
steadily at_once || fail "after $SECONDS s: $(cat "$work/err")"
[ ! -e "$work/no" ] && [ ! -e "$work/touched" ] || fail "something was recorded"
for i in alpha beta; do slay $i; done

# A session is limited by its 100 messages, not by the time that they take.
printf 'child beta 10.77.4.2\nsync-max-duration 60\n' >"$work/alpha/conf"
printf 'name beta\nmaster 10.77.4.1 minpoll -3 maxpoll -2\nfit hull\n' \
	>"$work/beta/conf"
: >"$work/gamma/conf"
for i in alpha beta; do rm "$work/$i/log"; done

# --- a node is missing ---------------------------------------------------------------
refused none 'control.sock: tsctraced is not running; start it'
for i in beta gamma; do start $i; done
for i in beta gamma; do wait_for "$i has a clock" logged $i 'clock synchronized'; done
wait_for "beta answers" serves beta
refused gamma 'no network is configured: see tsctraced.conf'
sleep 0.7		# waits until the burst of requests has ended
refused beta 'failed: 10.77.4.1 does not answer'
# While the daemon is stopped (SIGSTOP), record waits. SIGINT ends record.
suspend "$beta"
is_interrupted() {
	TSCTRACE_RUN_DIR=$work/beta TSCTRACE_PROVIDER=embedded "$ctl" record --cluster \
		-o "$work/no" -- touch "$work/touched" 2>"$work/err" & track rec
	wait_for "record handles signals, or has ended" catches_or_has_ended $rec
	sleep 0.3
	! kill -INT $rec || ! wait $rec || fail "exit status 0 after an interrupt"
	grep -q -- '--cluster: .*interrupted; nothing was recorded' "$work/err"
}
catches_or_has_ended() { has_ended "$1" || catches "$1"; }
# A record that is stopped meanwhile gives up on the daemon.
steadily is_interrupted || fail "no word of the interrupt"
kill -CONT "$beta"
[ ! -e "$work/no" ] && [ ! -e "$work/touched" ] || fail "a recording is left, or the command ran"
start alpha a1
wait_for "alpha has a clock" logged alpha 'clock synchronized'
wait_for "beta is synchronized" synced beta

# --- recordings of a child and of its master at the same time ------------------------
# On a machine that stalls, most of a session's 100 answers may come too late, and there may be no
# sample between the sessions.
has_samples() {
	local held=yes
	rm -rf "$work/m" "$work/a"
	nr=no
	in_dir alpha timeout 300 "$ctl" record --cluster -q -o "$work/m" -- sleep 1.2 \
		2>"$work/m.err" & track rec
	in_dir beta timeout 300 "$ctl" record --cluster -o "$work/a" -- sleep 2 \
		>"$work/out" 2>"$work/err" || held=
	wait $rec || held=
	[ -n "$held" ] && grep -q 'start: done, at the end: done; fit for a merge: hull' \
		"$work/err" || return
	nr=$(stat_of "$work/a" "s['sync']['samples']")
	[ "$nr" -ge 100 ] && "$ctl" dump --sync --json "$work/a" | python3 -c 'import json, re, sys
span = re.search("span = .begin=(\\d+) end=(\\d+)", open(sys.argv[1]).read())
rows = [json.loads(line)["fields"] for line in sys.stdin]
sys.exit(not any(int(span[1]) <= int(r["t1"]) <= int(span[2]) and not int(r["session"])
                 for r in rows))' "$work/a/metadata"
}
steadily has_samples ||
	fail "$nr samples of two sessions, or none between them: $(cat "$work/m.err")"
is_sync "$work/a" start=done end=done role=child fit=hull lost=0 restarts=0 name=beta
[ "$(counted "$work/a")" = "$nr" ] || fail "dump has $(counted "$work/a") of $nr"
[ "$("$ctl" dump "$work/a" | wc -l)" = 0 ] || fail "dump mixes samples with events"
has "$work/a" "s['events'] == 0 and s['sync']['sources'][0]['sessions'] >= 3 and
	0 < s['sync']['sources'][0]['fit']['error_ns'] < 1e6" True
"$helpers/samplecheck" "$work/a" || fail "fits do not agree with the truth"
babeltrace2 "$work/a" >"$work/text" 2>"$work/err" || fail "babeltrace2"
[ ! -s "$work/err" ] || fail "babeltrace2: $(cat "$work/err")"
[ "$(grep -c ' sync_sample: ' "$work/text")" = "$nr" ] || fail "babeltrace2 counts other samples"
if command -v babeltrace >/dev/null; then
	[ "$(babeltrace "$work/a" 2>/dev/null | without_statedump | wc -l)" = "$nr" ] ||
		fail "babeltrace counts other samples"
fi
# The sessions at the start and at the end of the recording both have samples. From the
# first sample of the start session on, the numbers of all samples are consecutive.
python3 - "$work/text" "$work/a/metadata" <<'END' || fail "the samples"
import re, sys
meta = open(sys.argv[2]).read()
def span(key):
    m = re.search(key + r' = "state=1 begin=(\d+) end=(\d+)"', meta)
    return int(m[1]), int(m[2])
rows = [{k: int(v, 0) for k, v in re.findall(r"(\w+) = (0x[0-9A-Fa-f]+|\d+)", l)}
        for l in open(sys.argv[1]) if " sync_sample: " in l]
begin, end = map(int, re.search(r'span = "begin=(\d+) end=(\d+)"', meta).groups())
start, last = span("sync_start"), span("sync_end")
assert start[1] <= begin < end <= last[0], (start, begin, end, last)
numbers = []
for a, b in (start, last):
    of = [r for r in rows if r["session"] and a <= r["t1"] and r["t4"] <= b]
    # On a busy machine, many of a session's 100 answers come too late.
    assert len(of) >= 2, len(of)
    # There may be more than one session: the recorder on the master requests
    # sessions, too.
    numbers.append({r["session"] for r in of})
assert not numbers[0] & numbers[1], numbers
between = [r for r in rows if begin <= r["t1"] <= end and not r["session"]]
assert between, "no background"
numbers = [r["number"] for r in rows]
at = numbers.index(next(r["number"] for r in rows if r["t1"] >= start[0]))
assert numbers[at:] == list(range(numbers[at], numbers[-1] + 1)), "a gap"
END
if has_wing report; then
	for i in auto linear spline itc hull regression; do
		"$ctl" report sync "$work/a" --fit $i >"$work/page" || fail "report of $i"
		[ "$(grep -c '<circle' "$work/page")" -ge "$nr" ] || fail "marks of $i"
	done
fi
is_sync "$work/m" role=master start=done end=done samples=0
has "$work/m" "s['sync']['node'] == s['sync']['master']" True
[ "$(stat_of "$work/m" "s['sync']['master']")" = \
	"$(stat_of "$work/a" "s['sync']['master']")" ] || fail "another master"

# --- without sessions, and without sync samples --------------------------------------
fit=spline
[ -e "$out/lib/reference" ] || fit=hull	# CORE=1
run_on 0 beta record --no-sessions --fit $fit -o "$work/b" -- sleep 0.1
is_sync "$work/b" start=none end=none fit=$fit
"$helpers/samplecheck" "$work/b" || fail "fits without sessions"
run_on 0 beta record --no-cluster -o "$work/c" -- true
has "$work/c" "s['sync']" None
[ ! -e "$work/c/sync_0" ] || fail "samples in spite of --no-cluster"
run_on 2 beta record --no-cluster --fit hull -- true
says 'no sync samples with --no-cluster'
for i in no-cluster no-sessions; do
	run_on 2 beta record --sync-timeout 5 --$i -o "$work/no" -- true
	says "--sync-timeout: no sync sessions with --$i"
	run_on 2 beta record --cluster --$i -- true
done
run_on 2 beta record --fit parabola -- true

# --- interrupted while recording ------------------------------------------------------
TSCTRACE_RUN_DIR=$work/beta "$ctl" record --cluster -c other -o "$work/d" 2>"$work/err" & track rec
recorded() { [ -e "$work/d/metadata" ]; }
wait_for "it records" recorded
sleep 0.5
end_by INT $rec "interrupted:" "$work/err"
is_sync "$work/d" end=done

# --- interrupted again, while it waits for the session at the end ----------------------
TSCTRACE_RUN_DIR=$work/beta "$ctl" record --cluster -c other -o "$work/i" 2>"$work/err" & track rec
recorded() { [ -e "$work/i/metadata" ]; }
wait_for "it records" recorded
suspend "$beta"
interrupted() { ! kill -INT $rec 2>/dev/null; }
wait_for "record ends" interrupted
wait $rec || fail "interrupted twice: $(cat "$work/err")"
kill -CONT "$beta"
says 'session at the end failed: .*interrupted; the recording is complete'
is_sync "$work/i" end=interrupted

# --- the recorder is killed ---------------------------------------------------------------
TSCTRACE_RUN_DIR=$work/beta "$ctl" record --cluster -c other -o "$work/k" 2>/dev/null & track rec
recorded() { [ -e "$work/k/metadata" ] && [ "$(counted "$work/k" 2>/dev/null)" -ge 100 ]; }
wait_for "samples are on disk" recorded
kill_now $rec
run_on 3 beta dump --sync "$work/k"
says 'its recorder was killed'
if has_wing report; then
	run_on 3 beta report sync "$work/k" -o "$work/k.html"
	says 'k: its recorder was killed'
	[ -s "$work/k.html" ] || fail "the samples are not drawn"
fi

# A master's recording has no samples, only the cluster time in the metadata.
TSCTRACE_RUN_DIR=$work/alpha "$ctl" record -c other -o "$work/km" 2>/dev/null & track rec
known() { grep -q '^	clock_cluster = "base_ns' "$work/km/metadata" 2>/dev/null; }
wait_for "cluster time is in the metadata" known
later() { ! grep -q '^	span = "begin=\([0-9]*\) end=\1"' "$work/km/metadata"; }
wait_for "the metadata is rewritten" later
known || fail "the rewritten metadata has no cluster time"
kill_now $rec
run_on 3 alpha merge -q --salvage -o "$work/kmk" "$work/km" "$work/k"
! grep -q 'uncalibrated' "$work/err" || fail "recording of a killed recorder on the master: $(cat "$work/err")"

# --- the master stops, and the session at the end fails --------------------------------
# A machine that stops the master earlier makes the session at the start fail.
master_stops() {
	local got=0
	rm -rf "$work/e"
	# shellcheck disable=SC2016
	in_dir beta timeout 300 "$ctl" record --cluster -q -o "$work/e" -- \
		sh -c 'kill -STOP $1' sh "$alpha" >"$work/out" 2>"$work/err" || got=$?
	kill -CONT "$alpha"
	[ $got = 0 ] || return
	says 'session at the end failed: 10.77.4.1 .*; the recording is complete'
	says 'its metadata has the failure'
}
steadily master_stops || fail "the master stops: $(cat "$work/err")"
is_sync "$work/e" start=done end=failed

# --- the daemon is killed and restarted: its sample numbers start over -----------------
TSCTRACE_RUN_DIR=$work/beta "$ctl" record -c other -o "$work/f" 2>"$work/err" & track rec
recorded() { [ -e "$work/f/metadata" ]; }
wait_for "it records" recorded
slay beta
start beta
wait_for "beta is synchronized again" synced beta
until_in "$work/err" 'tsctraced runs again'
sleep 1.2
end_by INT $rec "the recorder did not go on with the daemon that came back"
says 'tsctraced restarted 1 time:'
is_sync "$work/f" restarts=1

# --- a daemon that drops samples, and invalid answers --------------------------------------
mkdir "$work/fake"
python3 - "$work/fake/control.sock" <<'END' &
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
asked = 0
while True:
    c, _ = s.accept()
    words = c.recv(4096).split()
    if words[0] == b"samples":
        asked += 1
        first = 1 if asked == 1 else 5001
        rows = [[n, n * 9000, n * 9000 + 1, n * 9000 + 20, n * 9000 + 30,
                 n * 9000 + 50] + [0] * 4 + [1, 1, 7, 7, 7, 1, 2, 0, 1, 0, 0,
                 27 << 50, 0, 0, 0, 1, 1, "10.0.0.1"]
                for n in range(first, first + 10)]
        answer = dict(life=5, first=first, last=first + 9, name="f", role="child",
                      fit="auto", node=1, host=2, master=3, status=2, timeline=1,
                      epoch=1, sources=1, busy=False, samples=rows)
        if asked > 4:
            answer = {"life": "none"}
        c.sendall(json.dumps(answer).encode())
    c.close()
END
is_there() { [ -S "$work/fake/control.sock" ]; }
wait_for "the fake daemon listens" is_there
run_on 0 fake record -o "$work/g" -- sleep 1.5
says '4990 sync samples lost: dropped by the daemon'
is_sync "$work/g" lost=4990
babeltrace2 "$work/g" >"$work/text" 2>&1 || fail "babeltrace2 of a gap"
[ "$(grep -c ' sync_sample: ' "$work/text")" = "$(counted "$work/g")" ] ||
	fail "babeltrace2 counts other samples beside the gap"
grep -q 'discarded 4990 events' "$work/text" ||
	fail "babeltrace2 does not report the gap: $(tail -n 3 "$work/text")"
for i in 1 2 3; do
	run_on 0 fake record -o "$work/h$i" -- true
done
run_on 1 fake record --cluster -o "$work/no" -- true
says 'invalid answer; use tsctraced and trace-ctl of the same version'

# --- damage ------------------------------------------------------------------------------
size=$(stat -c %s "$work/a/sync_0")
truncate -s $((size - 100)) "$work/a/sync_0"
exits 3 "$ctl" stat "$work/a" >"$work/out" 2>"$work/err"
says "stream sync_0: cut off in packet [0-9]* at byte $((size - 100))"
"$ctl" dump "$work/a" || fail "dump reports damage, but all events are intact"
