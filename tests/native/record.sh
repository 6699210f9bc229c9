# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Common parts of the tests of recordings and merges, in addition to lib.sh
# shellcheck source=tests/native/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export TSCTRACE_RUN_DIR=$work/run XDG_RUNTIME_DIR=$work/user
mkdir "$TSCTRACE_RUN_DIR" "$XDG_RUNTIME_DIR"

# Skips the test in a container whose processes have numbers of their own: kernel events have
# those of the first pid namespace, with which the test compares. PROC_PID_INIT_INO is its inode.
need_first_pid_namespace() {
	[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] ||
		skip "kernel events have the process numbers of the first pid namespace; this is another"
}

# Skips the test where kernel events are not permitted: they need the rights of root, and a
# kernel that has them.
needs_kernel_events() {
	TSCTRACE_PROVIDER=embedded "$ctl" record -q -e sys_enter -o "$work/probe" -- true \
		2>"$work/err" || skip "kernel events: $(tail -n 1 "$work/err")"
}

# Prints the ids of BPF programs, links and maps of all recorders of this machine.
bpf_objects() {
	{
		bpftool prog show | grep 'name on_\|name follow_\|name track_' || true
		bpftool link show | grep 'tracepoint\|tp_btf\|tracing\|perf_event' || true
		bpftool map show | grep 'name tsct_\|name tracked' || true
	} | sort
}
# Writes those that exist now, but not in the file, to $work/bpf-new; until_removed waits until
# they are gone: the kernel removes them a while after a recorder was killed. Recorders of other
# tests, which may run, end, too.
note_new_bpf() {	# FILE, from bpf_objects
	bpf_objects | comm -13 "$1" - >"$work/bpf-new"
}
until_removed() {
	wait_for "BPF programs, links and maps of killed recorders are removed" are_removed
}
are_removed() { [ -z "$(bpf_objects | comm -12 "$work/bpf-new" -)" ]; }

# --- waiting --------------------------------------------------------------------------------

# Waits until more than EVENTS events are on disk; a packet is written after a second.
until_on_disk() {	# DIR EVENTS
	wait_for "more than $2 events of $1 are on disk" has_on_disk "$@"
}
has_on_disk() { [ "$({ "$ctl" dump "$1" 2>/dev/null || true; } | wc -l)" -gt "$2" ]; }

# Waits until more than EVENTS events have been written to a channel.
until_written() {	# CHANNEL EVENTS
	wait_for "more than $2 events are in channel $1" has_written "$@"
}
has_written() {
	"$ctl" channel list | awk -v channel="$1" -v least="$2" \
		'$2 == channel && $(NF - 1) > least { found = 1 } END { exit !found }'
}

# Starts a daemon and waits until it is synchronized, and answers: one that continues the clock
# of a killed daemon is synchronized before it has sockets. Sets: server, its pid
start_daemon() {	# ARGUMENT...
	: >"$work/daemon.log"
	"$daemon" "$@" 2>"$work/daemon.log" & track server
	export TSCTRACE_PROVIDER=daemon
	until_in "$work/daemon.log" 'clock synchronized'
	wait_for "the daemon answers" provides_channels
}
provides_channels() { TSCTRACE_PROVIDER=daemon "$ctl" channel list >/dev/null 2>&1; }
stop_daemon() {	# [SIGNAL]
	kill "${@:--TERM}" "$server"
	wait "$server" 2>/dev/null || [ $# -gt 0 ] || fail "the daemon ended with status $?"
}

# Records the whole system, again if programs of others have filled the rings meanwhile.
record_system() {	# DIR ARGUMENT...
	wait_for "a recording of the whole system without losses" is_recorded_without_losses "$@"
}
is_recorded_without_losses() {
	local got=0
	rm -rf "$1"
	timeout 300 "$ctl" record -a -o "$@" >"$work/out" 2>"$work/err" || got=$?
	[ $got = 0 ] || { [ $got = 3 ] && grep -qx '  LOST: full [0-9]*' "$work/err"; } ||
		fail "record -a: exit status $got"
	[ $got = 0 ]
}

# Records emit with two threads of 500 events each, whose names are known: the name of a thread
# that ends before the recorder runs again is not.
record_emit() {	# DIR
	wait_for "the threads of emit have names" has_names "$1"
}
has_names() {
	rm -rf "$1"
	TSCTRACE_PROVIDER=embedded run 0 record -q -o "$1" -- "$emit" 500 2 1000
	run 0 dump --json "$1"
	[ "$(grep -c '"thread":"emit"' "$work/out")" = 1001 ]
}

nothing_left() {	# DIR: fails if the files in DIR differ from the list in $before
	[ "$(ls -A "$1")" = "$before" ] || fail "left in $1: $(ls -A "$1")"
}

# Runs a command that writes $work/room/x, and sends a signal when the first file
# appears. The command must report the signal and delete its files; one that has finished
# before is run again.
interrupt() {	# SIGNAL STATUS-WHEN-DONE ARGUMENT...
	wait_for "SIG$1 interrupts: ${*:3}" is_interrupted "$@"
}
is_interrupted() {
	local command got=0 files
	"$ctl" "${@:3}" 2>"$work/err" & track command
	# It runs a little at a time, and is stopped while the files are looked at.
	while kill -CONT "$command" && kill -STOP "$command"; do
		files=("$work"/room/* "$work"/room/.[!.]*)
		[ ! -e "${files[0]}" ] && [ ! -e "${files[-1]}" ] || break
	done 2>/dev/null
	kill -"$1" "$command" 2>/dev/null || true
	kill -CONT "$command" 2>/dev/null || true
	wait "$command" || got=$?
	[ "$got" = 1 ] || [ "$got" = "$2" ] || fail "interrupted: exit status $got"
	if [ "$got" = 1 ]; then
		says '/x[.a-z]*: interrupted'
		nothing_left "$work/room"
	fi
	rm -rf "$work/room/x"*
	[ "$got" = 1 ]
}

# Makes a recording of helpers/made that of a killed recorder: there are events after the end that
# the metadata states, here for 4 s, and the ends of the files are damaged.
as_killed() {	# DIR
	sed -i -e 's/complete = 1/complete = 0/; s/ end=20000000000"/ end=12000000000"/' \
		-e '/^\tclock_real = /s/as_of_tsc=20000000000 error_ps=500000 growth=0/as_of_tsc=12000000000 error_ps=500000 growth=4294967296/' \
		"$1/metadata"
	truncate -s +1M "$1"/kernel_[01]
}

# --- other readers --------------------------------------------------------------------------

# Prints the number of events that babeltrace2 reads; fails if it prints warnings.
babeltrace_events() {	# DIR
	need babeltrace2
	babeltrace2 "$1" >"$work/bt" 2>"$work/bt-err" || fail "babeltrace2 $1"
	[ ! -s "$work/bt-err" ] || fail "babeltrace2: $(head -n 3 "$work/bt-err")"
	without_statedump <"$work/bt" | wc -l
}

# --- merges ---------------------------------------------------------------------------------

none_left() {	# fails if merge left a result, or a part of a result
	[ ! -e "$work/o" ] || fail "there is a result"
	[ -z "$(find "$work" -maxdepth 1 -name '.o.*')" ] || fail "a partial result"
}

refused() {	# PATTERN ARGUMENT...
	run_says 1 "$1" merge -o "$work/o" "${@:2}"
	none_left
}

# Makes an OTF2 archive. Only Debian's /usr/bin/python3 has the Python module otf2.
make_archive() {	# NAME K; standard input: the JSON for otf2_make.py
	cat >"$work/$1.json"
	/usr/bin/python3 "$here/otf2_make.py" "$work/$1" "$2" "$work/$1.json" ||
		fail "otf2_make.py $1"
}

make_archives() {	# a and b: two clock resolutions, times above 2^53, clock offsets
	make_archive a 0 <<END
{"res": 1000000000, "offset": 9007199254741001, "length": 5000000,
 "real": 1700000000000000000, "seed": 1, "locations": {
 "a0": {"times": [9007199254741001, 9007199254741003, 9007199259741001]},
 "a1": {"times": [9007199254741005, 9007199254741005]}, "a2": {"times": []}}}
END
	make_archive b 1 <<END
{"res": 2893312741, "offset": 1152921504606846977, "length": 123456789,
 "real": 1700000000000000777, "seed": 2, "locations": {
 "b0": {"times": [1152921504606846970, 1152921504606846980, 1152921504706846981],
  "offsets": [[1152921504606846975, -3], [1152921504606947975, 17],
   [1152921504706846981, -100000]]},
 "b1": {"mapped": true, "times": [1152921504606846979, 1152921504606846979]}}}
END
}
