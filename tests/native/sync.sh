# SPDX-License-Identifier: MIT
# Common parts of the tests with daemons in network namespaces, in addition to lib.sh. The
# configuration and the log of a node NAME are in $work/NAME.
# shellcheck shell=bash disable=SC2034
# shellcheck source=tests/native/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# --- network namespaces ---------------------------------------------------------------------

net_id=t$$
nets=()
need_root "network namespaces"
need ip nsenter
ip netns add "$net_id" || skip "this machine has no network namespaces"
ip netns del "$net_id"

# ip netns exec and ip -n remount /, which fails if / is not a mount point.
within() {	# NAMESPACE COMMAND...
	nsenter --net="/run/netns/$1" "${@:2}"
}
net() {		# NAME...: creates namespaces, and directories
	local i
	for i in "$@"; do
		ip netns add "$net_id$i"
		nets+=("$net_id$i")
		within "$net_id$i" ip link set lo up
		mkdir -p "$work/$i"
	done
}
join() {	# NAME ADDRESS NAME ADDRESS: connects two by a veth pair
	local a=$net_id$1 b=$net_id$3
	within "$a" ip link add "v$3" type veth peer name "v$1" netns "$b"
	within "$a" ip addr add "$2" dev "v$3" $([[ $2 != *:* ]] || echo nodad)
	within "$b" ip addr add "$4" dev "v$1" $([[ $4 != *:* ]] || echo nodad)
	within "$a" ip link set "v$3" up
	within "$b" ip link set "v$1" up
}
# Creates nodes on one bridge: NAME has the address PREFIX.1, the next one PREFIX.2. The ends
# of a connection are eth0 in NAME, and NAME in the namespace `wire`.
wired() {	# PREFIX NAME...
	local i address=1
	net wire
	within "${net_id}wire" ip link add br0 type bridge
	within "${net_id}wire" ip link set br0 up
	net "${@:2}"
	for i in "${@:2}"; do
		within "${net_id}wire" ip link add name "$i" type veth peer name eth0 \
			netns "$net_id$i"
		within "${net_id}wire" ip link set dev "$i" master br0 up
		within "$net_id$i" ip addr add "$1.$((address++))/24" dev eth0
		within "$net_id$i" ip link set eth0 up
	done
}
in_net() {	# NAME COMMAND...: runs COMMAND in the background; sets: pid
	nsenter --net="/run/netns/$net_id$1" "${@:2}" & track pid
}
nets_down() {
	local i
	for i in "${nets[@]}"; do
		ip netns del "$i" 2>/dev/null
	done
}
at_exit+=(nets_down)
begin_part() {
	net_id+=$1 nets=()
	at_exit+=(nets_down)
}

# --- nodes ----------------------------------------------------------------------------------

# Starts a daemon; sets $NAME to its pid. Nodes need different HOST-IDs: otherwise
# they detect that they share a counter.
start() {	# NAME [HOST-ID] [OPTION...]
	in_net "$1" "$daemon" -v --no-module --run-dir "$work/$1" \
		--config "$work/$1/conf" ${2:+--host-id "$2"} "${@:3}" \
		2>>"$work/$1/log"
	printf -v "$1" %s "$pid"
}
slay() { kill_now "${!1}"; }	# NAME
# Its daemon answers. The clock file, which trace-ctl clock reads, can be that of a killed one.
serves() { in_dir "$1" "$ctl" peers >/dev/null 2>&1; }	# NAME
end_nodes() {	# NAME...
	local i
	for i; do end_by TERM "${!i}" "$i"; done
}
reload() { kill -HUP "${!1}"; }	# NAME
in_dir() { TSCTRACE_RUN_DIR=$work/$1 "${@:2}"; }	# NAME COMMAND...

# Runs trace-ctl on a node; stores the standard output in $work/out, the error in $work/err.
run_on() {	# WANTED-STATUS NAME ARGUMENT...
	exits "$1" env TSCTRACE_RUN_DIR="$work/$2" timeout 300 "$ctl" "${@:3}" \
		>"$work/out" 2>"$work/err"
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
# Compares the nodes' times in the background, until end_by; sets: watcher, the process
watch() {	# NAME...
	: >"$work/watched"
	"$helpers/synccheck" --watch "${@/#/$work/}" >"$work/watched" & track watcher
	until_in "$work/watched" '^watching'
}

# --- the relay of `make bench-sync` between two namespaces, alpha and beta -------------------

bench=$top/tests/bench/sync
relay_device() {	# NAME ADDRESS PEER
	within "$net_id$1" ip tuntap add dev relay0 mode tun
	within "$net_id$1" ip addr add "$2" peer "$3" dev relay0
	within "$net_id$1" ip link set relay0 up
}
# Creates both namespaces, with the addresses 10.77.1.1 (alpha) and 10.77.1.2 (beta), and
# starts the relay: packets to alpha are requests. Sets: relay, its pid
relay_start() {		# REQUEST ANSWER LOG
	local ready
	net alpha beta
	relay_device alpha 10.77.1.1 10.77.1.2
	relay_device beta 10.77.1.2 10.77.1.1
	mkfifo "$work/ready"
	"$helpers/relay" --request "$1" --answer "$2" --log "$3" "/run/netns/${net_id}beta" \
		"/run/netns/${net_id}alpha" >"$work/ready" 2>"$work/relay.out" & track relay
	read -r ready <"$work/ready" && [ "$ready" = ready ] || fail "$(cat "$work/relay.out")"
}
