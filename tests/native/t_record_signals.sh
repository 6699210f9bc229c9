#!/bin/bash
# SPDX-License-Identifier: MIT
# Ctrl-C, once and twice, --duration, and a killed recorder: the events recorded until
# then are readable.
. "$(dirname "$0")/record.sh"

start() {	# ARGUMENT...: starts a recorder in the background; sets: pid
	: >"$work/err"
	# A shell ignores SIGINT and SIGQUIT in background jobs of a script; nohup, SIGHUP.
	env --default-signal=INT,QUIT,HUP "$ctl" record -v "$@" >"$work/out" 2>"$work/err" & track pid
}

ended() {	# WANTED-STATUS
	exits "$1" wait "$pid"
}

# The first interrupt is passed to the command.
start -o "$work/a" -- "$emit" 100000000 1 1000
until_on_disk "$work/a" 10
kill -INT "$pid"
ended 0
says 'was terminated by signal 2'
[ "$("$ctl" dump "$work/a" | wc -l)" -gt 10 ] || fail "nothing recorded"

# The second interrupt ends the recording, even if the command ignores it.
# shellcheck disable=SC2016
start -o "$work/b" -- sh -c 'trap "" INT; echo $$ >"$1"; exec "$2" 100000000 1 1000' \
	sh "$work/pid" "$emit"
until_in "$work/err" 'recording: [1-9]'
kill -INT "$pid"
sleep 0.5
kill -0 "$pid" || fail "ended by the first interrupt"
# Two signals are one if the process did not run between them.
while kill -INT "$pid" 2>/dev/null; do sleep 0.5; done
ended 0
says 'is still running'
kill -0 "$(cat "$work/pid")" || fail "the command was killed"
kill -9 "$(cat "$work/pid")"
run 0 stat "$work/b"

# The command inherits ignored signals, and nohup works.
start -o "$work/nohup" -- "$emit" 100000000 1 1000
until_in "$work/err" 'recording: [1-9]'
kill -HUP "$pid"
ended 0
says 'was terminated by signal 1 '
: >"$work/err"
mkfifo "$work/go"
# shellcheck disable=SC2016 # for the inner shell
(trap '' HUP INT; exec "$ctl" record -v -o "$work/nohup2" -- sh -c '"$1" 3000; read -r _ <"$2"' \
	sh "$emit" "$work/go") >"$work/out" 2>"$work/err" & track pid
until_in "$work/err" 'recording: [1-9]'
kill -HUP "$pid"
echo >"$work/go"
ended 0
says 'exited with status 0'
says ': 3001 events, '

# If record runs no command, a signal ends the recording. The daemon provides the
# channel, because record provides one only to a command that it runs.
"$daemon" 2>"$work/daemon.log" & track server
until_in "$work/daemon.log" 'clock synchronized'
start -o "$work/c"
until_in "$work/err" 'recording: 0'
kill -TERM "$pid"
ended 0
start -o "$work/d" --duration 0.5
ended 0
says 'no events: no program wrote to channel default; '
stop_daemon
# A command that is stopped takes longer to end than the recorder waits.
is_terminated() {
	local begin=$SECONDS
	rm -rf "$work/e"
	start -o "$work/e" --duration 1 -- sleep 1000
	ended 0
	[ $((SECONDS - begin)) -lt 990 ] || fail "--duration waited for the command"
	grep -q 'was terminated by signal 15' "$work/err"
}
steadily is_terminated || fail "no line of standard error matches 'was terminated by signal 15'"

# Processes that the command leaves running are reported, and not stopped.
run 0 record -o "$work/f" -- sh -c 'sleep 30 >/dev/null 2>&1 & echo $!'
says 'processes started by the command still run'
says 'no events: no program wrote to channel default; processes that still run may write to it after this recording'
kill "$(cat "$work/out")" || fail "a process of the command was killed"

# After a kill, the files are readable, with a warning that the end is missing.
# shellcheck disable=SC2016
start -o "$work/g" -- sh -c 'echo $$ >"$1"; exec "$2" 100000000 1 1000' \
	sh "$work/pid" "$emit"
until_in "$work/err" 'recording: [1-9]'
until_on_disk "$work/g" 10
# After a second, the recorder rewrites the metadata, with the time range recorded until
# then (key span). The error bound of later events grows: in stat, in dump, and in an
# export.
span() { sed -n 's/^\tspan = "begin=\([0-9]*\) end=\([0-9]*\)".*/\1 \2/p' "$work/g/metadata"; }
is_rewritten() {
	local begin end
	read -r begin end <<<"$(span)"
	[ "${end:-0}" -gt $((${begin:-0} + 100000000)) ]
}
wait_for "the metadata is rewritten" is_rewritten
kill_now "$pid"
kill -9 "$(cat "$work/pid")"
run 3 dump "$work/g"
[ "$(wc -l <"$work/out")" -gt 10 ] || fail "too few events on disk"
says 'its recorder was killed'
[ "$(babeltrace_events "$work/g")" = "$(wc -l <"$work/out")" ] ||
	fail "babeltrace2 reads other events"
run_shows 3 '^recorded' stat "$work/g"
read -r _ end <<<"$(span)"
grep -q "^	clock_real = .* as_of_tsc=$end " "$work/g/metadata" || fail "clock_real is not as of the end"
run 3 stat --json "$work/g"
bound=$(number error_ns "$work/out")
run 3 dump --error "$work/g"
[ "$(sed 's/.* +- *\([0-9]*\)ns .*/\1/' "$work/out" | sort -n | tail -n 1)" -le "$bound" ] ||
	fail "stat's bound is less than dump's"
if has_wing formats; then
	run 3 export -q -f ctf -o "$work/g.ctf" "$work/g"
	[ "$(sed -n 's/^\tprecision = \([0-9]*\);/\1/p' "$work/g.ctf/metadata")" -ge "$bound" ] ||
		fail "the export's bound is less than stat's"
fi

# A killed recorder leaves the directory of its socket. The next recorder removes the
# directory, unless its lock is held, or it is new, a link, or has no lock file.
dirs() {
	find "$XDG_RUNTIME_DIR" -mindepth 1 -maxdepth 1 -name 'tsctrace-*' \
		-printf '%f ' | tr ' ' '\n' | sort | xargs
}
dead=$(dirs)
[ -n "$dead" ] || fail "a killed recorder left no directory"
touch "$XDG_RUNTIME_DIR/$dead/socke~"	# of a recorder that was killed before it listened
touch -d '1 minute ago' "$XDG_RUNTIME_DIR/$dead"
mkdir "$work/elsewhere" "$XDG_RUNTIME_DIR"/tsctrace-{locked,newone,nolock}
touch "$work/elsewhere/socket.lock" "$XDG_RUNTIME_DIR"/tsctrace-{locked,newone}/socket.lock
ln -s "$work/elsewhere" "$XDG_RUNTIME_DIR/tsctrace-linked"
touch -d '1 minute ago' "$work/elsewhere" "$XDG_RUNTIME_DIR"/tsctrace-{locked,nolock}
# The new one does not become old if this test is stopped.
touch -d '10 minutes' "$XDG_RUNTIME_DIR"/tsctrace-newone
(
	flock -n 9
	run 0 record -q -o "$work/h" -- "$emit" 10
) 9>"$XDG_RUNTIME_DIR/tsctrace-locked/socket.lock"
[ "$(dirs)" = "tsctrace-linked tsctrace-locked tsctrace-newone tsctrace-nolock" ] ||
	fail "wrong directories removed: $dead must go; left: $(dirs)"
[ -e "$work/elsewhere/socket.lock" ] || fail "a link was followed"
if [ "$(id -u)" = 0 ]; then
	chown 65534 "$XDG_RUNTIME_DIR/tsctrace-locked"
	run 0 record -q -o "$work/i" -- "$emit" 10
	[ -e "$XDG_RUNTIME_DIR/tsctrace-locked" ] || fail "a directory of another user was removed"
fi

# SIGQUIT ends a recording in order: the recording is complete, and the directory of the
# recorder's socket is removed.
rm -r "$XDG_RUNTIME_DIR"/tsctrace-*
ulimit -c 0
start -o "$work/quit" -- "$emit" 100000000 1 1000
until_in "$work/err" 'recording: [1-9]'
kill -QUIT "$pid"
ended 0
says 'was terminated by signal 3'
[ -z "$(dirs)" ] || fail "SIGQUIT leaves $(dirs)"
run 0 stat "$work/quit"

# A truncated file is read up to the cut.
file=$(find "$work/g" -name 'default_*' -size +2k | head -n 1)
size=$(stat -c %s "$file")
truncate -s $((size - 33)) "$file"
run 3 dump "$work/g"
says "stream default_[0-9]*: cut off in packet [0-9]* at byte $((size - 33)); everything before it is shown"
[ "$(wc -l <"$work/out")" -gt 10 ] || fail "events before the cut are missing"
