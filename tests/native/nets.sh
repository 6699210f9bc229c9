# SPDX-License-Identifier: MIT
# Network namespaces for tests: net creates one, join connects two, in_net starts a
# program in one. nets_down kills the programs and deletes the namespaces.
# shellcheck shell=bash

net_id=t$$
nets=() pids=()
[ "$(id -u)" -eq 0 ] || { echo "network namespaces need root"; exit 77; }
command -v ip >/dev/null || { echo "ip not found: install iproute2"; exit 1; }
ip netns add "$net_id" ||
	{ echo "this machine has no network namespaces"; exit 77; }
ip netns del "$net_id"

# ip netns exec and ip -n remount /, which fails if / is not a mount point.
within() {	# NAMESPACE COMMAND...
	nsenter --net="/run/netns/$1" "${@:2}"
}
net() {		# NAME
	ip netns add "$net_id$1"
	nets+=("$net_id$1")
	within "$net_id$1" ip link set lo up
}
join() {	# NAME ADDRESS NAME ADDRESS: connects two by a veth pair
	local a=$net_id$1 b=$net_id$3
	within "$a" ip link add "v$3" type veth peer name "v$1" netns "$b"
	within "$a" ip addr add "$2" dev "v$3" $([[ $2 != *:* ]] || echo nodad)
	within "$b" ip addr add "$4" dev "v$1" $([[ $4 != *:* ]] || echo nodad)
	within "$a" ip link set "v$3" up
	within "$b" ip link set "v$1" up
}
bridge() {	# NAME: a namespace with a bridge, for plug
	net "$1"
	within "$net_id$1" ip link add br0 type bridge
	within "$net_id$1" ip link set br0 up
}
# NAME ADDRESS BRIDGE: connects namespace NAME to BRIDGE by a veth pair, with the ends
# eth0 in NAME and NAME in BRIDGE
plug() {
	within "$net_id$3" ip link add name "$1" type veth peer name eth0 \
		netns "$net_id$1"
	within "$net_id$3" ip link set dev "$1" master br0 up
	within "$net_id$1" ip addr add "$2" dev eth0
	within "$net_id$1" ip link set eth0 up
}
in_net() {	# NAME COMMAND...: runs COMMAND in the background; sets: pid
	local where=$net_id$1
	shift
	nsenter --net="/run/netns/$where" "$@" &
	pid=$!
	pids+=("$pid")
}
nets_down() {
	local i
	for i in "${pids[@]}"; do
		kill -9 "$i" || true
	done 2>/dev/null
	wait 2>/dev/null || true
	for i in "${nets[@]}"; do
		ip netns del "$i" 2>/dev/null || true
	done
}
