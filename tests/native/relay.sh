# SPDX-License-Identifier: MIT
# The relay of `make bench-sync` between two namespaces, alpha and beta, for tests with
# daemons. Sourced after sync.sh. Sets: bench, the folder of the relay; relay, its pid.
# shellcheck shell=bash disable=SC2034,SC2154

bench=$top/tests/bench/sync
relay_compile() {
	${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -I"$top/kmod/uapi" \
		-I"$top/lib/include" -I"$top" -o "$work/relay" "$bench/relay.c" \
		"$top"/tests/world/{paths,network,crystal}.c -lm
}
relay_device() {	# NAME ADDRESS PEER
	within "$net_id$1" ip tuntap add dev relay0 mode tun
	within "$net_id$1" ip addr add "$2" peer "$3" dev relay0
	within "$net_id$1" ip link set relay0 up
}
# Creates both namespaces, with the addresses 10.77.1.1 (alpha) and 10.77.1.2 (beta), and
# starts the relay: packets to alpha are requests.
relay_start() {		# REQUEST ANSWER LOG
	local ready
	net alpha
	net beta
	relay_device alpha 10.77.1.1 10.77.1.2
	relay_device beta 10.77.1.2 10.77.1.1
	mkfifo "$work/ready"
	"$work/relay" --request "$1" --answer "$2" --log "$3" "/run/netns/${net_id}beta" \
		"/run/netns/${net_id}alpha" >"$work/ready" 2>"$work/relay.out" &
	relay=$!
	pids+=("$relay")
	read -r ready <"$work/ready" && [ "$ready" = ready ] || fail "$(cat "$work/relay.out")"
}
