#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [OPTION...] [ROW...] - compares chronyd and tsctraced at the same task
#
#   --rounds COUNT	rounds per row (3); chronyd and tsctraced take turns
#   --seconds SECONDS	length of each measurement (25)
#   --rates "RATE..."	polls per second, 16 or 1 ("16 1")
#   --seed NUMBER	seed of the first round's delays (1)
#   --request TEXT, --answer TEXT
#			the path of row `custom`: delays of packets to the server and back, as
#			"floor=50,exp=20"; names are the members of struct network_path
#   --keep DIR		keeps the logs of all measurements in the new directory DIR
#
# A server and a client, in two network namespaces, poll at each rate: chronyd and tsctraced
# in turns. Server and client share one counter and one clock, so the true offset is zero,
# and each offset is an error. Row `cable` has a veth pair between the namespaces, all other
# rows relay.c on a CPU of its own: `none` with no delay, `custom`, or a path of
# tests/world/paths.c. Default: cable and all paths but `ideal`, which is cable here. Prints
# "name value unit" lines, medians of the rounds, with the prefix ROW_RATE_, and at the end a
# table.
#
#   *_error_*		errors of the client's time. chronyd -x does not set the system's
#			clock but keeps a time of its own: "System time" of `chronyc
#			tracking`, 20 times a second. tsctraced: the published time, read
#			1000 times a second
#   *_cpu		CPU time that polls add to client and server together, per answered
#			poll, while nobody else asks them and chronyd writes no logs, both of
#			which cost CPU time. A poll of tsctraced is one request or two
#   ours_idle_cpu	CPU time of a third tsctraced, without network, at the same time, per
#			second: its clock's. Twice that is subtracted from ours_cpu, and not
#			from ours_total_cpu. chronyd without polls takes none
#   ours_beyond		readings of the published time outside their bound
#   relay_late_*	time by which packets left the relay too late; part of the figures
#			of both
#   lines with #	legs of tsctraced's packets, by relay log and time stamps: legs.py
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$(realpath -m "${O:-$top/build}")
rounds=3 seconds=25 rates="16 1" seed=1 request='' answer='' keep=''
rows=()
while [ $# -gt 0 ]; do
	case $1 in
	--rounds | --seconds | --rates | --seed | --request | --answer | --keep)
		[ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
		printf -v "${1#--}" %s "$2"
		shift ;;
	-*) echo "run.sh: unknown option $1; see its head" >&2; exit 2 ;;
	*) rows+=("$1") ;;
	esac
	shift
done
for rate in $rates; do
	[[ $rate == @(16|1) ]] || { echo "run.sh: --rates: use 16 and 1" >&2; exit 2; }
done
cpus=$(nproc)
[ "$cpus" -gt 1 ] || { echo "run.sh: needs two CPUs, one for the relay" >&2; exit 1; }
make -C "$top/tests/native" --no-print-directory >&2
. "$top/tests/native/sync.sh"
chronyd=$("$top/tests/native/ntp.sh" chrony)
chronyc=$(dirname "$chronyd")/chronyc
logs=$work/logs
[ -z "$keep" ] || logs=$(realpath "$keep")
mkdir "$logs"

mapfile -t paths < <("$helpers/relay" --list | sed 's/ .*//; /^ideal$/d')
[ ${#rows[@]} -gt 0 ] || rows=(cable "${paths[@]}")
for row in "${rows[@]}"; do
	[[ " cable none custom ${paths[*]} " == *" $row "* ]] ||
		{ echo "run.sh: unknown row $row; rows are: cable none custom ${paths[*]}" >&2
		  exit 2; }
done

printf '# %s\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" \
	"$cpus CPUs, load $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r)"

net server
net client
join server 10.78.1.1/24 client 10.78.1.2/24
# Received packets are handled on CPU 0, with the daemons: not in the relay's write().
tun() {		# NAME ADDRESS PEER
	within "$net_id$1" ip tuntap add dev relay0 mode tun
	within "$net_id$1" ip addr add "$2" peer "$3" dev relay0
	within "$net_id$1" ip link set relay0 up
	within "$net_id$1" unshare -m sh -c 'mount -t sysfs sysfs /sys &&
		echo 1 >/sys/class/net/relay0/queues/rx-0/rps_cpus'
}
tun server 10.78.2.1 10.78.2.2
tun client 10.78.2.2 10.78.2.1

cpu_ns() { cut -d' ' -f1 "/proc/$1/schedstat"; }
both_cpu_ns() { echo $(($(cpu_ns "$server") + $(cpu_ns "$client"))); }
idle_cpu_ns() { [ -z "$idle" ] || cpu_ns "$idle"; }
stop() { kill "$@"; wait "$@" 2>/dev/null || true; }

# Sets: net_ip, the first three bytes of all addresses; pin, a command that runs daemons on
# another CPU than the relay
start_path() {	# DIR ROW SEED
	net_ip=10.78.1 pin=()
	[ "$2" != cable ] || return 0
	local path=()
	case $2 in
	none) ;;
	custom) path=(${request:+--request "$request"} ${answer:+--answer "$answer"}) ;;
	*) path=(--path "$2") ;;
	esac
	net_ip=10.78.2 pin=(taskset -c 0)
	mkfifo "$1/ready"
	"$helpers/relay" "${path[@]}" --seed "$3" --cpu $((cpus - 1)) --log "$1/relay" \
		"/run/netns/${net_id}client" "/run/netns/${net_id}server" >"$1/ready" &
	relay=$!
	pids+=("$relay")
	read -r <"$1/ready" || { echo "run.sh: the relay did not start" >&2; exit 1; }
}
stop_path() {	# ROW
	[ "$1" = cable ] || stop "$relay"
}

# Waits until the daemons have settled; then `count` (to a file) and CPU time are taken at
# the begin and end of a while without other requests to the daemons.
settle() {	# DIR RATE COUNT...
	local first before idle_before seconds=$(($2 == 16 ? 5 : 15))
	sleep $(($2 == 16 ? 5 : 20))
	first=$("${@:3}")
	before=$(both_cpu_ns)
	idle_before=$(idle_cpu_ns)
	sleep "$seconds"
	echo "$(($(both_cpu_ns) - before)) $(($("${@:3}") - first))" \
		"$(($(idle_cpu_ns) - idle_before)) $seconds" >"$1/cpu"
}

chrony_conf() {	# SIDE
	cat <<-END
	pidfile $work/$1.pid
	bindcmdaddress $work/$1.sock
	cmdport 0
	user root
	hwtimestamp *
	END
}
# Number of answers, the last column of ntpdata
chrony_polls() { "$chronyc" -c -h "$work/client.sock" ntpdata | sed 's/.*,//'; }

run_chrony() {	# DIR RATE
	local server client idle='' dir=$1 poll=$(($2 == 16 ? -4 : 0)) i
	{ chrony_conf server; echo "local stratum 5"; echo "allow $net_ip.0/24"; } \
		>"$dir/server"
	{
		chrony_conf client
		echo "server $net_ip.1 minpoll $poll maxpoll $poll xleave"
	} >"$dir/client"
	in_net server "${pin[@]}" "$chronyd" -x -d -f "$dir/server" >"$dir/server.out" 2>&1
	server=$pid
	in_net client "${pin[@]}" "$chronyd" -x -d -f "$dir/client" >"$dir/client.out" 2>&1
	client=$pid
	settle "$dir" "$2" chrony_polls
	for ((i = 0; i < 20 * seconds; i++)); do
		echo tracking
		sleep 0.05
	done | "${pin[@]}" "$chronyc" -c -h "$work/client.sock" >"$dir/tracking"
	stop "$server" "$client"
}

last_sample() {	# DIR
	python3 "$bench/samples.py" "$1/client/control.sock" 1000000000 |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["last"])'
}
# The first exchanges of polls. Column 9: flags, 32: the exchange follows another one
our_polls() {	# DIR
	python3 "$bench/samples.py" "$1/client/control.sock" | python3 -c '
import json, sys
print(sum(not sample[9] & 32 for line in sys.stdin for sample in json.loads(line)["samples"]))'
}

run_ours() {	# DIR RATE
	local server client idle dir=$1 poll=$(($2 == 16 ? -4 : 0)) number
	mkdir "$dir/server" "$dir/client" "$dir/idle"
	echo "child client $net_ip.2" >"$dir/server/conf"
	echo "master $net_ip.1 minpoll $poll maxpoll $poll" >"$dir/client/conf"
	in_net server "${pin[@]}" "$out/daemon/tsctraced" --no-module --host-id 51 \
		--run-dir "$dir/server" --config "$dir/server/conf" 2>"$dir/server/log"
	server=$pid
	in_net client "${pin[@]}" "$out/daemon/tsctraced" --no-module --host-id 52 \
		--run-dir "$dir/client" --config "$dir/client/conf" 2>"$dir/client/log"
	client=$pid
	in_net client "${pin[@]}" "$out/daemon/tsctraced" --no-module --no-network \
		--run-dir "$dir/idle" 2>"$dir/idle/log"
	idle=$pid
	settle "$dir" "$2" our_polls "$dir"
	stop "$idle"
	number=$(last_sample "$dir")
	"${pin[@]}" "$helpers/synccheck" "$seconds" "$dir/server" "$dir/client" \
		>"$dir/estimate" || true
	python3 "$bench/samples.py" "$dir/client/control.sock" "$number" >"$dir/samples"
	stop "$server" "$client"
}

for row in "${rows[@]}"; do
	for rate in $rates; do
		for ((round = 0; round < rounds; round++)); do
			for who in chrony ours; do
				dir=$logs/$row.$rate.$round.$who
				mkdir -m 755 "$dir"
				start_path "$dir" "$row" $((seed + round))
				"run_$who" "$dir" "$rate"
				stop_path "$row"
			done
		done
		python3 "$bench/figures.py" "$logs" "$row.$rate"
	done
done
python3 "$bench/figures.py" "$logs"
