#!/bin/sh
# SPDX-License-Identifier: MIT
# explain: a read() that waits for the answer of a server in another network namespace, whose
# request is lost, so that TCP sends it again.
# guest-test: timeout=90 needs=btf rt=yes
# guest-test: files=build/tools/trace-ctl,build/tests/guest/talk,ip
# guest-test: files=tests/guest/lib.sh,tests/guest/net.sh
set -eu
. /tests/guest/lib.sh
. /tests/guest/net.sh
cd "$(mktemp -d)"

export TALKED=/dev/null
servers=$($ip netns exec b talk serve 10.77.0.2 7000)

# Programs run in namespace a. A wrong link-layer address loses packets behind the device.
cat >lost.sh <<'END'
set -e
ip=/usr/bin/ip
mkfifo lines answers
talk slow 10.77.0.2 7000 2 1000 <lines >answers &
exec 3>lines 4<answers
again() { awk '/^Tcp: [0-9]/ { print $13 }' /proc/net/snmp; }
echo >&3
read -r answered <&4
before=$(again)
$ip neigh replace 10.77.0.2 dev va nud permanent lladdr 02:00:00:00:00:77
echo >&3
n=0
until [ "$(again)" -gt "$before" ]; do
	n=$((n + 1))
	[ $n -lt 6000 ] || { echo "no retransmission"; exit 1; }
	sleep 0.05
done
$ip neigh delete 10.77.0.2 dev va
read -r answered <&4
wait $!
END
status=0
trace-ctl record -a -e sched -e syscalls -e net -e tcp:tcp_retransmit_skb -o lost \
	-- $ip netns exec a sh lost.sh >out 2>&1 || status=$?
[ $status = 0 ] || { cat out; fail "record gave $status"; }
talk=$(trace-ctl dump --raw lost | awk '$4 == "net_send/send" && /remote="10.77.0.2:7000"/ &&
	$3 != 0 { print $3; exit }')
trace-ctl explain -a --slowest read --tid "$talk" -n 10 lost >explained || fail "explain"
cat explained
# One read() of the client waits for the answer, as the server waits for the request, which is lost.
awk '/% blocked in read of fd [0-9]*, until a message of thread [0-9]* \(talk\)/ { answer = NR }
	answer && NR == answer + 1 && /%   blocked in .*, until a message of / { request = NR }
	request && NR == request + 1 && /%     lost or late: sent again by / { found = 1 }
	END { exit !found }' explained || {
	trace-ctl dump lost | grep -E ' (net_|tcp_|sched_switch)' | grep -v '(sh)' | tail -n 100
	fail "the request is not said to be sent again"
}
