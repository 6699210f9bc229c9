#!/bin/sh
# SPDX-License-Identifier: MIT
# One of the demo's three nodes; the word demo.node=NAME of the kernel's command
# line names it. alpha, the master, runs a redis server, beta and gamma are its
# clients, and all three record at the same time. Results for the host go to
# /tmp/demo, and from there out of the guest. "stage:" lines are progress.
set -eu
node=$(sed 's/.*demo\.node=\([a-z]*\).*/\1/' /proc/cmdline)
hostname "$node"
mkdir -p /tmp/demo
cd /tmp
stage() { echo "stage: $node: $*"; }
wait_for() {	# WHAT COMMAND...: waits up to a minute until COMMAND succeeds
	what=$1 tries=0
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || {
			echo "$node: timed out waiting for $what"
			cat /tmp/demo/tsctraced.log
			exit 1
		}
		sleep 0.2
	done
}

# --- the network: alpha has a cable to beta and one to gamma ------------------------

while read -r driver; do
	insmod "/lib/drivers/$driver.ko"
done </lib/drivers/order
up() {	# DEVICE ADDRESS
	wait_for "$1" [ -e "/sys/class/net/$1" ]
	ip addr add "$2/24" dev "$1"
	ip link set "$1" up
}
server=
case $node in
alpha)
	up eth0 10.77.1.1
	up eth1 10.77.2.1
	;;
beta) server=10.77.1.1; up eth0 10.77.1.2 ;;
gamma) server=10.77.2.1; up eth0 10.77.2.2 ;;
esac

# --- one timeline -----------------------------------------------------------------

stage "starting the daemon"
mkdir -p /etc/tsctrace /var/lib/tsctrace
cp /tests/keys /etc/tsctrace/keys
chmod 600 /etc/tsctrace/keys
{
	echo "keyfile /etc/tsctrace/keys"
	echo "name $node"
	case $node in
	alpha)
		echo "child beta 10.77.1.2 key 1"
		echo "child gamma 10.77.2.2 key 2"
		;;
	beta) echo "master $server key 1 minpoll -3 maxpoll -1" ;;
	gamma) echo "master $server key 2 minpoll -3 maxpoll -1" ;;
	esac
} >/etc/tsctrace/tsctraced.conf
tsctraced 2>/tmp/demo/tsctraced.log &
daemon=$!
clock_is() { trace-ctl clock --json | grep -q "\"status\": *\"$1\""; }
cluster_is() {
	trace-ctl peers --json | tr -d ' \n' | grep -q "\"cluster\":{[^}]*\"status\":\"$1\""
}
wait_for "a clock" clock_is synchronized

# Alpha waits for a line of text from beta at one TCP port, then from gamma at another
# port. If both used one port, gamma could connect while alpha waits for beta, and would
# take this for success.
port_of() { [ "$1" = beta ] && echo 7778 || echo 7779; }
hear_others() {
	for peer in beta gamma; do
		timeout 60 nc -l -p "$(port_of $peer)" >/dev/null ||
			{ echo "alpha: no line from $peer"
			  cat /tmp/demo/tsctraced.log; exit 1; }
	done
}
tell_alpha() {
	wait_for "alpha to listen" sh -c "echo $node | nc -w 2 $server $(port_of "$node")"
}

if [ "$node" = alpha ]; then
	hear_others
else
	stage "waiting for alpha's time"
	wait_for "alpha's time" cluster_is synchronized
	tell_alpha
fi

# --- all nodes record ----------------------------------------------------------------

stage "recording"
[ "$node" != alpha ] || cp -L "$(command -v redis-check-rdb)" /tmp/redis-server
status=0
trace-ctl record --cluster -e net -e sched -e syscalls -o "/tmp/demo/$node" \
	-- sh "/tests/$node.sh" ${server:+"$server"} >"/tmp/demo/$node.out" \
	2>"/tmp/demo/$node.log" || status=$?
echo "$status" >"/tmp/demo/$node.status"
[ $status = 0 ] || cat "/tmp/demo/$node.log"
trace-ctl peers >"/tmp/demo/peers" 2>&1 || true
trace-ctl clock --json >"/tmp/demo/clock.json" 2>&1 || true

# Alpha, the master, keeps its daemon running until beta and gamma have recorded.
if [ "$node" = alpha ]; then
	hear_others
	sh /tests/single.sh
else
	tell_alpha
fi

stage "stopping the daemon"
kill -TERM $daemon
wait $daemon || echo "tsctraced on $node ended with status $?"
stage "bringing the recordings out"
tar -C /tmp/demo -czf - . | out
exit "$status"
