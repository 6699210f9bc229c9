# SPDX-License-Identifier: MIT
# Two network namespaces, a and b, joined by the devices va (10.77.0.1) and vb (10.77.0.2), for the
# tests t_*.sh that read this file. `servers`: processes that are killed at the end.
[ -e /lib/modules/veth.ko ] || { echo "this kernel has no veth.ko"; exit 77; }
insmod /lib/modules/veth.ko
ip=/usr/bin/ip		# not busybox's

servers=
clean() {
	kill $servers 2>/dev/null || true
	$ip netns delete a
	$ip netns delete b
	rmmod veth
}
trap clean EXIT

$ip netns add a
$ip netns add b
$ip link add va netns a type veth peer name vb netns b
for end in a b; do
	[ $end = a ] && nr=1 || nr=2
	$ip -n $end link set lo up
	$ip -n $end addr add 10.77.0.$nr/24 dev v$end
	$ip -n $end addr add fd77::$nr/64 dev v$end nodad
	$ip -n $end link set v$end up
done
