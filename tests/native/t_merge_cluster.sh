#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of recordings of synchronized nodes: a master, its child, and a child of that.
# All run on this machine and share its counter: an event's merged time must be the
# master's time of the event's cycles, within the node's error bound.
. "$(dirname "$0")/sync.sh"

net alpha beta gamma
join alpha 10.77.6.1/24 beta 10.77.6.2/24
join beta 10.77.7.2/24 gamma 10.77.7.3/24
printf 'name alpha\nchild beta 10.77.6.2\n' >"$work/alpha/conf"
printf 'name beta\nmaster 10.77.6.1 minpoll -3 maxpoll -2\nchild gamma 10.77.7.3\n' \
	>"$work/beta/conf"
printf 'name gamma\nmaster 10.77.7.2 minpoll -3 maxpoll -2\n' >"$work/gamma/conf"
start alpha a1
start beta b1
start gamma c1
wait_for "alpha has a clock" logged alpha 'clock synchronized'
for i in beta gamma; do wait_for "$i is synchronized" synced $i; done

for i in alpha beta gamma; do
	# Each node has its own run directory, and so its own channels.
	TSCTRACE_RUN_DIR=$work/$i "$ctl" record -q -o "$work/r.$i" -- \
		sh -c "sleep 1; $emit 300; sleep 1" >/dev/null 2>"$work/$i/err" &
	recorders+=($!)
done
for i in "${recorders[@]}"; do wait "$i" || fail "a recorder: $(cat "$work"/*/err)"; done

merge() {	# NAME ARGUMENT...: merges to $work/NAME, prints JSON to $work/NAME.json
	"$ctl" merge --json -o "$work/$1" "${@:2}" >"$work/$1.json" 2>"$work/err" ||
		fail "merge $*: $(cat "$work/err")"
}
# Checks merged recording NAME: the key "how" of each node, the kind of its mapping,
# matches the node's pattern HOW. All nodes share one TSC: the clock params of alpha,
# the master, give the true time of each event. The merged time is within the node's
# error bound of the true time.
check() {	# NAME HOW...
	"$ctl" dump --stamps "$work/$1" >/dev/null || fail "dump of $1"
	python3 - "$ctl" "$work" "$1" "${@:2}" <<'END' || fail "$1: unexpected result"
import json, re, subprocess, sys
ctl, work, name, *how = sys.argv[1:]
j = json.load(open(f"{work}/{name}.json"))
assert j["time"] == "cluster" and j["complete"], j
assert all(re.fullmatch(h, n["how"]) for n, h in zip(j["nodes"], how)), j["nodes"]
# A node with a fit has the fit's residual in the JSON and in the metadata.
for n, node in enumerate(j["nodes"]):
    assert (node["residual_ns"] is None) == (not node["fit"]), node
    if node["fit"]:
        key = f"\tnode_{n}_correction_residual = \"ps={round(node['residual_ns'] * 1e3)}\";\n"
        assert 0 < node["residual_ns"] < 1e6 and key in open(f"{work}/{name}/metadata").read(), key
stat = json.loads(subprocess.run([ctl, "stat", "--json", f"{work}/{name}"],
                                 check=True, stdout=subprocess.PIPE).stdout)
assert [n["residual_ns"] for n in stat["nodes"]] == [n["residual_ns"] for n in j["nodes"]], stat["nodes"]
def env(dir, key):
    return re.search(rf'^\t{key} = "(.*)";$', open(f"{dir}/metadata").read(), re.M)[1]
def items(text):
    return {k: int(v) for k, v in re.findall(r"(\w+)=(-?\d+)", text)}
def ticks(dir):
    text = subprocess.run(["babeltrace2", "--clock-cycles", dir], check=True,
                          stdout=subprocess.PIPE).stdout.decode(errors="replace")
    rows = {}
    for line in text.splitlines():
        if " sync_sample:" in line:
            continue
        tick = int(re.match(r"\[0*(\d+)\]", line)[1])
        node = int((re.search(r"node_id = (\d+)", line) or [0, 0])[1])
        cpu = int(re.search(r"cpu_id = (\d+)", line)[1])
        rows.setdefault(node, []).append((cpu, tick))
    return rows
real = items(env(f"{work}/r.alpha", "clock_real"))
merged = ticks(f"{work}/{name}")
worst = 0
for n, node in enumerate(j["nodes"]):
    local = ticks(f"{work}/r.{node['name']}")[0] if node["name"] != "" else None
    # Sorts events by CPU, then by tick.
    a = sorted(local, key=lambda x: x)
    b = sorted(merged[n], key=lambda x: x)
    assert len(a) == len(b) > 300, (len(a), len(b))
    for (cpu, tick), (cpu2, got) in zip(a, b):
        assert cpu == cpu2
        true = real["base_ns"] + ((tick - real["base_tsc"]) * real["mult"] >> 56)
        assert abs(got - true) <= node["error_ns"], (n, tick, got - true, node)
        worst = max(worst, abs(got - true))
    assert node["error_ns"] < 1e6, node
print(f"# {name}: off by {worst} ns at most; bounds",
      *[n["error_ns"] for n in j["nodes"]])
END
}
merge abc "$work/r.alpha" "$work/r.beta" "$work/r.gamma"
# merge maps gamma by beta's recording or by the clock params that beta sent; either
# may have the smaller bound.
check abc master child 'via|told'
merge ac "$work/r.alpha" "$work/r.gamma"
check ac master told
merge ab "$work/r.alpha" "$work/r.beta"
merge again "$work/ab" "$work/r.gamma"
check again merged merged told
babeltrace2 "$work/again" >"$work/text" 2>"$work/err" || fail "babeltrace2"
[ ! -s "$work/err" ] || fail "babeltrace2: $(cat "$work/err")"
