# SPDX-License-Identifier: MIT
# For scripts with daemons on one timeline, in network namespaces: source this. It
# brings nets.sh, a folder $work that goes at the exit, and the programs; a node
# NAME is what has its configuration and its log in $work/NAME.
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
# Without what is new of the machine's own clock, several lines a second at first
show_logs() {
	local i
	for i in "$work"/*/log; do
		sed "/: clock /d; s|^|# ${i#"$work/"}: |" "$i" | tail -n 15
	done
}
# A test program, with the library; of SOURCE..., where it needs more than its own
compile() {	# NAME [SOURCE...]
	${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -I"$top/kmod/uapi" \
		-I"$top/lib/include" -I"$top" -o "$work/$1" \
		"$top/tests/native/$1.c" "${@:2}" "$out"/lib/libtsct{export,sync,provider,race}.a -lnettle -lm
}

# --- nodes ---------------------------------------------------------------------
# $NAME is its pid. HOST-ID: or they would know that they share a counter.
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

# --- what is to be true ----------------------------------------------------------
wait_for() {	# WHAT COMMAND...: for a minute
	local what=$1 until=$((SECONDS + 60))
	shift
	while [ $SECONDS -le $until ]; do
		! "$@" || return 0
		sleep 0.1
	done
	fail "waited in vain until $what"
}
# Of what daemons do not say if nobody asks for half a second, as where all programs
# are kept from running for so long: COMMAND has to be true unless the machine stood
# still meanwhile. Then it has another chance.
steadily() {	# COMMAND...
	local chances=10 held watch
	while [ $((chances--)) -gt 0 ]; do
		: >"$work/stalls"
		see_stalls & watch=$!
		pids+=("$watch")
		held=yes
		"$@" || held=
		kill "$watch"
		wait "$watch" 2>/dev/null || true
		[ -z "$held" ] || return 0
		[ -s "$work/stalls" ] || return 1
		echo "# again, as all stood still for $(paste -sd, "$work/stalls") ms"
		sleep 2
	done
	return 1
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
# By then, it does not die of an interrupt, nor miss it.
catches() {	# PID
	[ $((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status") & 2)) != 0 ]
}
logged() { grep -q -- "$2" "$work/$1/log"; }	# NAME PATTERN
# A value of `trace-ctl peers` of a node, as python reads it
of() {		# NAME EXPRESSION of p
	in_dir "$1" "$ctl" peers --json 2>/dev/null | python3 -c 'import json, sys
try: p = json.load(sys.stdin)
except ValueError: sys.exit(1)
print(eval(sys.argv[1]))' "$2"
}
is() { [ "$(of "$1" "$2")" = "$3" ]; }	# NAME EXPRESSION VALUE
above() { [ "$(of "$1" "int($2 > $3)")" = 1 ]; }
synced() { is "$1" 'p["cluster"]["status"]' synchronized; }
