#!/bin/bash
# SPDX-License-Identifier: MIT
# A server has two sockets for each address family: one for packets of configured
# children, one for all others. Each packet must arrive in the right one. The daemon is
# stopped (SIGSTOP), so that packets stay queued.
. "$(dirname "$0")/sync.sh"

net server client
join server 10.77.1.1/24 client 10.77.1.2/24
for i in 10.77.1.3/24 fd77::2/64 fd77::3/64; do
	within "${net_id}client" ip addr add $i dev vserver $([[ $i != *:* ]] || echo nodad)
done
within "${net_id}server" ip addr add fd77::1/64 dev vclient nodad
(umask 077; echo "11 AES128 HEX:000102030405060708090a0b0c0d0e0f" >"$work/keys")
{
	printf '%s\n' "keyfile $work/keys" "allow all" "child roamer key 11"
	for i in $(seq 50); do
		echo "child v4-$i 10.9.$((i * 37 % 51)).7"
		echo "child v6-$i fd78::$((i * 37 % 51 + 1))"
	done
	printf '%s\n' "child four 10.77.1.3" "child six fd77::3"
} >"$work/server/conf"
start server a1
sockets() { within "${net_id}server" ss -Huln sport = :123; }
open() { [ "$(sockets | wc -l)" -eq 4 ]; }
wait_for "there are two sockets of each kind" open
suspend "$server"

waiting() {	# ADDRESS: prints the bytes queued in each of the two sockets
	sockets | awk -v at="$1" 'index($4, at) == 1 { print $2 }' | paste -sd' '
}
# Sends a packet of BYTES bytes, which ends with a MAC: key id KEY and DIGEST bytes of
# digest.
give() {	# FROM TO BYTES [KEY DIGEST]
	within "${net_id}client" python3 - "$@" <<-'EOF'
	import socket, sys
	source, to, size = sys.argv[1:4]
	s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
	s.bind((source, 0))
	packet = bytes([0x23]) + bytes(int(size) - 1)
	if sys.argv[4:]:
	    packet += int(sys.argv[4]).to_bytes(4, "big") + bytes(int(sys.argv[5]))
	s.sendto(packet, (to, 123))
	EOF
}
# children|strangers FROM TO BYTES [KEY DIGEST]: sends a packet by give(), and fails
# unless the packet arrives in the socket for packets of configured children, or in the
# socket for all other packets ("strangers")
has_arrived() {
	now=$(waiting "$at")
	[ "$now" != "$before" ]
}
goes() {
	local at=[::] before now a b c d where
	[[ $3 == *:* ]] || at=0.0.0.0
	before=$(waiting "$at")
	give "${@:2}"
	wait_for "the packet arrives" has_arrived
	read -r a b c d <<<"$before $now"
	[ $((c > a)) -ne $((d > b)) ] || fail "${*:2}: in none or both: $before, $now"
	where=$((d > b))
	# The first packet of each address family is not from a configured child. The
	# socket in which that packet arrives is the one for "strangers".
	[ -n "${strangers[$at]:-}" ] || strangers[$at]=$where
	[ "$1" = "$([ "$where" -eq "${strangers[$at]}" ] && echo strangers || echo children)" ] ||
		fail "${*:2}: not in the socket of $1"
}
declare -A strangers
for i in "10.77.1.2 10.77.1.1" "fd77::2 fd77::1"; do
	goes strangers $i 48
	goes strangers $i 8
	goes strangers $i 208
	goes strangers $i 208 12 16
	goes strangers $i 208 11 12
	goes children $i 208 11 16
	goes children $i 208 11 20
	goes children $i 48 11 16
done
goes children 10.77.1.3 10.77.1.1 48
goes children fd77::3 fd77::1 208
goes strangers 10.77.1.2 10.77.1.1 48
kill -CONT "$server"
empty() { [ -z "$(sockets | awk '$2')" ]; }
wait_for "all packets are read" empty
# A second daemon cannot bind to the same port (SO_REUSEPORT).
! within "${net_id}server" "$daemon" --no-module --run-dir "$work/other" \
	--config "$work/server/conf" 2>"$work/out" || fail "two daemons share a port"
shows "port 123: Address already in use"
end_by TERM "$server" "it ended"
