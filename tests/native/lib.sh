# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# Common parts of the native tests. Sets: top; here, the directory of the native tests; out, the
# build directory; helpers, that of the tests' programs; ctl, daemon and emit, programs; work, a
# directory that is deleted at exit.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=${here%/tests/native}
out=$(realpath -m "${O:-$top/build}")
helpers=$out/tests/native
ctl=$out/tools/trace-ctl daemon=$out/daemon/tsctraced emit=$helpers/emit
export O=$out
# Tests that run no program set: needs_no_programs
for program in "$ctl" "$daemon" "$emit"; do
	[ -n "${needs_no_programs:-}" ] || [ -x "$program" ] || {
		echo "FAILED: no $program: run 'make' and 'make -C tests native' first"
		exit 1
	}
done
work=$(mktemp -d)
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)	# another user
exec {report}>&1	# for fail, where the standard output is redirected
unset TSCTRACE_CHANNEL TSCTRACE_SOCKET TSCTRACE_PROVIDER
# Open MPI runs as root, and more ranks than there are CPUs, which give their CPU away while
# they wait. The variables are of Open MPI 4; PRTE_ is of Open MPI 5.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Tools of the system administrator; and bpftool: that of Ubuntu 24.04 in /usr/sbin works only
# with the tools of the running kernel.
PATH=$PATH:/usr/sbin:/sbin
for tools in /usr/lib/linux-tools/*/; do
	[ ! -x "$tools/bpftool" ] || PATH=$tools:$PATH
done

# --- the end of a test --------------------------------------------------------------------

at_exit=()	# commands that run at exit, the last one first
awaited=	# the condition for which wait_for waits
cleanup() {
	local i status=$? last=$BASH_COMMAND
	# Prints the command that failed, unless fail() has printed a message. The status is 0
	# where a signal ends the test.
	if [ -n "$awaited" ] && [ "$last" != 'exit 1' ]; then
		echo "FAILED: ended while it waited: $awaited"
	elif [ "$status" != 0 ] && [ "$status" != 77 ] && [ "$last" != 'exit 1' ]; then
		echo "FAILED: status $status of: $last"
	fi
	set +e
	# All processes in the background
	for i in $(jobs -rp); do
		kill -9 "$i"
		kill -CONT "$i"
	done 2>/dev/null
	wait 2>/dev/null
	for ((i = ${#at_exit[@]} - 1; i >= 0; i--)); do
		eval "${at_exit[i]}"
	done
	rm -rf "$work"
	# The last line: the shell may have said which of its children were killed.
	[ -z "${skip_reason-}" ] || echo "$skip_reason"
}
trap cleanup EXIT
# The runner ends a test that takes too long. A command in the foreground ends, too.
trap 'trap "" TERM; fail "ended by SIGTERM: ${awaited:-$BASH_COMMAND}"' TERM

fail() {	# TEXT
	local i
	echo "FAILED: $*"
	[ "$passed" = 0 ] || echo "not ok $((passed + 1)) - $*"
	head -n 30 "$work/out" "$work/err" 2>/dev/null || true
	# Omits lines about a node's own clock: a daemon logs several of them per second after
	# its start.
	for i in "$work"/log "$work"/*.log "$work"/*/log; do
		[ ! -f "$i" ] || sed "/: clock /d; s|^|# ${i#"$work/"}: |" "$i" | tail -n 15
	done
	exit 1
}
# TAP: the next test has passed.
passed=0
ok() { echo "ok $((++passed)) - $*"; }
skip() {	# REASON
	# cleanup, which prints it last, is not called in a subshell.
	if [ "$BASH_SUBSHELL" = 0 ]; then skip_reason=$*; else echo "$*"; fi
	exit 77
}
need_root() { [ "$(id -u)" = 0 ] || skip "$1 need root"; }	# WHAT
# Fails if a command is missing, and names its package.
need() {	# COMMAND...
	local i
	local -A package=([ip]=iproute2 [nsenter]=util-linux [unshare]=util-linux
		[setpriv]=util-linux [script]=bsdutils [otf2-print]=otf2-tools
		[objcopy]=binutils [objdump]=binutils [readelf]=binutils [strip]=binutils
		[pgrep]=procps [umount]=mount [xz]=xz-utils [chroot]=coreutils [comm]=coreutils)
	for i in "$@"; do
		command -v "$i" >/dev/null || fail "$i: not found; install ${package[$i]:-$i}"
	done
}

# Runs the functions at the same time, each with a directory $work of its own below this one's,
# and waits for all of them.
together() {	# FUNCTION...
	local i failed="" parts=()
	for i; do
		(
			work+=/$i
			mkdir "$work"
			at_exit=()
			begin_part "$i"
			trap cleanup EXIT
			"$i"
		) & parts+=($!)
	done
	for i in "${parts[@]}"; do wait "$i" || failed=yes; done
	[ -z "$failed" ] || exit 1
}
begin_part() { :; }	# NAME: sets what other files' parts have of their own

# NAME becomes the pid of the last process in the background.
track() { printf -v "$1" %s "$!"; }	# NAME

# --- conditions ---------------------------------------------------------------------------

# Waits until COMMAND succeeds. The limit detects hangs, and is no statement about time.
wait_for() {	# CONDITION COMMAND...
	local until=$((SECONDS + 300)) outer=$awaited
	awaited=$1
	# COMMAND may wait for another condition.
	until "${@:2}"; do
		[ $SECONDS -le $until ] || fail "not true after 300 s: $1"
		sleep "${poll_s:-0.05}"
	done
	awaited=$outer
}

# Waits until a line of the file matches the pattern. Empty the file before starting a
# background program that writes to the file: the old contents could match.
until_in() { wait_for "a line of $1 matches: $2" grep -qs -- "$2" "$1"; }	# FILE PATTERN

not() { ! "$@"; }	# COMMAND...
is_named() { [ "$(cat "/proc/$1/comm")" = "$2" ]; }	# PID NAME
has_ended() { ! kill -0 "$1" 2>/dev/null; }	# PID

kill_now() {	# PID...
	kill -9 "$@"
	wait "$@" 2>/dev/null || true
}
# Ends a process by a signal. Its exit status has to be 0. FILE: what it printed
end_by() {	# SIGNAL PID TEXT [FILE]
	kill -"$1" "$2"
	wait "$2" || fail "$3: exit status $?: $(cat "${4:-/dev/null}")"
}

# Stops a process, and waits until none of its threads runs.
suspend() {	# PID
	kill -STOP "$1"
	wait_for "process $1 is stopped" is_stopped "$1"
}
is_stopped() {	# PID
	[ -z "$(grep -hs '^State:' "/proc/$1/task"/*/status | grep -v '[Tt] (')" ]
}

# True if the process is trace-ctl, and has installed its SIGINT handler: until it executes
# trace-ctl, the process is a copy of the shell, which has one, too.
catches() {	# PID
	[ "/proc/$1/exe" -ef "$ctl" ] &&
		[ $((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status") & 2)) != 0 ]
}

# Prints the time that the process has been waiting for a CPU since it started, in ms.
cpu_wait() {	# PID
	local ns=0
	read -r _ ns _ 2>/dev/null <"/proc/$1/schedstat" || true
	echo $((ns / 1000000))
}
# True if the process, or one below it, is stopped, of which schedstat has no time
stopped_below() {	# PID
	local state i children=()
	read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || return
	[ "$state" != T ] || return 0
	read -ra children 2>/dev/null <"/proc/$1/task/$1/children" || true
	for i in "${children[@]}"; do
		! stopped_below "$i" || return 0
	done
	return 1
}
see_stalls() {	# PID
	local from to
	read -r from _ </proc/uptime
	while sleep 0.05; do
		! stopped_below "$1" || echo "while a process was stopped" >>"$work/stalls"
		read -r to _ </proc/uptime
		[ $((10#${to/./} - 10#${from/./})) -lt 30 ] ||
			echo "for $((10 * (10#${to/./} - 10#${from/./}))) ms" >>"$work/stalls"
		from=$to
	done
}
# COMMAND must succeed, but is repeated, up to 20 times, if the machine stalled meanwhile, or
# a process of the test waited for a CPU or was stopped: a daemon forgets a caller that sends
# no request for half a second.
steadily() {	# COMMAND...
	local chances=20 self=$BASHPID held watch i
	local -A before
	while [ $((chances--)) -gt 0 ]; do
		: >"$work/stalls"
		for i in $(jobs -rp); do before[$i]=$(cpu_wait "$i"); done
		see_stalls "$self" & track watch
		held=yes
		"$@" || held=
		kill "$watch"
		wait "$watch" 2>/dev/null || true
		[ -z "$held" ] || return 0
		for i in $(jobs -rp); do
			i=$(($(cpu_wait "$i") - ${before[$i]:-0}))
			[ "$i" -lt 200 ] || echo "for $i ms" >>"$work/stalls"
		done
		[ -s "$work/stalls" ] || return 1
		echo "# repeated: the machine stalled $(sort -u "$work/stalls" | paste -sd,)"
		sleep 2
	done
	return 1
}

# --- trace-ctl and its output ---------------------------------------------------------------

# True if trace-ctl was built with tools/wings/NAME: `make CORE=1` leaves out all wings.
has_wing() { grep -q "/tools/wings/$1/" "$out/tools/objects"; }	# NAME

# True if tsctraced was built with daemon/collective, which answers tsct_timesync().
has_collectives() { [ -e "$out/daemon/collective" ]; }

# Runs a command, which may be a function or wait.
exits() {	# WANTED-STATUS COMMAND...
	local got=0
	"${@:2}" || got=$?
	[ "$got" = "$1" ] || fail "exit status $got, not $1: ${*:2}" >&"$report"
}

# Runs trace-ctl; stores the standard output in $work/out, the error in $work/err.
run() {	# WANTED-STATUS ARGUMENT...
	exits "$1" timeout 300 "$ctl" "${@:2}" >"$work/out" 2>"$work/err"
}
# The same with a limit to the size of files
run_limited() {	# KIB WANTED-STATUS ARGUMENT...
	exits "$2" bash -c 'ulimit -f "$1" && exec "${@:2}"' - "$1" "$ctl" "${@:3}" \
		>"$work/out" 2>"$work/err"
}
run_says() {	# WANTED-STATUS PATTERN ARGUMENT...
	run "$1" "${@:3}"
	says "$2"
}
run_shows() {	# WANTED-STATUS PATTERN ARGUMENT...
	run "$1" "${@:3}"
	shows "$2"
}

says() {	# PATTERN: fails unless standard error matches PATTERN
	grep -q -- "$1" "$work/err" || fail "no line of standard error matches '$1'"
}

shows() {	# PATTERN: fails unless standard output matches PATTERN
	grep -q -- "$1" "$work/out" || fail "no line of standard output matches '$1'"
}

# Fails unless each expression of Python is true. j is the JSON of the file, or in the page `text`;
# of several lines, a list.
holds() {	# FILE EXPRESSION...
	python3 -c 'import csv, json, re, sys
text = open(sys.argv[1]).read()
page = re.search(r"id=\"data\">(.*?)</script>", text, re.S)
try: j = json.loads(page[1] if page else text)
except ValueError: j = [json.loads(line) for line in text.splitlines()]
for expression in sys.argv[2:]:
    if not eval("(" + expression + ")"): sys.exit(expression)' "$@" 2>"$work/false" ||
		fail "${FUNCNAME[1]}: not true of $1: $(cat "$work/false")"
}

# Prints the value of a Python expression; s is the output of `stat --json`.
stat_of() {	# DIR EXPRESSION of s
	{ "$ctl" stat --json "$1" 2>/dev/null || true; } | python3 -c 'import json, sys
s = json.load(sys.stdin)
print(eval("(" + sys.argv[1] + ")"))' "$2"
}

# Prints the first number with the key NAME in a JSON file; beyond 2^53, it is a string there.
number() {	# NAME FILE
	grep -o "\"$1\": *\"\?-\?[0-9][-0-9.e+]*" "$2" | sed -n '1s/.*[: "]//p'
}

# Leaves out the events that the recorder itself wrote, from the text of babeltrace.
without_statedump() {
	grep -aEv ' (thread|thread_end|last_pid|exec|cgroup|frame|stack): \{' || true
}
