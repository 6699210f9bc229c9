#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of simulated recordings with known true times (world.c): every event is within
# its error bound, events are in true order where bounds do not overlap, and no message
# is received before it was sent; with all fits, in two merges, and at another
# resolution. Global times are also compared with exact fractions (world_exact.py).
# The random seed is the time, or SEED=N.
. "$(dirname "$0")/record.sh"

seed=${SEED:-$(date +%s)}
echo "# seed $seed"

make_world() {	# SEED [KIND]: generates a world in $work/w
	rm -rf "$work/w" "$work"/m*
	mkdir "$work/w"
	"$helpers/world" "$work/w" "$1" auto "${2:-plain}"
}

# Compares times with the truth, and merge's message counts with those of worldcheck.
check_world() {	# MERGED REPORT(json) [steps]
	"$helpers/worldcheck" "$work/$1" "$work/w/truth" "$work/w/a" >"$work/found" ||
		fail "seed $seed, $1: $(cat "$work/found")"
	python3 - "$work/found" "$2" "${3:-}" <<'END' || fail "merge's report differs"
import json, sys
found = dict((l.split()[0], int(l.split()[1])) for l in open(sys.argv[1]))
told = json.load(open(sys.argv[2]))
m = told["messages"]
assert told["events"] == found["events"] > 70000
for name in ("matched", "unmatched_sends", "unmatched_receives"):
    assert m[name] == found[name], (name, m[name], found[name])
assert m["violations_within"] == found["after"], (m, found)
assert m["violations_beyond"] == 0
# Messages can be received before they were sent, within error bounds, if nodes are not
# shifted: with a reference fit, and in recordings that are merged a second time.
if told["nodes"][1]["fit"] not in ("linear", "spline", "itc") and sys.argv[3] != "steps":
    assert m["violations_within"] == 0, m
assert m["violations_before"] > 1000, "there is nothing to correct"
for i in "12":
    assert 100 < found["bound_" + i] < 300000, found
END
}

[ ! -e "$out/lib/reference" ] || reference=yes

# --- worlds, with all fits --------------------------------------------------------
for n in 1 2 3; do
	make_world $((seed + n))
	for fit in auto ${reference:+linear spline itc} hull regression; do
		run 0 merge --json --fit $fit -o "$work/m$fit" "$work/w/a" "$work/w/b" \
			"$work/w/c"
		check_world m$fit "$work/out"
	done
done
[ "$(babeltrace_events "$work/mauto")" = "$(sed -n 's/^events //p' "$work/found")" ] ||
	fail "babeltrace2 finds another number of events"

# Rates of counters in stat: positive, as in peers, for one that is fast. Own and merged times of a
# node's first and last event say the same.
"$ctl" dump --json "$work/mauto" >"$work/merged.json"
for node in b c; do
	run 0 stat --json "$work/w/$node"
	"$ctl" dump --json "$work/w/$node" >"$work/own.json"
	python3 - "$work/out" "$work/own.json" "$work/merged.json" node-$node <<'END' || fail "drift_ppm of $node"
import json, sys
stated, own, merged = (open(f) for f in sys.argv[1:4])
span = lambda lines: int(json.loads(lines[-1])["time_ns"]) - int(json.loads(lines[0])["time_ns"])
drift = json.load(stated)["sync"]["sources"][0]["fit"]["drift_ppm"]
want = span(list(own)) / span([l for l in merged if f'"{sys.argv[4]}"' in l]) * 1e6 - 1e6
assert abs(drift - want) < .1, (drift, want)
END
done

# In this world, a path's delay is asymmetric by more than a message's delay: the fit
# has an error of that size, and messages reveal it.
make_world 13
run 0 merge --json --as-fitted -o "$work/mfit" "$work/w/a" "$work/w/b" "$work/w/c"
check_fitted() {
	holds "$work/out" 'j["messages"]["violations_before"] > 1000' \
		"(j['messages']['violations_within'] > 100) == $1" 'j["nodes"][0]["shift_ns"] == 0' \
		"(max(abs(n['shift_ns']) for n in j['nodes']) > 1000) == $2" \
		'all(abs(n["shift_ns"]) < n["error_ns"] for n in j["nodes"])'
}
check_fitted 1 0
"$helpers/worldcheck" "$work/mfit" "$work/w/truth" "$work/w/a" >"$work/as-fitted" ||
	fail "as fitted: $(cat "$work/as-fitted")"
run 0 merge --json -o "$work/mcause" "$work/w/a" "$work/w/b" "$work/w/c"
check_fitted 0 1
check_world mcause "$work/out"
awk '/^error_[12] / { worst[FILENAME] += $2 }
	END { exit !(worst[ARGV[2]] < worst[ARGV[1]]) }' "$work/as-fitted" "$work/found" ||
	fail "shifts do not reduce the error"
run_shows 0 '"shift_ns": -\?[1-9][0-9][0-9][0-9]' stat --json "$work/mcause"
run 0 merge -o "$work/mtwice" "$work/mcause"
says 'node.s times were shifted [0-9.]* us \(later\|earlier\), because of messages'

# Two recordings of a node are shifted as one.
make_world 13 twins
run 0 merge --json -o "$work/m" "$work/w/a" "$work/w/b" "$work/w/c" "$work/w/d"
"$helpers/worldcheck" ticks "$work/m" >"$work/m.ticks"
python3 - "$work/out" "$work/m.ticks" <<'END' || fail "shifts of the twins differ"
import json, sys
shift = [n["shift_ns"] for n in json.load(open(sys.argv[1]))["nodes"]]
assert abs(shift[1]) > 1000 and shift[1] == shift[3], shift
at = {}
for line in open(sys.argv[2]):
    node, cpu, event, tick = map(int, line.split())
    assert node < 3, "the twins are two nodes"
    at.setdefault((node, event), []).append(tick)
both = [ticks for (node, _), ticks in at.items() if node == 1 and len(ticks) == 2]
assert len(both) > 10000
worst = max(abs(a - b) for a, b in both)
assert worst < 100, worst
END

# A forged message contradicts the samples. The samples were taken only at the
# beginning, so the bound at the end is wide.
make_world 14 forged
run 0 merge --json -o "$work/m" "$work/w/a" "$work/w/b" "$work/w/c"
"$helpers/worldcheck" "$work/m" "$work/w/truth" "$work/w/a" >"$work/found" ||
	fail "forged: $(cat "$work/found")"
holds "$work/out" 'j["messages"]["violations_within"] == 1' \
	'[n["shift_ns"] for n in j["nodes"]] == [0, 0, 0]' '"no shifts were found" in j["notes"][0]'

# The order of inputs and the number of threads do not change times.
make_world $((seed + 4))
run 0 merge -q -j 1 -o "$work/m1" "$work/w/a" "$work/w/b" "$work/w/c"
run 0 merge -q -j 3 -o "$work/m2" "$work/w/c" "$work/w/a" "$work/w/b"
for m in m1 m2; do
	"$helpers/worldcheck" ticks "$work/$m" | cut -d' ' -f2- | sort -k2n >"$work/$m.ticks"
done
cmp -s "$work/m1.ticks" "$work/m2.ticks" || fail "the order of inputs changes times"

# Two merges in sequence: recordings a and b, then the result and c
run 0 merge -q -o "$work/m3" "$work/w/a" "$work/w/b"
run 0 merge --json -o "$work/m4" "$work/m3" "$work/w/c"
check_world m4 "$work/out" steps
run 0 merge --json --resolution 10G -o "$work/m5" "$work/w/a" "$work/w/b" "$work/w/c"
check_world m5 "$work/out"

# worldcheck fails if given the true times of another simulation, or the clock of a node
# that is not the master.
mkdir "$work/other"
"$helpers/world" "$work/other" $((seed + 9))
! "$helpers/worldcheck" "$work/m1" "$work/w/truth" "$work/w/b" >/dev/null ||
	fail "worldcheck accepts another node's clock"
! "$helpers/worldcheck" "$work/m1" "$work/other/truth" "$work/w/a" >/dev/null ||
	fail "worldcheck accepts another world's truth"

# --- exact times -------------------------------------------------------------------
for case in ${reference:+linear spline spline-many itc itc-spline}; do
	rm -rf "$work/e"
	mkdir "$work/e"
	python3 "$here/world_exact.py" make $case |
		"$helpers/world" "$work/e" exact "${case%%-*}"
	run 0 merge -q -o "$work/e/m" "$work/e/a" "$work/e/b"
	"$helpers/worldcheck" ticks "$work/e/m" |
		python3 "$here/world_exact.py" check $case >"$work/out" 2>"$work/err" ||
		fail "$case: times differ from the exact ones"
	sed "s/^/# $case: /" "$work/out"
done
