#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of recordings of one boot: a flight recorder's snapshot and a recording of kernel events
# are one node in all verbs and exports, with the CPUs and threads of both and the losses of
# each, in the order of their counter. Recordings of other hosts, and of machines restored from
# one snapshot, are nodes of their own.
# test-wing: kernel
. "$(dirname "$0")/record.sh"
needs_kernel_events

start_daemon
run 0 channel create fly --policy overwrite --blocks 64
run 0 channel create unused
"$ctl" record -q -c unused -e sched_switch -e syscalls -o "$work/kernel" -- \
	env TSCTRACE_CHANNEL=fly "$emit" 1000 2 >/dev/null || [ $? = 3 ] || fail "kernel events"
run 0 snapshot -q -c fly -o "$work/flight"
lose() {	# DIR NR: states in the metadata that NR events of the first channel were lost
	local cpu
	cpu=$(sed -n 's/^	holds_0_\([0-9]*\) = .*/\1/p' "$work/$1/metadata" | head -n 1)
	sed -i "/^	lost_0_$cpu =/d; /^	holds_0_$cpu =/i\\	lost_0_$cpu = \"full=$2\";" "$work/$1/metadata"
	grep -q "lost_0_$cpu = \"full=$2\"" "$work/$1/metadata" || fail "no loss: no test"
}
lose flight 7
for name in flight kernel; do
	"$ctl" stat --json "$work/$name" >"$work/$name.json" || [ $? = 3 ] || fail "stat $name"
	"$ctl" dump --json "$work/$name" >"$work/$name.dump" 2>/dev/null || [ $? = 3 ] ||
		fail "dump $name"
done

run 0 merge -o "$work/m" "$work/flight" "$work/kernel"
says 'm: [0-9]* events, 1 node, [0-9]* CPUs\?, '
says '  node 0: .* (own), error bound [0-9.]* us$'
says '  node 1: .* (own), error bound [0-9.]* us; the same node as 0$'
run 0 merge -q -j 1 -o "$work/m1" "$work/flight" "$work/kernel"
diff -r "$work/m" "$work/m1" || fail "another result with one thread"
"$ctl" stat --json "$work/m" >"$work/m.json" || [ $? = 3 ] || fail "stat"
"$ctl" dump --json "$work/m" >"$work/m.dump" 2>/dev/null || [ $? = 3 ] || fail "dump"
python3 - "$work" <<'END' || fail "stat and dump of one node"
import json, sys
work = sys.argv[1]
flight, kernel, m = (json.load(open(f"{work}/{n}.json")) for n in ("flight", "kernel", "m"))
parts = [flight["nodes"][0], kernel["nodes"][0]]
assert [n["node"] for n in m["nodes"]] == [0, 0], m["nodes"]
for key in ("events", "lost", "command", "requested"):
    assert [n[key] for n in m["nodes"]] == [p[key] for p in parts], key
assert m["nodes"][0]["lost"] >= 7
cpus = [(c["node"], c["cpu"]) for c in m["cpus"]]
assert len(set(cpus)) == len(cpus) and {c[0] for c in cpus} == {0}, cpus
for cpu in m["cpus"]:
    of = [c for p in (flight, kernel) for c in p["cpus"] if c["cpu"] == cpu["cpu"]]
    assert cpu["events"] == sum(c["events"] for c in of), cpu
    assert sum(cpu["lost"].values()) == sum(sum(c["lost"].values()) for c in of), cpu
tids = lambda s: {t["tid"] for t in s["threads"]}
both = tids(flight) & tids(kernel)
assert both and tids(m) == tids(flight) | tids(kernel)
for tid in both:
    of = [t["events"] for s in (flight, kernel) for t in s["threads"] if t["tid"] == tid]
    assert [t["events"] for t in m["threads"] if t["tid"] == tid] == [sum(of)], tid

# Merged events are in the order of the counter, whichever recording they are from.
read = lambda n: [json.loads(line) for line in open(f"{work}/{n}.dump")]
queues = {"fly": iter(read("flight")), "kernel": iter(read("kernel"))}
last = turns = 0
channel = ""
for e in read("m"):
    assert "node" not in e or e["node"] == m["nodes"][0]["name"], e
    stamp = int(next(queues[e["channel"]])["stamp"])
    assert stamp >= last, (stamp, last, e)
    turns += e["channel"] != channel
    last, channel = stamp, e["channel"]
assert turns > 2, turns
assert not any(list(q) for q in queues.values())
END
run 3 dump "$work/m"
! grep -v "^[0-9:.]* \[[0-9]*\] " "$work/out" >"$work/wrong" ||
	fail "a column of nodes: $(head -n 1 "$work/wrong")"
events=$(wc -l <"$work/m.dump")
[ "$("$ctl" dump --node 0 "$work/m" 2>/dev/null | wc -l)" = "$events" ] || fail "--node 0"
[ "$("$ctl" dump --node "$(uname -n)" "$work/m" 2>/dev/null | wc -l)" = "$events" ] || fail "--node NAME"
[ "$("$ctl" dump --node 1 "$work/m" 2>/dev/null | wc -l)" = "$(wc -l <"$work/kernel.dump")" ] ||
	fail "--node 1: another recording"
run_shows 3 '^merged  *2 recordings of 1 node$' stat "$work/m"
# babeltrace2 warns of the lost events.
[ "$(babeltrace2 "$work/m" 2>/dev/null | without_statedump | wc -l)" = "$events" ] ||
	fail "babeltrace2"

# An earlier merge's result, and one more recording
"$ctl" record -q -o "$work/more" -- "$emit" 10 >/dev/null
run_says 0 'mm: .* events, 1 node, ' merge -o "$work/mm" "$work/m" "$work/more"
says '  node 2: .*; the same node as 0$'
[ "$(grep -c '^	node_[12]_same_node = 1;' "$work/mm/metadata")" = 2 ] || fail "metadata"

if has_wing formats; then
	for format in json ctf perfetto csv; do
		"$ctl" export -q -f $format -o "$work/x.$format" "$work/m" 2>/dev/null || [ $? = 3 ] ||
			fail "export -f $format"
	done
	[ "$(grep -o '"process_name","args":{"name":"'"$(uname -n)"'"' "$work/x.json" | wc -l)" = 1 ] ||
		fail "json: not one node"
	babeltrace2 "$work/x.ctf" >"$work/out" 2>/dev/null || fail "babeltrace2 of the exported CTF"
	[ "$(wc -l <"$work/out")" = "$events" ] || fail "ctf"
	! grep -q 'node_id = [1-9]' "$work/out" || fail "ctf: another node"
fi
if has_wing otf2 && command -v otf2-print >/dev/null; then
	"$ctl" export -q -f otf2 -o "$work/x.otf2" "$work/m" 2>/dev/null || [ $? = 3 ] || fail "otf2"
	otf2-print -G "$work/x.otf2/traces.otf2" >"$work/out"
	[ "$(grep -c '^SYSTEM_TREE_NODE .*Class: "node"' "$work/out")" = 1 ] || fail "otf2: not one node"
fi
if has_wing report; then
	"$ctl" report -q -o "$work/page.html" "$work/m" 2>/dev/null || [ $? = 3 ] || fail "report"
	holds "$work/page.html" '"<b>1</b><span>node</span>" in text' \
		'{c[0] for c in j["cpus"]} == {0} and j["nodes"][1]["events"] == 0' \
		'{t[0] for t in j["threads"]} == {0}' \
		'all(j["cpus"].index(j["cpus"][g[0]]) == g[0] for g in j["gaps"])'
fi

# --- nodes of their own -----------------------------------------------------------------
cp -r "$work/kernel" "$work/other"
sed -i 's/hostname = ".*"/hostname = "other"/' "$work/other/metadata"
run_says 0 'o: [0-9]* events, 2 nodes, ' merge -o "$work/o" "$work/flight" "$work/other"
! grep -q 'same node\|same_node' "$work/err" "$work/o/metadata" || fail "another host is the same node"
rm -r "$work/o"
cp -r "$work/kernel" "$work/clone"
python3 - "$work/clone/metadata" <<'END'
import re, sys
text = open(sys.argv[1], encoding="latin1").read()
text, nr = re.subn(r'(clock_real = "base_ns=)(\d+)', lambda m: m[1] + str(int(m[2]) + 10**9), text)
assert nr == 1
open(sys.argv[1], "w", encoding="latin1").write(text)
END
refused ' are of the same boot, but their clocks contradict each other' "$work/flight" "$work/clone"
run_says 0 'o: [0-9]* events, 2 nodes, ' merge --force -o "$work/o" "$work/flight" "$work/clone"
