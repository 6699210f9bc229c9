#!/bin/sh
# SPDX-License-Identifier: MIT
# Messages between two ends: each packet that carries data is there once as it
# leaves and once as it arrives, under the same number, whatever puts packets
# together or cuts them up in between; and nobody else's are.
# guest-test: timeout=40 needs=btf
# guest-test: files=build/tools/trace-ctl,build/tests/guest/talk,ip
set -eu
cd "$(mktemp -d)"

[ -e /lib/modules/veth.ko ] || { echo "this kernel has no veth.ko"; exit 77; }
insmod /lib/modules/veth.ko
ip=/usr/bin/ip		# not busybox's

servers=
trap 'kill $servers 2>/dev/null || true; rmmod veth' EXIT
fail() { echo "$*"; exit 1; }

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
in_a() { $ip netns exec a talk "$@"; }
in_b() { $ip netns exec b talk "$@"; }
serve() {	# ADDRESS PORT...
	for port in "${@#"$1"}"; do
		[ -z "$port" ] || in_b serve "$1" "$port" &
		servers="$servers $!"
	done
}

record() {	# DIR ARGUMENT...
	dir=$1 status=0
	shift
	trace-ctl record -o "$dir" "$@" >record.out 2>&1 || status=$?
	[ $status = 0 ] || { cat record.out; fail "record $* gave $status"; }
	trace-ctl dump --raw "$dir" >"$dir.events" || fail "dump of $dir"
}

# STAMP [CPU] TID EVENT message=0x... bytes=N protocol="tcp" local_port=N remote="..."
# becomes one line for each server's port, to the left of which is the server
summary='
function value(field) {
	field = $field
	sub(/^[a-z_]*="?/, "", field)
	sub(/"$/, "", field)
	return field
}
# Stamps as text: awk numbers have 53 bits. Longer is later.
function before(a, b) {
	return length(a) != length(b) ? length(a) < length(b) : a "" < b ""
}
{
	local = value(8)
	remote = value(9)
	sub(/.*:/, "", remote)
	port = local ~ /^70[0-9][0-9]$/ ? local : remote
	id = $4 $5
	twice[port] += id in at
	at[id] = $1
	size = value(6) + 0
	if (size > largest[port])
		largest[port] = size
	ports[port] = 1
}
$4 == "net_send/send" { sent[port]++; sent_bytes[port] += size }
$4 == "net_receive/receive" {
	got[port]++
	got_bytes[port] += size
	id = "net_send/send" $5
	unsent[port] += !(id in at)
	late[port] += (id in at) && before($1, at[id])
}
END {
	for (port in ports)
		print "port=" port, "sent=" sent[port] + 0, \
			"got=" got[port] + 0, "sent_bytes=" sent_bytes[port] + 0, \
			"got_bytes=" got_bytes[port] + 0, "largest=" largest[port], \
			"twice=" twice[port] + 0, "unsent=" unsent[port] + 0, \
			"late=" late[port] + 0
}'
summarize() {	# DIR
	awk "$summary" "$1.events" | sort | tee "$1.summary"
}
judge() {	# DIR PORT CONDITION, of what is above
	line=$(grep "^port=$2 " "$1.summary") || fail "$1: nothing at port $2"
	(eval "$line" && [ $((unsent == 0 && late == 0 && got > 0 && $3)) = 1 ]) ||
		{ grep "[:=]$2\>" "$1.events" | head -n 20; fail "$1: $line: not $3"; }
}
each() {	# DIR PORT MESSAGES BYTES: of all together
	judge "$1" "$2" "twice == 0 && sent == $3 && got == $3 &&
		sent_bytes == $4 && got_bytes == $4"
}

# --- of the whole system ---------------------------------------------------------

serve 10.77.0.2 7000 7001 7002 7004 7005 7006 7007 7008 7009 7010 7011 7012 7020
serve fd77::2 7003 7013
sleep 0.5
cat >all.sh <<'END'
in_a() { /usr/bin/ip netns exec a talk "$@"; }
offload() {	# SEND RECEIVE
	for end in a b; do
		/usr/bin/ip netns exec $end talk offload v$end send "$1"
		/usr/bin/ip netns exec $end talk offload v$end receive "$2"
	done
}
set -e
in_a tcp 10.77.0.2 7000 20 100
in_a udp 10.77.0.2 7001 20 90
in_a udp 10.77.0.2 7002 3 5000
in_a tcp fd77::2 7003 20 100
in_a udp 10.77.0.2 7004 1 4
port=7005
for offload in "on on" "on off" "off on" "off off"; do
	offload $offload
	in_a tcp 10.77.0.2 $port 1 100000
	in_a burst 10.77.0.2 $((port + 4)) 8 1000
	port=$((port + 1))
done
in_a pages fd77::2 7013 1200
# What the link does not take is sent again, and both may arrive after all.
mkfifo answers
in_a slow 10.77.0.2 7020 3 1000 >answers &
{
	read -r answered
	/usr/bin/ip -n b link set vb down
	sleep 0.7
	/usr/bin/ip -n b link set vb up
	cat
} <answers
wait $!
END
record all -a -e net -- sh all.sh
summarize all

each all 7000 40 4000
grep -q ' protocol="tcp" local_port=7000 remote="10.77.0.1:[0-9]*"$' all.events ||
	fail "no IPv4 address"
each all 7001 40 3600
each all 7002 6 30000
each all 7003 40 4000
grep -q ' net_send/send .* remote="\[fd77:0000:.*:0002\]:7003"$' all.events ||
	fail "no IPv6 address"
each all 7004 2 8
# However they were put together, no segment is larger than a packet, and bursts
# are the datagrams of which they consist.
for port in 7005 7006 7007 7008; do
	judge all $port "twice == 0 && sent == got && sent_bytes == got_bytes &&
		sent_bytes >= 200000 && largest <= 1460 && largest >= 1400"
	each all $((port + 4)) 16 16000
done
# The same datagram has the same number, wherever the bytes are.
judge all 7013 "sent == 4 && got == 4 && twice == 4"
judge all 7020 "twice == 0 && sent_bytes > 6000 && got_bytes >= 6000 && sent >= got"

# --- of those that are followed ------------------------------------------------------

# Somebody else talks all the time. The server gets a message before it accepts.
while :; do in_a udp 10.77.0.2 7001 100 50 || true; done 2>/dev/null &
servers="$servers $!"
cat >both.sh <<'END'
/usr/bin/ip netns exec b sh -c '
	talk serve 10.77.0.2 7030 & a=$!
	talk serve 127.0.0.1 7031 & b=$!
	sleep 0.3
	/usr/bin/ip netns exec a talk tcp 10.77.0.2 7030 10 100
	/usr/bin/ip netns exec a talk tcp 10.77.0.2 7000 10 100
	talk tcp 127.0.0.1 7031 10 100
	talk tcp 10.77.0.2 7000 10 100
	kill $a $b'
END
record ours -e net -- sh both.sh
summarize ours
each ours 7030 20 2000
# Of the one in between nobody else's end is ours.
line=$(grep "^port=7000 " ours.summary)
(eval "$line"; [ "$sent $got $got_bytes" = "10 10 1000" ]) || fail "$line"
[ "$(wc -l <ours.events)" = 60 ] || {
	cat ours.events
	fail "others are recorded, or the loopback device"
}
