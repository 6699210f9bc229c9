#!/bin/bash
# SPDX-License-Identifier: MIT
# An MPI program with a rank on each of 8 nodes: network namespaces with daemons of their own,
# and links of different delays, also of different delays there and back. One command records,
# gathers, synchronizes and merges; the launcher of one node is killed half-way.
# test-timeout: 240
set -euo pipefail

[ -e "${O:-$(dirname "$0")/../../build}/lib/libtsctrace-mpi-openmpi.so" ] ||
	{ echo "no libtsctrace-mpi: install libopenmpi-dev"; exit 77; }
# shellcheck source=tests/native/sync.sh
. "$(dirname "$0")/sync.sh"
unset TSCTRACE_CHANNEL TSCTRACE_SOCKET TSCTRACE_PROVIDER
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work/tmp
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 O=$out
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=10.88.0.0/16
export OMPI_MCA_oob_tcp_if_include=10.88.0.0/16 OMPI_MCA_plm_rsh_agent=$work/agent
mkdir "$TMPDIR"
mpicc.openmpi -O1 -w -o "$work/program" "$top/tests/native/mpi_program.c" -pthread
${CC:-cc} -O1 -Wall -D_GNU_SOURCE -o "$work/delay" "$top/tests/native/delay.c"

nodes=(n0 n1 n2 n3 n4 n5 n6 n7)
# Delay to the node, and back, us
there=(0 300 1000 2000 500 4000 1500 3000)
back=(0 300 1000 2000 2500 1000 1500 3000)

cat >"$work/launch" <<END_OF_LAUNCHER
#!/bin/sh
node=\$1
shift
echo \$\$ >$work/\$node/pid
exec nsenter --net=/run/netns/$net_id\$node env TSCTRACE_RUN_DIR=$work/\$node "\$@"
END_OF_LAUNCHER
# Open MPI names the nodes by their addresses, and gives one text for a shell.
cat >"$work/agent" <<END_OF_AGENT
#!/bin/sh
node=n\$(echo \$1 | cut -d. -f3)
shift
exec nsenter --net=/run/netns/$net_id\$node env TSCTRACE_RUN_DIR=$work/\$node sh -c "\$*"
END_OF_AGENT
chmod +x "$work/launch" "$work/agent"

links=()
hosts=10.88.1.1
for i in "${nodes[@]}"; do
	net $i
	mkdir "$work/$i"
	k=${i#n}
	[ $k -gt 0 ] || continue
	links+=("${net_id}n0:to$k:${there[k]}=$net_id$i:r:${back[k]}")
	hosts+=,10.88.$k.2
done
mkfifo "$work/ready"
"$work/delay" "${links[@]}" >"$work/ready" 2>"$work/delay.err" &
pids+=($!)
read -r _ <"$work/ready" || fail "delay: $(cat "$work/delay.err")"
echo 'name n0' >"$work/n0/conf"
within "${net_id}n0" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
for k in 1 2 3 4 5 6 7; do
	within "${net_id}n0" ip addr add 10.88.$k.1 peer 10.88.$k.2 dev to$k
	within "${net_id}n0" ip link set to$k up
	within "${net_id}n$k" ip addr add 10.88.$k.2 peer 10.88.$k.1 dev r
	within "${net_id}n$k" ip link set r up
	within "${net_id}n$k" ip route add default via 10.88.$k.1
	echo "child n$k 10.88.$k.2" >>"$work/n0/conf"
	printf 'name n%s\nmaster 10.88.%s.1 minpoll -3 maxpoll -2\n' $k $k >"$work/n$k/conf"
done
for i in "${nodes[@]}"; do start $i ${i#n}9; done
for i in "${nodes[@]}"; do
	[ $i = n0 ] || wait_for "$i is synchronized" synced $i
done

# Records the program, started here; sets: run
begin() {	# TIMES
	rm -rf "$work/o" "$work/started".*
	"$ctl" cluster record -o "$work/o" --launcher "$work/launch {}" --remote-path "$ctl" \
		--on "$(IFS=,; echo "${nodes[*]}")" --cluster --here -- \
		nsenter --net="/run/netns/${net_id}n0" env TSCTRACE_RUN_DIR="$work/n0" \
		LD_PRELOAD="$out/lib/libtsctrace-mpi-openmpi.so" \
		mpirun.openmpi -n 8 --host "$hosts" --map-by node -x LD_PRELOAD \
		sh -c "touch $work/started.\$OMPI_COMM_WORLD_RANK; exec $work/program ring $1" \
		>"$work/out" 2>"$work/err" & run=$!
	pids+=("$run")
}
ended() {	# STATUS
	local got=0
	wait "$run" || got=$?
	[ "$got" = "$1" ] || fail "exit status $got, not $1: $(cat "$work/err" "$work/out")"
}
# Prints the value of a Python expression; s is the output of stat --json.
stat_of() {	# EXPRESSION of s
	"$ctl" stat --json "$work/o" 2>/dev/null >"$work/stat" || true
	python3 -c 'import json, sys
s = json.load(open(sys.argv[2]))
print(eval(sys.argv[1]))' "$1" "$work/stat"
}

begin 20
ended 0
[ "$(stat_of 'len(s["nodes"])')" = 8 ] || fail "nodes: $(stat_of 's["nodes"]')"
# All nodes have one counter, and one CLOCK_REALTIME: so their own clocks show the true
# latencies, but for the error that each clock states. That of cluster time, of which the
# delays hide half of the difference between there and back, must lie within its bound.
python3 - "$work/stat" "${there[*]}" "${back[*]}" <<'END_OF_CHECK' || fail "cluster time"
import json, sys
stat = json.load(open(sys.argv[1]))
there, back = ([int(us) for us in text.split()] for text in sys.argv[2:])
m, nodes = stat["messages"], {n["name"]: n for n in stat["nodes"]}
assert m["sends"] == m["receives"] == m["matched"] == 160, m
assert m["violations_within"] == m["violations_beyond"] == 0, m
for k in range(8):
    hidden = abs(there[k] - back[k]) / 2 * 1e3
    assert hidden <= nodes[f"n{k}"]["error_ns"] <= hidden + 5e6, (k, hidden, nodes[f"n{k}"])
for p in m["pairs"]:
    a, b = p["from"], p["to"]
    names = [stat["nodes"][i]["name"] for i in (a, b)]
    allowed = sum(nodes[n]["error_ns"] for n in names) + 200e3
    error = p["least_ns"] - p["least_own_ns"]
    print(f"{names[0]} to {names[1]}: latency {p['least_ns'] / 1e3:.0f} us, "
          f"error {error / 1e3:.0f} us, allowed {allowed / 1e3:.0f} us")
    assert p["matched"] == 20 and abs(error) <= allowed, p
END_OF_CHECK
"$ctl" report -q -o "$work/page.html" "$work/o"
for i in 0 7; do
	grep -q "rank $i" "$work/page.html" || fail "no rank $i in the report"
done

# The connection to one node's recorder breaks half-way: the program runs on, and the others
# are merged, with all messages between them.
begin 300
started() { [ "$(find "$work" -maxdepth 1 -name 'started.*' | wc -l)" = 8 ]; }
wait_for "all ranks run" started
# Each time around, rank 5 records 6 events.
half() {
	in_dir n5 "$ctl" channel list --json >"$work/list" 2>/dev/null && python3 -c '
import json, sys
sys.exit(not any(c["events"] > 600 for c in json.load(open(sys.argv[1]))))' "$work/list"
}
wait_for "rank 5 has gone around" half
kill -KILL "$(cat "$work/n5/pid")"
ended 3
gap=$(stat_of 's["missing_nodes"]')
[[ $gap == 'n5: MISSING: connection lost: '*'the start; its recording may be there, in '* ]] ||
	fail "missing nodes: $gap"
[ "$(stat_of 'sorted(n["name"] for n in s["nodes"])')" = "['n0', 'n1', 'n2', 'n3', 'n4', 'n6', 'n7']" ] ||
	fail "nodes: $(stat_of 's["nodes"]')"
[ "$(stat_of '[s["messages"][i] for i in ("sends", "receives", "matched", "violations_beyond")]')" = \
	"[2100, 2100, 1800, 0]" ] || fail "messages: $(stat_of 's["messages"]')"
# The lost node's recorder ended its recording, whole; it completes the result.
left=${gap##*may be there, in }
"$ctl" merge -q -o "$work/all" "$work/o" "$left" 2>"$work/err" || [ $? = 3 ] ||
	fail "merge with the recording that was left: $(cat "$work/err")"
rm -rf "$work/o"
mv "$work/all" "$work/o"
matched=$(stat_of 's["messages"]["matched"]')
[ "$matched" -gt 1900 ] && [ "$matched" -lt 2400 ] || fail "$matched messages with those of n5"
echo "8 nodes, 7 links"
