# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Common parts of the tests of trace-ctl. Sets: top, build, ctl, work (a directory
# that is deleted at exit), emit (see emit.c).
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${O:-$top/build}
ctl=$build/tools/trace-ctl
work=$(mktemp -d)
emit=$work/emit
started=()
cleanup() {
	local pid status=$? last=$BASH_COMMAND
	# Prints the command that failed, unless fail() has printed a message
	[ "$status" = 0 ] || [ "$status" = 77 ] || [ "$last" = 'exit 1' ] ||
		echo "FAILED: status $status of: $last"
	for pid in "${started[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$work"
}
trap cleanup EXIT
# That of Ubuntu 24.04 in /usr/sbin works only with the tools of the running kernel.
for tools in /usr/lib/linux-tools/*/; do
	[ ! -x "$tools/bpftool" ] || PATH=$tools:$PATH
done
unset TSCTRACE_CHANNEL TSCTRACE_SOCKET TSCTRACE_PROVIDER
export TSCTRACE_RUN_DIR=$work/run XDG_RUNTIME_DIR=$work/user
mkdir "$TSCTRACE_RUN_DIR" "$XDG_RUNTIME_DIR"

fail() {
	echo "FAILED: $*"
	head -n 30 "$work/out" "$work/err" 2>/dev/null || true
	exit 1
}

# Skips the test in a container whose processes have numbers of their own: kernel events have
# those of the first pid namespace, with which the test compares. PROC_PID_INIT_INO is its inode.
need_first_pid_namespace() {
	[ "$(readlink /proc/self/ns/pid)" != 'pid:[4026531836]' ] || return 0
	echo "kernel events have the process numbers of the first pid namespace; this is another"
	exit 77
}

${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/kmod/uapi" \
	-I"$top/lib/include" -o "$emit" "$top/tests/native/emit.c" \
	"$build/lib/libtsctrace.a" -lm

# Runs trace-ctl, for $run_seconds at most; stores the standard output in $work/out, the
# error in $work/err.
run_seconds=120
run() {	# WANTED-STATUS ARGUMENT...
	local want=$1 got=0
	shift
	timeout "$run_seconds" "$ctl" "$@" >"$work/out" 2>"$work/err" || got=$?
	[ "$got" = "$want" ] || fail "trace-ctl $*: exit status $got, not $want"
}

says() {	# PATTERN: fails unless standard error matches PATTERN
	grep -q -- "$1" "$work/err" || fail "no line of standard error matches '$1'"
}

shows() {	# PATTERN: fails unless standard output matches PATTERN
	grep -q -- "$1" "$work/out" || fail "no line of standard output matches '$1'"
}

# Waits until a line of the file matches the pattern. Empty the file before starting a
# background program that writes to the file: the old contents could match.
until_in() {	# FILE PATTERN
	local i
	for ((i = 0; i < 1000; i++)); do
		! grep -q -- "$2" "$1" 2>/dev/null || return 0
		sleep 0.05
	done
	fail "timeout: no line of $1 matches: $2"
}

# Waits until more than EVENTS events are on disk; a packet is written after a second.
until_on_disk() {	# DIR EVENTS
	local i n
	for ((i = 0; i < 300; i++)); do
		n=$("$ctl" dump "$1" 2>/dev/null | wc -l) || true
		[ "$n" -le "$2" ] || return 0
		sleep 0.1
	done
	fail "timeout: $1: $n events on disk, not more than $2"
}

# Waits until more than EVENTS events have been written to a channel.
until_written() {	# CHANNEL EVENTS
	local i n
	for ((i = 0; i < 300; i++)); do
		n=$("$ctl" channel list | awk -v c="$1" '$2 == c { print $(NF - 1) + 0 }')
		[ "${n:-0}" -le "$2" ] || return 0
		sleep 0.1
	done
	fail "timeout: channel $1: ${n:-no} events, not more than $2"
}

nothing_left() {	# DIR: fails if the files in DIR differ from the list in $before
	[ "$(ls -A "$1")" = "$before" ] || fail "left in $1: $(ls -A "$1")"
}

# Runs a command that writes $work/room/x, and sends a signal when the first file
# appears. The command must report the signal and delete its files, unless it has
# finished before. Counts the interrupted runs in $interrupted.
interrupt() {	# SIGNAL STATUS-WHEN-DONE ARGUMENT...
	local i pid got=0
	"$ctl" "${@:3}" 2>"$work/err" &
	pid=$!
	for ((i = 0; i < 3000; i++)); do
		[ -z "$(ls -A "$work/room")" ] || break
		sleep 0.01
	done
	kill -"$1" "$pid" 2>/dev/null || true
	wait "$pid" || got=$?
	[ "$got" = 1 ] || [ "$got" = "$2" ] || fail "interrupted: exit status $got"
	if [ "$got" = 1 ]; then
		says '/x[.a-z]*: interrupted'
		nothing_left "$work/room"
		interrupted=$((interrupted + 1))
	fi
	rm -rf "$work/room/x"*
}

# starts a daemon and waits until it is synchronized; sets: daemon
start_daemon() {
	: >"$work/daemon.log"
	"$build/daemon/tsctraced" 2>"$work/daemon.log" &
	daemon=$!
	started+=("$daemon")
	until_in "$work/daemon.log" 'clock synchronized'
	export TSCTRACE_PROVIDER=daemon
}

# Prints the first number with the key NAME in a JSON file.
number() {	# NAME FILE
	grep -o "\"$1\": *-\{0,1\}[0-9.]*" "$2" | sed -n '1s/.*: *//p'
}

# Skips the test where kernel events are not permitted: they need the rights of root, and a
# kernel that has them.
needs_kernel_events() {
	TSCTRACE_PROVIDER=embedded "$ctl" record -q -e sys_enter -o "$work/probe" -- true \
		2>"$work/err" && return
	echo "kernel events: $(tail -n 1 "$work/err")"
	exit 77
}

# Prints the number of events that babeltrace2 reads; fails if it prints warnings.
babeltrace_events() {	# DIR
	babeltrace2 "$1" >"$work/bt" 2>"$work/bt-err" || fail "babeltrace2 $1"
	[ ! -s "$work/bt-err" ] || fail "babeltrace2: $(head -n 3 "$work/bt-err")"
	without_statedump <"$work/bt" | wc -l
}

# shellcheck source=tests/native/statedump.sh
. "$(dirname "${BASH_SOURCE[0]}")/statedump.sh"
