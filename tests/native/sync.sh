# SPDX-License-Identifier: MIT
# Common parts of the tests with synchronized daemons in network namespaces. Sources
# nets.sh. Sets: top, out, daemon, ctl, work (a directory that is deleted at exit).
# The configuration and the log of a node NAME are in $work/NAME.
# shellcheck shell=bash disable=SC2034

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${O:-$top/build}
daemon=$out/daemon/tsctraced ctl=$out/tools/trace-ctl
. "$top/tests/native/nets.sh"
work=$(mktemp -d)
trap 'nets_down; rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	show_logs
	exit 1
}
# Prints the last 15 lines of each node's log. Omits lines about the node's own clock,
# because a daemon logs several of them per second after its start.
show_logs() {
	local i
	for i in "$work"/*/log; do
		sed "/: clock /d; s|^|# ${i#"$work/"}: |" "$i" | tail -n 15
	done
}
# Builds the test program NAME.c with the library and additional SOURCE files.
compile() {	# NAME [SOURCE...]
	${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -I"$top/kmod/uapi" \
		-I"$top/lib/include" -I"$top" -o "$work/$1" \
		"$top/tests/native/$1.c" "${@:2}" "$out"/lib/libtsct{export,sync,provider,race}.a -lnettle -lm
}

# --- nodes ---------------------------------------------------------------------
# Starts a daemon; sets $NAME to its pid. Nodes need different HOST-IDs: otherwise
# they detect that they share a counter.
start() {	# NAME [HOST-ID] [OPTION...]
	in_net "$1" "$daemon" -v --no-module --run-dir "$work/$1" \
		--config "$work/$1/conf" ${2:+--host-id "$2"} "${@:3}" \
		2>>"$work/$1/log"
	printf -v "$1" %s "$pid"
}
slay() {	# NAME
	kill -9 "${!1}"
	wait "${!1}" 2>/dev/null || true
}
reload() { kill -HUP "${!1}"; }	# NAME
in_dir() { TSCTRACE_RUN_DIR=$work/$1 "${@:2}"; }	# NAME COMMAND...

# --- conditions ------------------------------------------------------------------
# Waits up to a minute until COMMAND succeeds.
wait_for() {	# CONDITION COMMAND...
	local what=$1 until=$((SECONDS + 60))
	shift
	while [ $SECONDS -le $until ]; do
		! "$@" || return 0
		sleep 0.1
	done
	fail "timeout: not true after a minute: $what"
}
# COMMAND must succeed, but is repeated if the machine stalled meanwhile, or a process of
# the test waited for a CPU, up to 10 times: a daemon forgets a caller that sends no request
# for half a second.
steadily() {	# COMMAND...
	local chances=10 held watch i
	local -A before
	while [ $((chances--)) -gt 0 ]; do
		: >"$work/stalls"
		for i in "${pids[@]}"; do before[$i]=$(cpu_wait "$i"); done
		see_stalls & watch=$!
		pids+=("$watch")
		held=yes
		"$@" || held=
		kill "$watch"
		wait "$watch" 2>/dev/null || true
		[ -z "$held" ] || return 0
		for i in "${pids[@]}"; do
			i=$(($(cpu_wait "$i") - ${before[$i]:-0}))
			[ "$i" -lt 200 ] || echo "$i" >>"$work/stalls"
		done
		[ -s "$work/stalls" ] || return 1
		echo "# repeated: the machine stalled for $(paste -sd, "$work/stalls") ms"
		sleep 2
	done
	return 1
}
# Prints the time that the process has been waiting for a CPU since it started, in ms.
cpu_wait() {	# PID
	local ns=0
	read -r _ ns _ 2>/dev/null <"/proc/$1/schedstat" || true
	echo $((ns / 1000000))
}
see_stalls() {
	local from to
	read -r from _ </proc/uptime
	while sleep 0.05; do
		read -r to _ </proc/uptime
		[ $((10#${to/./} - 10#${from/./})) -lt 30 ] ||
			echo $((10 * (10#${to/./} - 10#${from/./}))) >>"$work/stalls"
		from=$to
	done
}
# True if the process has installed its SIGINT handler.
catches() {	# PID
	[ $((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status") & 2)) != 0 ]
}
logged() { grep -q -- "$2" "$work/$1/log"; }	# NAME PATTERN
# Prints the value of a Python expression of p, the JSON of `trace-ctl peers`.
of() {		# NAME EXPRESSION of p
	in_dir "$1" "$ctl" peers --json 2>/dev/null | python3 -c 'import json, sys
try: p = json.load(sys.stdin)
except ValueError: sys.exit(1)
print(eval(sys.argv[1]))' "$2"
}
is() { [ "$(of "$1" "$2")" = "$3" ]; }	# NAME EXPRESSION VALUE
above() { [ "$(of "$1" "int($2 > $3)")" = 1 ]; }
synced() { is "$1" 'p["cluster"]["status"]' synchronized; }
