#!/bin/bash
# SPDX-License-Identifier: MIT
# Nodes that are sources of each other, on one bridge: a, b and c each poll the master m
# and each other. Of two of them one averages the time of the other, never both. One that
# loses the master gets the time from the others, and no reading is outside its bound. In
# tsct_timesync() each node takes part through the master, and does not wait for the members of
# the others.
#
# Network namespaces of one machine share its counter, so the true difference of all
# nodes is zero; synccheck measures it.
# test-wing: collective
. "$(dirname "$0")/sync.sh"
wired 10.82.0 m a b c
polls='minpoll -4 maxpoll -4'
serve='serve\nallow 10.82.0.0/24\nstratum 10'
printf "name m\n$serve\n" >"$work/m/conf"
sources() {	# NAME ADDRESS...: writes the configuration of a node
	printf "name $1\n$serve\n" >"$work/$1/conf"
	printf "master 10.82.0.%s $polls\n" "${@:2}" >>"$work/$1/conf"
}
sources a 1 3 4
sources b 1 2 4
sources c 1 2 3
start m a1
wait_for "m is synchronized" synced m
start a b2
start b c3
start c d4
for i in a b c; do wait_for "$i is synchronized" synced $i; done

whole() { is "$1" 'abs(sum(s["weight"] for s in p["sources"]) - 1) < 1e-6' True; }
# Succeeds if m has a share in all three, and of each two siblings one in the other.
ordered() {
	local all i
	all=$(for i in a b c; do
		of "$i" '"\n".join("%s %s" % (p["name"], s["name"][-1])
			for s in p["sources"] if s["weight"] > 0)'
	done | sort | tr '\n' ',')
	echo "$all" >"$work/shares"
	python3 - "$all" <<'END'
import sys
pairs = [tuple(x.split()) for x in sys.argv[1].split(",") if x]
number = {"a": "2", "b": "3", "c": "4"}
for node in number:
    if (node, "1") not in pairs:
        sys.exit(1)
    for other in number:
        if node < other and ((node, number[other]) in pairs) == \
                ((other, number[node]) in pairs):
            sys.exit(1)
END
}
wait_for "of each two siblings one averages the other" ordered
echo "# node and source: $(cat "$work/shares")"
for i in a b c; do
	wait_for "the weights of $i add up to 1" whole $i
done
shows_weight() {
	in_dir "$(cut -c1 "$work/shares")" "$ctl" peers >"$work/out" 2>&1 &&
		grep -Eq '^10\.82\.0\.1 +(used|agrees) .* [0-9]+\.[0-9] % ' "$work/out"
}
wait_for "trace-ctl peers shows the master's weight" shows_weight
shows '^SOURCE .* WEIGHT '
sed -n '/^SOURCE/,/^$/s/^/# /p' "$work/out"

# --- five collective calls ---------------------------------------------------------------
waits=()
for i in m a b c; do
	in_dir $i "$helpers/timesync" 60000 5 >"$work/$i.out" & waits+=($!)
done
for i in "${waits[@]}"; do
	wait "$i" || fail "$(grep -h '' "$work"/*.out)"
done

# --- readings, and a node that loses the master ------------------------------------------
"$helpers/synccheck" 3 "$work/m" "$work/a" "$work/b" "$work/c" >"$work/out" ||
	fail "a reading is outside its bound: $(cat "$work/out")"
sed "s|$work/|# all poll the master: |" "$work/out"
watch m a
sources a 3 4
reload a
below() { is a 'min([s["depth"] for s in p["sources"] if s["status"] == "used"], default=0)' 1; }
wait_for "a gets the time by way of b or c" below
wait_for "a is synchronized" synced a
sleep 3
end_by TERM "$watcher" "a lost the master:" "$work/watched"
sed "s|$work/|# a lost the master: |" "$work/watched"
small() { is a 'p["cluster"]["error_ns"] < 1e6' True; }
wait_for "the bound of a is below 1 ms" small

# --- a node with a copy of another one's state ---------------------------------------------
cp "$work/b/node" "$work/c/node"
end_nodes c
start c d4
takes_place() {
	logged m "10.82.0.[34]: has the node id of 10.82.0.[43], whose place it takes"
}
wait_for "m says that b and c have one node id" takes_place
rm "$work/c/node"
end_nodes c
start c d4
# Two nodes that have polled since; the node id that c had first can still be a member, too.
both() {
	is m 'len({n["address"] for n in p["members"] if n["age_s"] < 1 and n["address"] in
		("10.82.0.3", "10.82.0.4")})' 2
}
wait_for "m has b and c as members" both
[ "$(grep -c 'has the node id of' "$work/m/log")" = 1 ] || fail "a warning for each request"
