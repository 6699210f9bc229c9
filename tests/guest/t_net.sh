#!/bin/sh
# SPDX-License-Identifier: MIT
# net_send and net_receive: each packet with data is recorded once when it is sent
# and once when it is received, with the same message number, regardless of
# segmentation and aggregation in between; packets of other processes are not. The
# number of TCP segments and retransmissions depends on the load of the machine and
# is compared with the kernel's counts of each connection.
# guest-test: timeout=90 needs=btf rt=yes
# guest-test: files=build/tools/trace-ctl,build/tests/guest/talk,ip,setpriv
# guest-test: files=tests/guest/lib.sh,tests/guest/net.sh
set -eu
. /tests/guest/lib.sh
. /tests/guest/net.sh
cd "$(mktemp -d)"

serve() {	# ADDRESS PORT...
	address=$1
	shift
	servers="$servers $($ip netns exec b sh -c "for port in $*; do
		talk serve $address \$port || exit 1; done")" || fail "no server at $address"
}

record() {	# DIR ARGUMENT...
	dir=$1 status=0
	shift
	# The exit status of trace-ctl record is 3 if events were lost.
	trace-ctl record -o "$dir" "$@" >"$dir.out" 2>&1 || status=$?
	[ $status = 0 ] || {
		cat "$dir.out"
		tail -n +1 "$dir".talked 2>/dev/null || true
		fail "record $* gave $status"
	}
	trace-ctl dump --raw "$dir" >"$dir.events" || fail "dump of $dir"
}

# Counts the messages and bytes of each server. Input: lines of trace-ctl dump, as in
#   TIME [CPU] TID EVENT message=0x... bytes=N protocol="tcp" local_port=N remote="..."
# Output: one line per port of a server. That is local_port if it is 7000 to 7099, and
# otherwise the port in `remote`.
summary='
function value(field) {
	field = $field
	sub(/^[a-z_]*="?/, "", field)
	sub(/"$/, "", field)
	return field
}
# Times are compared as text, since awk numbers have 53 bits; a longer number is later.
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
	grep -v '^    ' "$1.events" | awk "$summary" | sort | tee "$1.summary"
}
have_closed() {	# DIR PORT ENDS
	[ "$(grep -c "^[a-z]* $2 " "$1.talked")" = "$3" ]
}
# Waits until ENDS ends of the connections to PORT have closed, and prints the sums of
# the lines "WHO PORT SENT GOT BYTES AGAIN" that these ends wrote (see talk.c).
talked() {	# DIR PORT ENDS
	wait_for "$1: $3 ends at port $2 are closed" have_closed "$@"
	awk -v port="$2" '$2 == port {
		sent += $3; got += $4; bytes += $5; again += $6
	}
	END {
		print "is_sent=" sent, "is_got=" got, "is_bytes=" bytes, \
			"again=" again
	}' "$1.talked"
}
# DIR PORT CONDITION [MORE]: fails unless CONDITION holds for the summary of PORT
judge() {
	line=$(grep "^port=$2 " "$1.summary") || fail "$1: nothing at port $2"
	line="$line ${4:-}"
	(eval "$line" && [ $((unsent == 0 && late == 0 && got > 0 && $3)) = 1 ]) ||
		{ grep missed "$1.out" || echo "none missed"
		  grep "[:=]$2\>" "$1.events" | head -n 60; fail "$1: $line: not $3"; }
}
# DIR PORT MESSAGES BYTES: fails unless each of MESSAGES datagrams, of BYTES bytes in
# all, was recorded once when sent and once when received
datagrams() {
	judge "$1" "$2" "twice == 0 && sent == $3 && got == $3 &&
		sent_bytes == $4 && got_bytes == $4"
}
# DIR PORT ENDS BYTES CONDITION: fails unless the summary of the TCP connection to PORT
# agrees with the kernel's counts of its ENDS ends, BYTES bytes were sent in both
# directions together besides retransmissions, and CONDITION holds for the summary
stream() {
	is=$(talked "$1" "$2" "$3") || fail "$is"
	judge "$1" "$2" "twice == 0 && sent == is_sent && got == is_got &&
		sent_bytes == is_bytes && sent_bytes == $4 + again &&
		got <= sent && got_bytes <= sent_bytes && got_bytes >= $4 && $5" "$is"
}
# Checks a TCP stream in which each message must be one segment. The client sends a
# message only after the echo of the previous one, so TCP cannot put two messages in one
# segment.
segments() {	# DIR PORT MESSAGES SIZE
	stream "$1" "$2" 2 $(($3 * $4)) "sent >= $3 && got >= $3 &&
		sent_bytes == sent * $4 && got_bytes == got * $4"
}

# --- the whole system ------------------------------------------------------------

export TALKED=$PWD/all.talked
serve 10.77.0.2 7000 7001 7002 7004 7005 7006 7007 7008 7009 7010 7011 7012 7020
serve fd77::2 7003 7013
# Programs run in namespace a.
cat >all.sh <<'END'
offload() {	# SEND RECEIVE
	talk offload va send "$1"
	talk offload va receive "$2"
	/usr/bin/ip netns exec b sh -c "talk offload vb send $1; talk offload vb receive $2"
}
set -e
talk tcp 10.77.0.2 7000 20 100
talk udp 10.77.0.2 7001 20 90
talk udp 10.77.0.2 7002 3 5000
talk tcp fd77::2 7003 20 100
talk udp 10.77.0.2 7004 1 4
port=7005
for offload in "on on" "on off" "off on" "off off"; do
	offload $offload
	talk tcp 10.77.0.2 $port 1 100000
	talk burst 10.77.0.2 $((port + 4)) 8 1000
	port=$((port + 1))
done
talk pages fd77::2 7013 1200
# One message gets lost and is retransmitted. The acknowledgements of another get
# lost: it is retransmitted, too, and received each time.
mkfifo lines answers
talk slow 10.77.0.2 7020 3 1000 <lines >answers &
exec 3>lines 4<answers
ip=/usr/bin/ip
again() { awk '/^Tcp: [0-9]/ { print $13 }' /proc/net/snmp; }
ask() {
	before=$(again)
	echo >&3
}
until_again() {
	n=0
	until [ "$(again)" -gt "$before" ]; do
		n=$((n + 1))
		[ $n -lt 6000 ] || { echo "no retransmission"; exit 1; }
		sleep 0.05
	done
}
ask
read -r answered <&4
# A wrong link-layer address loses packets behind the device. A link that is down would
# also have the device refuse some, which the kernel counts as sent and, when it sends
# them again, not as retransmitted.
$ip neigh replace 10.77.0.2 dev va nud permanent lladdr 02:00:00:00:00:77
ask
until_again
$ip neigh delete 10.77.0.2 dev va
read -r answered <&4
$ip -n b neigh replace 10.77.0.1 dev vb nud permanent lladdr 02:00:00:00:00:77
ask
until_again
$ip -n b neigh delete 10.77.0.1 dev vb
read -r answered <&4
wait $!
END
record all -a -e net -- $ip netns exec a sh all.sh
summarize all

segments all 7000 40 100
grep -q ' protocol="tcp" local_port=7000 remote="10.77.0.1:[0-9]*"$' all.events ||
	fail "no IPv4 address"
datagrams all 7001 40 3600
datagrams all 7002 6 30000
segments all 7003 40 100
grep -q ' net_send/send .* remote="\[fd77:0000:.*:0002\]:7003"$' all.events ||
	fail "no IPv6 address"
datagrams all 7004 2 8
# With any offload setting, no recorded TCP segment is larger than a packet, and each
# datagram of a burst is recorded as one event.
for port in 7005 7006 7007 7008; do
	stream all $port 2 200000 "largest <= 1460 && largest >= 1400"
	datagrams all $((port + 4)) 16 16000
done
# Two equal datagrams have the same message number, even if one is sent from memory by
# write() and one from a file by sendfile().
judge all 7013 "sent == 4 && got == 4 && twice == 4"
# Port 7020 is not checked by segments(), which expects one TCP segment per message: the
# first answer over a new route may consist of several TCP segments.
stream all 7020 2 6000 "sent_bytes >= 8000 && got_bytes >= 7000 && sent > got"

# --- threads that share a CPU -----------------------------------------------------------

# With PREEMPT_RT a thread may be preempted while its packet is being recorded. What is missing
# then is stated. Datagram 200 begins with its size, and the rest of it is zeros.
for port in 7040 7041; do
	servers="$servers $($ip netns exec b taskset 1 talk serve 10.77.0.2 $port)"
done
record shared -a -e net --json -- $ip netns exec a taskset 1 sh -c '
	talk udp 10.77.0.2 7040 300 200 &
	talk udp 10.77.0.2 7041 300 200
	wait $!'
summarize shared
missed=$(tr -d ' \n' <shared.out | sed -n 's/.*"kernel_misses":\([0-9]*\).*/\1/p')
missing=0
for port in 7040 7041; do
	line=$(grep "^port=$port " shared.summary)
	eval "$line"
	[ "$twice $late" = "0 0" ] || fail "shared: $line"
	missing=$((missing + 600 - sent + 600 - got))
done
[ $missing -le "$missed" ] || fail "shared: $missing events are missing, $missed missed"

# --- the kernel hides its addresses -----------------------------------------------------

begun() {
	kill -0 $recorder 2>/dev/null || fail "$dir: $(cat "$dir.out")"
	[ -e "$dir.of/begun" ]
}
# Datagrams of one size and different contents, whose first bytes are in fragments, have
# numbers that differ and match, or, if HIDDEN is 1, maybe none. The recorder may have no
# right to enter the namespaces, so the messages are not sent by its command.
fragments() {	# DIR HIDDEN COMMAND...
	dir=$1 hidden=$2 status=0
	shift 2
	mkdir "$dir.of"
	chmod 777 "$dir.of"
	mkfifo -m 666 "$dir.end"
	"$@" trace-ctl record -o "$dir.of/out" -a -e net -- \
		sh -c "echo >$dir.of/begun; read -r line <$dir.end" >"$dir.out" 2>&1 &
	recorder=$!
	wait_for "$dir: the recording begins" begun
	$ip netns exec a talk burst 10.77.0.2 7009 20 1000 >"$dir.talk" 2>&1 || fail "$dir: talk"
	echo >"$dir.end"
	wait $recorder || status=$?
	trace-ctl dump --raw "$dir.of/out" >"$dir.events" || fail "$dir: $(cat "$dir.out")"
	awk '/[:=]7009\>/ { n[$4]++; unknown += $5 == "message=0x0" }
	/[:=]7009\>/ && $5 != "message=0x0" { twice += id[$4 $5]++; known[$4]++ }
	/[:=]7009\>/ && $4 ~ /receive/ && $5 != "message=0x0" {
		unsent += !(("net_send/send" $5) in id)
	}
	END {
		print "sent=" n["net_send/send"] + 0, "got=" n["net_receive/receive"] + 0,
			"twice=" twice + 0, "unknown=" unknown + 0, "unsent=" unsent + 0
	}' "$dir.events" >"$dir.counts"
	read -r counts <"$dir.counts"
	evidence="$dir.out $dir.events"
	(eval "$counts" && [ $((sent == 40 && got == 40 && twice == 0 &&
		(hidden ? unknown > 0 : unknown == 0 && unsent == 0))) = 1 ]) ||
		fail "$dir: $counts"
	[ $status = $((hidden ? 3 : 0)) ] || fail "$dir: status $status"
	[ "$(grep -c 'addresses of the kernel are hidden' "$dir.out")" = $hidden ] ||
		fail "$dir: what is said"
	evidence=
}
chmod 755 .
# The sender's device takes fragments, too.
$ip netns exec a talk offload va send on
kptr=$(cat /proc/sys/kernel/kptr_restrict)
echo 1 >/proc/sys/kernel/kptr_restrict
fragments shown 0
# Of a user with these capabilities. The device is root's.
as_user() {	# CAPABILITIES COMMAND...
	caps=-all,+bpf,+perfmon$1
	shift
	TSCTRACE_PROVIDER=embedded /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups \
		--inh-caps "$caps" --ambient-caps "$caps" --bounding-set "$caps" "$@"
}
fragments user 1 as_user ''
fragments user_shown 0 as_user ,+syslog
echo 2 >/proc/sys/kernel/kptr_restrict
fragments nobody_shown 1
echo "$kptr" >/proc/sys/kernel/kptr_restrict
# Numbers that are unknown match nothing.
trace-ctl merge -o merged user.of/out nobody_shown.of/out >merge.out 2>&1 ||
	fail "merge: $(cat merge.out)"
alone() {	# EVENT
	cat user.events nobody_shown.events | grep -c " $1  *message=0x0 .*[:=]7009\>"
}
sends=$(alone net_send/send) receives=$(alone net_receive/receive)
[ "$sends" -gt 0 ] && [ "$receives" -gt 0 ] || fail "$sends, $receives in fragments"
grep -q ": $sends sends and $receives receives were not matched" merge.out ||
	fail "merge: $sends $receives $(cat merge.out)"

# --- selection by fields with stacks, and the rate limit -------------------------------------

cat >few.sh <<'END'
set -e
talk udp 10.77.0.2 7001 20 90
talk udp 10.77.0.2 7002 3 500
talk tcp 10.77.0.2 7000 20 100
END
export TALKED=/dev/null
record few -a -e net --stack --where 'protocol == udp && bytes > 100' \
	--where 'net_receive:remote == 10.77.0.1:*' -- $ip netns exec a sh few.sh
summarize few
# Each of 3 messages is sent, received and answered; answers are received from 10.77.0.2.
[ "$(cat few.summary)" = "port=7002 sent=6 got=3 sent_bytes=3000 got_bytes=1500\
 largest=500 twice=0 unsent=0 late=0" ] || fail "few: $(cat few.summary few.events)"

[ "$(grep -c 'net_send/.* stack=0x[1-9a-f]' few.events)" = 6 ] &&
	! grep -q 'net_receive/.* stack=' few.events || fail "no stacks of net_send"
trace-ctl export -q -f folded -o - --event net_send/send few >folded
[ "$(awk '/do_syscall_64_.*;(ip_send_skb|udp_send_skb)/ { n += $NF }
	END { print n + 0 }' folded)" = 6 ] || fail "functions of stacks: $(cat folded)"
if trace-ctl record -e net --stack=net_receive -o none -- true 2>err; then
	fail "a stack of net_receive"
fi
grep -q -- '--stack=net_receive: packets are received in interrupts' err || fail "$(cat err)"

from=$(cut -d. -f1 /proc/uptime)
record slow -a -e net --json --rate-limit 10/s -- $ip netns exec a sh few.sh
took=$(($(cut -d. -f1 /proc/uptime) - from + 1))
for event in net_send/send net_receive/receive; do
	dropped=$(tr -d ' \n' <slow.out |
		sed -n 's|.*"event":"'$event'","dropped":\([0-9]*\)}.*|\1|p')
	n=$(grep -c " $event " slow.events)
	# Of TCP, answers and messages may be in one segment each or not.
	[ "$n" -ge 1 ] && [ "$n" -le $((10 * took)) ] && [ $((n + ${dropped:-0})) -ge 86 ] ||
		fail "$event under a rate limit: $n + $dropped in $took s"
done

# --- traced processes only ---------------------------------------------------------

# Another process exchanges messages all the time. The server gets a message before
# it accepts the connection.
while :; do $ip netns exec a talk udp 10.77.0.2 7001 100 50 || true; done 2>/dev/null &
servers="$servers $!"
export TALKED=$PWD/ours.talked
cat >both.sh <<'END'
/usr/bin/ip netns exec b sh -c '
	set -e
	a=$(talk serve 10.77.0.2 7030)
	b=$(talk serve 127.0.0.1 7031)
	/usr/bin/ip netns exec a talk tcp 10.77.0.2 7030 10 100
	/usr/bin/ip netns exec a talk tcp 10.77.0.2 7000 10 100
	talk tcp 127.0.0.1 7031 10 100
	TALKED=/dev/null talk tcp 10.77.0.2 7000 10 100
	kill $a $b'
END
record ours -e net -- sh both.sh
summarize ours
segments ours 7030 20 100
# Of connections to port 7000 only the client's end is traced.
line=$(grep "^port=7000 " ours.summary)
is=$(talked ours 7000 1) || fail "$is"
line="$line $is"
(eval "$line"
[ $((sent == is_sent && got == is_got && sent >= 10 && got >= 10 &&
	sent_bytes == 1000 + again && got_bytes == 100 * got)) = 1 ]) ||
	fail "ours: $line"
all=$(awk -F '[= ]' '{ n += $4 + $6 } END { print n }' ours.summary)
[ "$(wc -l <ours.summary) $(wc -l <ours.events)" = "2 $all" ] || {
	cat ours.events
	fail "other processes or the loopback device are recorded"
}
