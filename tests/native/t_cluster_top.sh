#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl cluster top: figures of three synchronized nodes against those of each node;
# nodes that cannot be reached or die; the end, which leaves nothing.
# test-wing: cluster
. "$(dirname "$0")/cluster.sh"

top() { run "$1" cluster top "${nodes[@]}" "${@:2}"; }	# STATUS ARGUMENT...
# Python: `top` is the list of lines, and each line's nodes are by name.
check() {	# CODE [FILE]
	python3 - "${2:-$work/out}" "$1" <<'END' || fail "$1: $(cat "${2:-$work/out}" "$work/err")"
import json, sys
top = [{n["name"]: n for n in json.loads(line)["nodes"]} for line in open(sys.argv[1])
       if line.endswith("\n")]
last = top[-1]
exec(sys.argv[2])
END
}
nothing_left() {
	none_runs "$node_parts" || fail "a node's part still runs"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "left on a node: $(ls -A "$TMPDIR")"
}

start_nodes

# --- figures: events so far, and losses, as each node's own channels have them ---------
n=100
for i in alpha beta gamma; do
	in_dir $i "$ctl" channel create kept >"$work/text"
	TSCTRACE_CHANNEL=kept in_dir $i "$emit" $n >"$work/text"
	((n += 100))
done
in_dir beta "$ctl" channel create small --block-size 4096 --blocks 2 >"$work/text"
TSCTRACE_CHANNEL=small in_dir beta "$emit" 5000 >"$work/text"
top 0 --json -n 2
for i in alpha beta gamma; do in_dir $i "$ctl" peers --json >"$work/$i/peers"; done
in_dir beta "$ctl" status --json >"$work/beta/status"
check '
assert len(top) == 2
assert last["alpha"]["events"] == 101 and last["gamma"]["events"] == 301, last
# Each attempt of beta is an event or a loss: 201 in one channel, 5001 in the other.
assert last["beta"]["events"] + last["beta"]["lost"] == 5202 and last["beta"]["lost"] > 100
for n in last.values():
    assert n["state"] == "sampling" and n["why"] is None and n["clock"] == "synchronized", n
    assert n["events_per_s"] == 0 and n["lost_per_s"] == 0, n
    assert n["offset_ns"] is not None and 0 <= n["error_ns"] < 1e7, n
assert last["alpha"]["source"] is None and last["alpha"]["delay_ns"] is None
assert last["beta"]["source"] == "10.77.8.1" and last["gamma"]["source"] == "10.77.9.1"
for line in top:
    assert line["beta"]["delay_ns"] > 0
    for mark, key in ("largest_bound", "error_ns"), ("longest_delay", "delay_ns"):
        most = max(n[key] or 0 for n in line.values())
        assert [n["name"] for n in line.values() if n[mark]] == \
            [n["name"] for n in line.values() if n[key] == most], line
'
nothing_left

top 0 -n 1 -s name
awk 'NR > 2 { print $1 }' "$work/out" | paste -sd, >"$work/text"
[ "$(cat "$work/text")" = alpha,beta,gamma ] || fail "order: $(cat "$work/out")"
shows 'slowest link: '
shows '^[0-9:]*  3 nodes, 0 events/s, '

# --- rates: the counter rises by the rate; a node that dies is named, others go on ------
for i in alpha beta; do
	TSCTRACE_CHANNEL=kept TSCTRACE_RUN_DIR=$work/$i "$emit" 1000000 1 2000 >/dev/null &
done
emits() {	# NODE: more than the 301 events at most that were there
	in_dir "$1" "$ctl" channel list | awk '
		$2 == "kept" && $(NF - 1) > 301 { found = 1 } END { exit !found }'
}
for i in alpha beta; do wait_for "events of $i" emits $i; done
: >"$work/lines"
"$ctl" cluster top "${nodes[@]}" --json >"$work/lines" 2>"$work/err" & track run
lines() { [ "$(wc -l <"$work/lines")" -ge "$1" ]; }
wait_for "four lines" lines 4
kill -KILL "$(cat "$work/beta/pid")"
dead() { grep -q '"name":"beta","state":"failed"' "$work/lines"; }
wait_for "a line says that beta failed" dead
wait_for "three more lines" lines $(($(wc -l <"$work/lines") + 3))
kill -INT "$run"
exits 3 wait "$run"
says 'beta: connection lost: its launcher .*\(137\|signal 9\)'
check '
import statistics
for before, now in zip(top, top[1:]):
    for name in "alpha", "beta":
        if now[name]["state"] != "sampling":
            continue
        more = now[name]["events"] - before[name]["events"]
        # A sample may repeat in a line, or one may be skipped; the program may be stopped.
        assert more >= 0 and now[name]["events_per_s"] >= 0, now[name]
for name in "alpha", "beta":
    rates = [line[name]["events_per_s"] for line in top if line[name]["state"] == "sampling"]
    # The time of one sample is known as well as its answers come soon.
    assert any(rates) and statistics.median(rates) < 550, (name, rates)
assert last["alpha"]["events"] > top[0]["alpha"]["events"] + 100
assert last["gamma"]["events_per_s"] == 0
assert last["beta"]["state"] == "failed" and "connection lost" in last["beta"]["why"]
assert list(last)[0] == "beta"      # what failed comes first
assert last["alpha"]["state"] == last["gamma"]["state"] == "sampling"
' "$work/lines"
wait_for "no node's part runs" none_runs "$node_parts"
nothing_left

# --- nodes that cannot be reached --------------------------------------------------------
bad gamma <<<"echo 'ssh: connect to host gamma: No route to host' >&2; exit 255"
bad beta <<<'exec sleep 100'
top 3 -n 2 --connect-timeout 5
shows '^gamma  *- .*FAILED: no connection: its launcher ended with status 255 (ssh: connect to host gamma: No route'
shows '^[0-9:]*  3 nodes (2 FAILED)'
shows '^beta .*FAILED: no message after 5 s'
bad alpha <<<'echo "{\"type\":\"hello\",\"protocol\":77,\"version\":\"9.9\"}"; sleep 10'
bad beta <<<'echo noise; head -c 100000 /dev/urandom; exit 1'
top 1 -n 1 --connect-timeout 5
shows '^alpha .*FAILED: version 9.9 of trace-ctl has another protocol'
good alpha
good beta
good gamma
nothing_left

# --- on a terminal: q and Ctrl-C end all -----------------------------------------------------
for keys in q '\x03'; do
	TERM=xterm python3 "$here/terminal.py" 120 24 "$work/screen" \
		'slowest link' ' ' 'synchronized' "$keys" \
		-- "$ctl" cluster top "${nodes[@]}" >"$work/err" 2>&1 ||
		fail "on a terminal: status $?: $(tail -n 20 "$work/screen" | cat -v)"
	grep -qF '?1049l' "$work/screen" || fail "the screen is not restored"
	wait_for "no node's part runs" none_runs "$node_parts"
done

# --- usage --------------------------------------------------------------------------------
for i in '-s size' '-d 0' '-n 0' '--json x'; do
	# shellcheck disable=SC2086
	top 2 $i
done
exits 2 "$ctl" cluster top 2>"$work/err"
says 'missing nodes'
