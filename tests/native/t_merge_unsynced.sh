#!/bin/bash
# SPDX-License-Identifier: MIT
# Two nodes with real daemons; no NTP daemon runs on beta, and its wall clock is 49 s
# off. Never compared: merge refuses their recordings, and with --force all commands
# report that errors are unknown. Synchronized by tsctraced: events are in the right
# order.
# Both nodes are on this machine: its counter has the true order of all events.
. "$(dirname "$0")/sync.sh"
need mount unshare
fake=$helpers/fakeclock.so

net alpha beta
for i in alpha beta; do
	cat /proc/sys/kernel/random/uuid >"$work/$i/boot"
done
join alpha 10.77.8.1/24 beta 10.77.8.2/24

# Runs a command as on another machine: with a boot id and a wall clock of its own.
# The kernel of alpha states an error of 1.5 ms; that of beta states that the clock is
# unsynchronized.
cat >"$work/machine" <<'END'
#!/bin/bash
mount --bind "$WORK/$1/boot" /proc/sys/kernel/random/boot_id
case $1 in
alpha) export FAKE_MAXERROR_US=1500 ;;
beta) export FAKE_CLOCK_S=49 ;;
esac
LD_PRELOAD=$FAKE TSCTRACE_RUN_DIR=$WORK/$1 exec "${@:2}"
END
chmod +x "$work/machine"
export WORK=$work FAKE=$fake
on() {		# NAME COMMAND...: runs a command on a node
	unshare -m "$work/machine" "$@"
}
start_node() {	# NAME HOST-ID
	in_net "$1" unshare -m "$work/machine" "$1" "$daemon" -v --no-module \
		--run-dir "$work/$1" --config "$work/$1/conf" --host-id "$2" \
		2>>"$work/$1/log"
	printf -v "$1" %s "$pid"
}
# Runs a command when it is to run on the other node, too: both emit at the same time. The limit
# ends it if the other recorder has failed.
cat >"$work/both" <<END
#!/bin/sh
touch $work/ready.\$1
turns=6000
until [ -e $work/ready.alpha ] && [ -e $work/ready.beta ]; do
	[ \$((turns -= 1)) -gt 0 ] || exit 1
	sleep 0.01
done
shift
exec "\$@"
END
chmod +x "$work/both"
# Records both nodes at the same time, to $work/PREFIX.NAME.
record_both() {	# PREFIX OPTION...
	local i recorders=()
	rm -f "$work"/ready.*
	for i in alpha beta; do
		on $i "$ctl" record -q "${@:2}" -o "$work/$1.$i" -- "$work/both" $i "$emit" 300 1 10000 \
			>/dev/null 2>"$work/$i/err" &
		recorders+=($!)
	done
	for i in "${recorders[@]}"; do
		wait "$i" || fail "a recorder: $(cat "$work"/*/err)"
	done
}
lacks() {	# FILE PATTERN
	! grep -q -- "$2" "$1" || fail "$1 has: $(grep -m 3 -- "$2" "$1")"
}

# Compares the order of the events of a merged recording with that of their cycles.
# HOW: right: no two events with disjoint bounds are in the wrong order, and most are in
# the right one; unknown: no event has a bound, and the order is wrong.
check_order() {	# MERGED PREFIX HOW
	local i
	for i in 0 1; do
		"$ctl" dump --json --error --node $i "$work/$1" >"$work/merged.$i"
	done
	for i in alpha beta; do
		"$ctl" dump --json "$work/$2.$i" >"$work/raw.$i"
	done
	python3 - "$work" "$3" <<'END' || fail "$1: the order of events"
import json, sys
work, how = sys.argv[1:]
def read(name):
    return [json.loads(line) for line in open(f"{work}/{name}")]
nodes = []
for merged, raw in (("merged.0", "raw.alpha"), ("merged.1", "raw.beta")):
    merged, raw = read(merged), read(raw)
    assert len(merged) == len(raw) == 301, (len(merged), len(raw))
    nodes.append([(int(r["stamp"]), int(m["time_ns"]), m["error_ns"]) for m, r in zip(merged, raw)])
right = wrong = other = 0
for tick, time, error in nodes[0]:
    for tick2, time2, error2 in nodes[1]:
        if how == "unknown":
            assert error is None and error2 is None
            wrong += (tick < tick2) != (time < time2)
        elif abs(time - time2) <= error + error2:
            other += 1
        elif (tick < tick2) == (time < time2):
            right += 1
        else:
            wrong += 1
print(f"# {how}: {right} pairs are in the right order, {other} may be, {wrong} are wrong")
assert wrong > 100 if how == "unknown" else not wrong and right > 80000
END
}

# --- never compared ------------------------------------------------------------------
echo 'name alpha' >"$work/alpha/conf"
echo 'name beta' >"$work/beta/conf"
start_node alpha a1
start_node beta b1
for i in alpha beta; do wait_for "$i has a clock" logged $i 'clock synchronized'; done
record_both u
for i in alpha beta; do slay $i; done
run 1 merge -o "$work/m" "$work/u.alpha" "$work/u.beta"
says 'u.beta: node .* was never compared with the other nodes'
says 'the distance of its CLOCK_REALTIME from UTC is unknown'
[ ! -e "$work/m" ] || fail "a refused merge leaves a result"
run 1 merge -o "$work/m.otf2" "$work/u.alpha" "$work/u.beta"
[ ! -e "$work/m.otf2" ] || fail "a refused merge leaves an archive"
run_says 0 'never compared' merge --force --json -o "$work/m" "$work/u.alpha" "$work/u.beta"
holds "$work/out" '[n["error_ns"] for n in j["nodes"]] == [None, None]'
check_order m u unknown
run_shows 0 'errors between nodes are unknown: the nodes were never compared' stat "$work/m"
lacks "$work/out" 'times within\|[0-9] *ns$'
run 0 stat --json "$work/m"
holds "$work/out" 'all(j["clock"][k + "error_ns"] is None for k in ("", "node_", "utc_"))' \
	'j["clock"]["status"] == j["clock"]["compared"] == "unknown"'
lacks "$work/m/metadata" '^	precision'
run 0 dump --error "$work/m"
[ "$(grep -c -- '+- *unknown ' "$work/out")" = 602 ] ||
	fail "dump --error: $(head -n 3 "$work/out")"
if has_wing report; then
	run 0 report -o "$work/m.html" "$work/m"
	grep -q 'The nodes were never compared' "$work/m.html" || fail "the report has no warning"
	lacks "$work/m.html" '± [0-9]'
fi
if has_wing formats; then
	run 0 export -q -f json -o "$work/m.json" "$work/m"
	grep -q '"node_error_ns":null' "$work/m.json" || fail "the exported JSON has no unknown error"
	lacks "$work/m.json" '"\(node_\|utc_\)\?error_ns":[0-9]'
	run 0 export -q -f perfetto -o "$work/m.pftrace" "$work/m"
	grep -aq 'error bounds: CLOCK_REALTIME unknown, nodes unknown, UTC unknown' \
		"$work/m.pftrace" || fail "the exported Perfetto trace has no unknown errors"
	run 0 export -q -f ctf -o "$work/m.ctf" "$work/m"
	lacks "$work/m.ctf/metadata" '^	precision\|node_error_ns\|utc_error_ns'
	run 0 export -q -f otf2 -o "$work/m.otf2" "$work/m"
	if command -v otf2-print >/dev/null; then
		otf2-print -I "$work/m.otf2/traces.otf2" >"$work/defs" 2>/dev/null || fail "otf2-print"
		grep -q 'TSCTRACE::LOST_EVENTS' "$work/defs" || fail "no properties: no test"
		lacks "$work/defs" 'TSCTRACE::\(NODE\|UTC\)_ERROR'
	fi
fi

# --- synchronized by tsctraced -------------------------------------------------
printf 'name alpha\nchild beta 10.77.8.2\n' >"$work/alpha/conf"
printf 'name beta\nmaster 10.77.8.1 minpoll -3 maxpoll -2\n' >"$work/beta/conf"
start_node alpha a1
start_node beta b1
wait_for "beta is synchronized" synced beta
record_both s --cluster
run 0 merge --json -o "$work/n" "$work/s.alpha" "$work/s.beta"
check_order n s right
run 0 dump --error "$work/n"
lacks "$work/out" 'unknown'
