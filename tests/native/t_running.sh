#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that run while the daemon comes and goes: one that was started before it is
# traced soon; after kill -9 of the daemon at random moments no event is missing, of
# parent and child; kept channels outlive daemon and program; a recorder goes on; a program
# moves to a channel that has taken its name; systemd's descriptor store.
. "$(dirname "$0")/record.sh"

live=$helpers/live
RANDOM=$((${SEED:-$(date +%s)} % 32768))
echo "seed $RANDOM"
export TSCTRACE_PROVIDER=daemon

ready() { [ -S "$TSCTRACE_RUN_DIR/tsctraced.sock" ] && "$ctl" channel list >/dev/null 2>&1; }
start() {	# starts a daemon and waits until it answers
	"$daemon" --no-module "$@" 2>>"$work/daemon.log" & track server
	wait_for "the daemon answers" ready
}
column() {	# CHANNEL COLUMN: of `channel list`, 0: the number of events
	"$ctl" channel list --json >"$work/list" || return 0
	python3 -c '
import json, sys
for c in json.load(open(sys.argv[1])):
    if c["name"] == sys.argv[2]:
        print(c[sys.argv[3]])' "$work/list" "$1" "$2"
}
run_live() {	# FILE ARGUMENT...: sets program
	: >"$1"
	"$live" "${@:2}" >"$1" & track program
	until_in "$1" started
}
end_live() { kill "$program"; wait "$program" || fail "the program's status"; }
written() { echo $(($(sed -n 's/.* written \([0-9]*\) .*/\1/p' "$1" | paste -sd+))); }
find_holder() { pgrep -f -- "--hold-channels --run-dir $TSCTRACE_RUN_DIR" >"$work/holder"; }

until_holders() {	# CHANNEL NUMBER: sets ms, the time that it took
	local began=$(date +%s%N)
	poll_s=0.02 wait_for "channel $1 has $2 holders" has_holders "$@"
	ms=$((($(date +%s%N) - began) / 1000000))
}

has_holders() {
	[ "$("$ctl" channel list | awk -v c="$1" '$2 == c { print $8 }')" = "$2" ]
}

# --- started before the daemon -------------------------------------------------
export TSCTRACE_CHANNEL=crash
run_live "$work/live.out" fork
grep -q '^started -19 none' "$work/live.out" || fail "$(cat "$work/live.out")"
[ "$(ls "/proc/$program/task" | wc -l)" = 2 ] || fail "not one helper thread"
sleep 0.3
start
until_holders crash 2
# It takes some 0.2 s on an idle machine; a busy one must not fail the test.
[ $ms -lt 20000 ] || fail "attached after $ms ms"
attached=$ms
[ "$(column crash kept)" = True ] || fail "the channel is not kept"

# --- the daemon is killed at random moments -------------------------------------
slowest=0
for ((round = 0; round < 12; round++)); do
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	stop_daemon -9
	sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
	start
	[ $((round % 3)) != 0 ] || {
		until_holders crash 2
		[ $ms -lt 20000 ] || fail "round $round: attached after $ms ms"
		[ $ms -lt $slowest ] || slowest=$ms
	}
done
until_holders crash 2
end_live
[ "$(column crash events)" = "$(written "$work/live.out")" ] ||
	fail "$(column crash events) events, written: $(cat "$work/live.out")"
[ "$(grep -c 'failed 0 .* provider daemon' "$work/live.out")" = 2 ] || fail "$(cat "$work/live.out")"
total=$(written "$work/live.out")

# --- a kept channel outlives program and daemon ----------------------------------
run_live "$work/live2.out"
until_holders crash 1
until_written crash "$total"
kill_now "$program"
until_holders crash 0
events=$(column crash events)
stop_daemon -9
start
[ "$(column crash events)" = "$events" ] || fail "$(column crash events) events, not $events"
stop_daemon
start
[ "$(column crash events)" = "$events" ] || fail "$(column crash events) events after a stop"
run 0 snapshot -c crash -o "$work/snap"
"$ctl" dump "$work/snap" >"$work/dump"
grep -q 'live_text *text="text"' "$work/dump" || fail "no typed event in the snapshot"
# On a busy machine, the program writes more than the rings hold before it is killed.
older=$(sed -n 's/.*, \([0-9]*\) older overwritten$/\1/p' "$work/err")
[ $(($(wc -l <"$work/dump") + ${older:-0})) = "$events" ] ||
	fail "$(wc -l <"$work/dump") events in the snapshot, of $events"
wait_for "a process holds the kept channels" find_holder
run 0 channel remove crash
stop_daemon -9
start
[ -z "$(column crash events)" ] || fail "a removed channel came back"
until_ended() {	# WHEN: waits until the holder has ended
	wait_for "the holder has ended $1" has_ended "$(cat "$work/holder")"
}
until_ended "with nothing to hold"

# --- a recorder goes on ------------------------------------------------------------
export TSCTRACE_CHANNEL=default
"$ctl" record -v -o "$work/rec" 2>"$work/rec.err" & track recorder
until_in "$work/rec.err" 'recording: '
run_live "$work/live3.out"
sleep 0.5
stop_daemon -9
until_in "$work/rec.err" 'tsctraced ended: '
sleep 0.4
start
until_in "$work/rec.err" 'tsctraced runs again'
until_holders default 2
first=$program
run_live "$work/live4.out"
sleep 0.3
end_live
program=$first
end_live
end_by INT "$recorder" "the recorder:" "$work/rec.err"
sum=$(($(written "$work/live3.out") + $(written "$work/live4.out")))
grep -q "^$work/rec: $sum events" "$work/rec.err" || fail "written $sum; $(cat "$work/rec.err")"
run 0 stat "$work/rec"

# --- another channel has taken the name ------------------------------------------
run_live "$work/live5.out"
until_holders default 1
stop_daemon -9
suspend "$program"
start
"$emit" 1000000 1 1000 >/dev/null & track other
until_written default 0
record_events() {	# DIR EVENT...: records until all these events are on disk
	"$ctl" record -q -o "$1" 2>"$work/err" & track recorder
	wait_for "events $2 are on disk" have_events "$@"
	end_by INT "$recorder" "the recorder:" "$work/err"
}
have_events() {
	local event
	"$ctl" dump "$1" >"$work/dump" 2>/dev/null || true
	for event in "${@:2}"; do
		grep -q " $event " "$work/dump" || return
	done
}
record_events "$work/taken0" tick
kill -CONT "$program"
until_holders default 2
record_events "$work/taken" live_tick live_text raw_tick tick
"$ctl" dump "$work/taken" >"$work/dump"
grep -q ' raw_tick *nr=[0-9]*$' "$work/dump" || fail "an id of the old channel was used"
! grep -q ' unused ' "$work/dump" || fail "events have wrong ids"
kill_now "$other"
end_live
grep -q ' provider daemon ' "$work/live5.out" || fail "$(cat "$work/live5.out")"

# --- no thread ----------------------------------------------------------------------
for how in flag environment; do
	stop_daemon -9
	if [ $how = flag ]; then
		run_live "$work/live6.out" nothread
	else
		TSCTRACE_THREAD=no run_live "$work/live6.out"
	fi
	start
	sleep 0.5
	[ "$(ls "/proc/$program/task" | wc -l)" = 1 ] || fail "$how: there is a thread"
	[ -z "$(column default events)" ] || fail "$how: attached without a thread"
	end_live
	grep -q 'written 0 .* provider none ' "$work/live6.out" || fail "$(cat "$work/live6.out")"
done

run_live "$work/live7.out" nothread
grep -q '^started 2 daemon' "$work/live7.out" || fail "$(cat "$work/live7.out")"
[ "$(ls "/proc/$program/task" | wc -l)" = 1 ] || fail "a thread in spite of the flag"
end_live

# --- a program closes all descriptors, ours too ----------------------------------------
run_live "$work/live8.out" close
sleep 0.2
stop_daemon -9
start
has_socket() {
	grep -q " @tsctrace/program/$program\." /proc/net/unix || return 1
	! has_wing events || "$ctl" events list -p "$program" >"$work/out" 2>&1
}
wait_for "its socket is there again" has_socket
until_holders default 1
end_live
grep -q ' broken 0$' "$work/live8.out" || fail "its files were used: $(cat "$work/live8.out")"
stop_daemon -9
run_live "$work/live9.out" close
start
TSCTRACE_CHANNEL=default until_holders default 1
end_live
grep -q ' provider daemon broken 0$' "$work/live9.out" || fail "$(cat "$work/live9.out")"

# --- hostile: a memory file that is none ---------------------------------------------
# The program that holds channels for another daemon accepts nobody else.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" "$TSCTRACE_RUN_DIR"
	run 0 channel create held --policy overwrite
	PATH=/usr/bin:/bin "${nobody[@]}" python3 - "$TSCTRACE_RUN_DIR/kept.sock" <<'END' || fail "another user reached the holder"
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    s.connect(sys.argv[1])
    s.send(b"?")
    sys.exit(s.recv(100) != b"")
except OSError:
    pass
END
	run 0 channel remove held
fi
stop_daemon -9

# --- systemd's descriptor store ----------------------------------------------------
timeout 300 python3 "$here/fd_store.py" "$daemon" "$ctl" \
	"$work" "$emit" || fail "descriptor store"

# --- the holder ends with the run-time directory --------------------------------------
start
run 0 channel create last --policy overwrite
wait_for "a process holds the kept channels" find_holder
# An empty message ends its connection, and the file that came with it is closed.
python3 - "$TSCTRACE_RUN_DIR/kept.sock" <<'END' || fail "the holder keeps an empty message's connection"
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
fd = os.memfd_create("empty_message")
socket.send_fds(s, [b""], [fd])
s.settimeout(100)
sys.exit(s.recv(100) != b"")
END
ls -l "/proc/$(head -n 1 "$work/holder")/fd" >"$work/files"
grep -q socket: "$work/files" || fail "the holder has no sockets: no test"
! grep -q empty_message "$work/files" || fail "the holder keeps an empty message's file"
stop_daemon -9
rm -r "$TSCTRACE_RUN_DIR"
until_ended "without its directory"
# One that begins to watch the directory when that has gone ends, too.
timeout 100 python3 - "$daemon" "$work/none" <<'END' || fail "a holder without a directory: status $?"
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[2] + ".sock")
listener.listen()
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.execv(sys.argv[1], ["tsctraced", "--hold-channels", "--run-dir", sys.argv[2]])
END
echo "attached after $attached ms; after a restart, $slowest ms at most; $total events, none missing"
