#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [ROUNDS [SECONDS]] - compares chronyd and tsctraced at the same task
#
# A server and a client of each, in two connected network namespaces, poll 16 times a
# second, in turns: ROUNDS (3) of SECONDS (25) each; chronyd runs as long again for its errors.
# Both sides share one counter and one clock, so the true offset is zero, and each offset
# is an error. Prints "name value unit" lines; medians of the rounds.
#
#   *_sample_*		errors of single exchanges: from chronyd's log of measurements,
#			and from tsctraced's list of exchanges
#   *_error_*		errors of the client's time. chronyd -x does not set the system's
#			clock but keeps a time of its own: "System time" of `chronyc
#			tracking`, 20 times a second. tsctraced: the published time, read
#			1000 times a second
#   *_cpu		CPU time of client and server together, per poll: tsctraced sends
#			two requests per poll, one right after the other
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$(realpath -m "${O:-$top/build}")
rounds=${1:-3} seconds=${2:-25}
. "$top/tests/native/nets.sh"
chronyd=$("$top/tests/native/ntp.sh" chrony)
chronyc=$(dirname "$chronyd")/chronyc
work=$(mktemp -d)
trap 'nets_down; rm -rf "$work"' EXIT
${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -I"$top/kmod/uapi" \
	-I"$top/lib/include" -I"$top" -o "$work/synccheck" \
	"$top/tests/native/synccheck.c" "$out"/lib/libtsct{export,sync,provider,race}.a -lm

printf '# %s\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" \
	"$(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r)"

net server
net client
join server 10.78.1.1/24 client 10.78.1.2/24

cpu_ns() { cut -d' ' -f1 "/proc/$1/schedstat"; }
stop() { kill "$@"; wait "$@" 2>/dev/null || true; }

chrony_conf() {	# SIDE
	cat <<-END
	pidfile $work/$1.pid
	bindcmdaddress $work/$1.sock
	cmdport 0
	user root
	hwtimestamp *
	END
}

run_chrony() {	# ROUND
	local server client dir=$work/chrony.$1 before i
	mkdir -m 755 "$dir"
	{ chrony_conf server; echo "local stratum 5"; echo "allow 10.78.1.0/24"; } \
		>"$dir/server"
	{
		chrony_conf client
		echo "server 10.78.1.1 minpoll -4 maxpoll -4 xleave"
		echo "logdir $dir"
		echo "log rawmeasurements measurements"
	} >"$dir/client"
	in_net server "$chronyd" -x -d -f "$dir/server" >"$dir/server.out" 2>&1
	server=$pid
	in_net client "$chronyd" -x -d -f "$dir/client" >"$dir/client.out" 2>&1
	client=$pid
	sleep 5
	before=$(($(cpu_ns "$server") + $(cpu_ns "$client")))
	wc -l <"$dir/measurements.log" >"$dir/from"
	sleep "$seconds"
	echo $(($(cpu_ns "$server") + $(cpu_ns "$client") - before)) >"$dir/cpu"
	wc -l <"$dir/measurements.log" >"$dir/to"
	# chronyd's CPU time is measured above, before the requests of `chronyc
	# tracking`, which cost chronyd CPU time.
	for ((i = 0; i < 20 * seconds; i++)); do
		echo tracking
		sleep 0.05
	done | "$chronyc" -c -h "$work/client.sock" >"$dir/tracking"
	stop "$server" "$client"
}

run_ours() {	# ROUND
	local server client dir=$work/ours.$1 before
	mkdir -p "$dir/server" "$dir/client"
	echo "child client 10.78.1.2" >"$dir/server/conf"
	echo "master 10.78.1.1 minpoll -4 maxpoll -4" >"$dir/client/conf"
	in_net server "$out/daemon/tsctraced" --no-module --host-id 51 \
		--run-dir "$dir/server" --config "$dir/server/conf" 2>"$dir/server/log"
	server=$pid
	in_net client "$out/daemon/tsctraced" --no-module --host-id 52 \
		--run-dir "$dir/client" --config "$dir/client/conf" 2>"$dir/client/log"
	client=$pid
	sleep 5
	before=$(($(cpu_ns "$server") + $(cpu_ns "$client")))
	"$work/synccheck" "$seconds" "$dir/server" "$dir/client" >"$dir/estimate" ||
		cat "$dir/estimate" >&2
	echo $(($(cpu_ns "$server") + $(cpu_ns "$client") - before)) >"$dir/cpu"
	python3 - "$dir/client/control.sock" >"$dir/exchanges" <<-'END'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[1])
	s.sendall(b"exchanges\n")
	while more := s.recv(65536):
	    sys.stdout.write(more.decode())
	END
	stop "$server" "$client"
}

for ((round = 0; round < rounds; round++)); do
	run_chrony "$round"
	run_ours "$round"
done
python3 "$here/figures.py" "$work" "$rounds" "$seconds"
