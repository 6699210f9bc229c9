#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl cluster record: three nodes with daemons of their own, in network namespaces,
# of which launchers start processes; and nodes, launchers and runs that fail.
# test-wing: cluster
. "$(dirname "$0")/cluster.sh"
need mount umount

cluster() {	# STATUS ARGUMENT...
	rm -rf "$work/o"
	run "$1" cluster record -o "$work/o" "${nodes[@]}" "${@:2}"
}
# No run leaves anything on a node, nor a part of a result.
nothing_left() {
	[ -z "$(ls -A "$TMPDIR")" ] || fail "left on a node: $(ls -A "$TMPDIR")"
	[ ! -e "$work/o.nodes" ] || fail "left: $(ls -AR "$work/o.nodes")"
}
refused() {	# PATTERN ARGUMENT...
	cluster 1 "${@:2}" -- touch "$work/touched"
	says "$1"
	[ ! -e "$work/touched" ] || fail "the command was started"
	[ ! -e "$work/o" ] || fail "there is a result"
	nothing_left
}

start_nodes

# --- three nodes, whole ---------------------------------------------------------------
cluster 0 --cluster -- "$emit" 500
says '3 of 3 nodes'
for i in alpha beta gamma; do
	shows "^$i: emitted 501 refused 0"
done
[ "$(stat_of "$work/o" 's["events"]')" = 1503 ] || fail "not all events are in the result"
[ "$(stat_of "$work/o" '" ".join(sorted(n["name"] for n in s["nodes"]))')" = "alpha beta gamma" ] ||
	fail "nodes: $(stat_of "$work/o" 's["nodes"]')"
"$ctl" dump "$work/o" >"$work/text" || fail "dump"
[ "$(grep -c ' tick' "$work/text")" = 1500 ] || fail "dump shows other events"
nothing_left

# Commands that end at different times: all nodes record until the last one has ended.
cluster 0 --json --keep --cluster -- sh -c "[ \"\$TSCTRACE_RUN_DIR\" = $work/beta ] || exec $emit 1; sleep 1; exit 7"
python3 - "$work/out" <<'END_OF_CHECK' || fail "summary: $(cat "$work/out")"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["merged"] and not s["parts_missing"] and s["seconds"] >= 1, s
nodes = {n["name"]: n for n in s["nodes"]}
assert {k: n["command"]["exit_status"] for k, n in nodes.items()} == \
    {"alpha": 0, "beta": 7, "gamma": 0}
for n in nodes.values():
    assert n["state"] == "done" and n["record"]["seconds"] >= 1, n
    assert n["record"]["sync"]["start"] == "done", n
for name in "beta", "gamma":
    assert 0 < nodes[name]["error_ns"] < 1e6, nodes[name]
END_OF_CHECK
for i in alpha beta gamma; do
	[ -e "$work/o.nodes/$i/metadata" ] || fail "the recording of $i was not kept"
done

# --- two runs into one directory ---
rm -rf "$work/o"
cluster 1 -- true
says 'o.nodes: another run writes there, or an earlier run left it'
rm -rf "$work/o.nodes"
mkdir "$work/shared"
cluster 0 --shared "$work/shared" -- "$emit" 10
[ "$(stat_of "$work/o" 's["events"]')" = 33 ] || fail "events by way of a shared directory"
[ -e "$work/shared/beta/metadata" ] || fail "no recording in the shared directory"
refused 'shared/beta exists: another run writes there' --shared "$work/shared"
for i in alpha gamma; do says "shared/$i exists"; done

# --- the command runs here, once ---
cluster 0 --here -- sh -c "for i in alpha beta gamma; do TSCTRACE_RUN_DIR=$work/\$i $emit 20; done"
[ "$(stat_of "$work/o" 's["events"]')" = 63 ] || fail "events of a command that runs here"
nothing_left

# --- launchers ---
bad gamma <<<"echo 'ssh: connect to host gamma: No route to host' >&2; exit 255"
refused 'gamma: no connection: its launcher ended with status 255 (ssh: connect to host gamma: No route to host)'
# With the nodes that are left
cluster 3 --force -- "$emit" 10
says 'gamma: NOT RECORDED: no connection'
[ "$(stat_of "$work/o" 's["events"]')" = 22 ] || fail "events of the other nodes"
nothing_left

bad gamma <<<'echo "Welcome to gamma"; exec sleep 100'
bad beta <<<'sleep 100 | "$@"'
refused 'gamma: no message after 5 s: .*standard input and output' --connect-timeout 5
says 'gamma: its launcher printed: Welcome to gamma'
says 'beta: the node does not answer; .*standard input'
good beta

bad gamma <<END_OF_BANNER
printf 'Welcome to gamma\n{ not a message }\nLast login: '
exec nsenter --net=/run/netns/${net_id}gamma env TSCTRACE_RUN_DIR=$work/gamma "\$@"
END_OF_BANNER
cluster 0 -- "$emit" 10
[ "$(stat_of "$work/o" 's["events"]')" = 33 ] || fail "events with a banner"

# --- versions ---
bad beta <<<'echo "{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.0.9\"}"
while read -r line; do case $line in
	*check*) echo "{\"type\":\"checked\",\"boot\":\"x\",\"dir\":\"/\",\"free\":1000000000}" ;;
esac; done'
bad gamma <<<'echo "{\"type\":\"hello\",\"protocol\":77,\"version\":\"9.9\"}"; sleep 10'
refused 'beta: version 0.0.9 of trace-ctl, not'
says 'gamma: version 9.9 of trace-ctl has another protocol'
bad gamma <<<'echo "trace-ctl: cluster: no such command" >&2; exit 2'
refused 'gamma: no connection: .*status 2 (trace-ctl: cluster: no such command)'
good beta
good gamma

# --- space, clocks, options ---
mkdir "$work/small"
mount -t tmpfs -o size=1m tmpfs "$work/small" || fail "no tmpfs"
refused 'alpha: .*small.*: only 1.0 MB are free' --node-dir "$work/small"
says 'gamma: .*only 1.0 MB are free'
umount "$work/small"
refused 'beta: /nowhere: No such file or directory; create it' --node-dir /nowhere
refused "trace-ctl record: .*--no-such-option" --no-such-option
cluster 2 -p 1 -- true
says '.-p. *does not apply\|-p does not apply'

# --- hostile nodes: the others go on, and nothing is written where it should not be ---
bad gamma <<<"exec python3 $here/hostile_node.py $("$ctl" --version) \$(cat $work/gamma/case)"
for i in noise path bomb damage twice dies; do
	echo $i >"$work/gamma/case"
	cluster 3 -- "$emit" 10
	says 'gamma: MISSING: '
	[ "$(stat_of "$work/o" 's["events"]')" = 22 ] || fail "events of the others, beside a hostile node: $i"
	[ ! -e "$work/touched" ] || fail "a file outside of the directory: $i"
	nothing_left
done
# It sends all that it announced, but that is no recording: the merge names it.
echo no_recording >"$work/gamma/case"
cluster 1 -- "$emit" 10
says 'o.nodes/gamma'
for i in alpha beta gamma; do
	[ -e "$work/o.nodes/$i/metadata" ] || fail "$i was not kept after the merge failed"
done
rm -rf "$work/o.nodes"
good gamma
printf '#!/bin/sh\nhead -c 20000000 /dev/urandom\n' >"$work/gamma/launch"
chmod +x "$work/gamma/launch"
refused 'gamma: '
good gamma

# --- a node that dies half-way ---
# Begins a run in the background, in which commands emit until the test ends them; sets: run
begin() {
	rm -rf "$work/o" "$work/started"* "$work/finish"
	"$ctl" cluster record -o "$work/o" "${nodes[@]}" "$@" -- sh -c \
		"$emit 9; touch $work/started.\$\$; until [ -e $work/finish ]; do $emit 9 1 10000; done" \
		>"$work/out" 2>"$work/err" & track run
	wait_for "all commands run" started
}
started() {
	! has_ended "$run" || fail "the run ended: $(cat "$work/err")"
	[ "$(find "$work" -maxdepth 1 -name 'started.*' | wc -l)" = 3 ]
}
# Kills the launcher of beta. When its recorder has ended, lets the other commands end.
lose_beta() {
	kill -KILL "$(cat "$work/beta/pid")"
	wait_for "no command of beta runs" two_run "$commands"
	wait_for "beta's recorder has ended" two_run "record --control="
	touch "$work/finish"
	ended 3
}
two_run() { [ "$(processes "$1" | wc -l)" = 2 ]; }	# PATTERN
emitted_by_others() { awk '/^(alpha|gamma): emitted/ { n += $3 } END { print n }' "$work/out"; }
commands="^sh -c $emit 9; touch"
ended() { exits "$1" wait "$run"; }	# STATUS
begin
lose_beta
says 'beta: MISSING: connection lost: its launcher .*\(137\|signal 9\).*; its last message came [0-9.]* s after the start; its recording may be there, in'
[ "$(stat_of "$work/o" 's["events"]')" = "$(emitted_by_others)" ] || fail "events of the nodes that are left"
# The result itself names the node, to any reader, and so does what is merged of it.
gap=$(stat_of "$work/o" 's["missing_nodes"]')
[[ $gap == 'beta: MISSING: connection lost: '* ]] || fail "missing nodes: $gap"
[ "$(stat_of "$work/o" 's["complete"]')" = False ] || fail "complete, although beta is missing"
"$ctl" stat "$work/o" >"$work/text" || [ $? = 3 ] || fail "stat of the result"
grep -q '^MISSING *beta: MISSING: connection lost' "$work/text" || fail "stat names no missing node"
"$ctl" report -q -o "$work/page.html" "$work/o" || [ $? = 3 ] || fail "report of the result"
grep -q 'no recording of these nodes of the run: beta: MISSING: connection' "$work/page.html" || fail "no warning in the report"
"$ctl" merge -q --salvage -o "$work/again" "$work/o" || [ $? = 3 ] || fail "merge of the result"
[ "$(stat_of "$work/again" 's["missing_nodes"]')" = "$gap" ] || fail "a second merge forgot the gap"
rm -rf "$work/again"
# Its recorder ended the recording, and left it.
left=$(ls -d "$TMPDIR"/tsctrace-beta-*)
is_complete() { [ "$(stat_of "$left" 's["complete"]')" = True ]; }
wait_for "the lost node's recorder has ended" is_complete
# Merged with that, the result has it, and does not name the node any more.
"$ctl" merge -q -o "$work/again" "$work/o" "$left" 2>"$work/err" ||
	fail "merge with the lost node's recording: $?"
[ "$(stat_of "$work/again" '[s["missing_nodes"], s["complete"]]')" = "[None, True]" ] ||
	fail "still missing: $(stat_of "$work/again" 's["missing_nodes"]')"
rm -rf "$left" "$work/again"
nothing_left

# With a shared directory, what the node left is in the result.
rm -rf "$work/shared"/*
begin --shared "$work/shared"
lose_beta
events=$(stat_of "$work/o" 's["events"]')
others=$(emitted_by_others)
[ "$events" -ge $((others + 10)) ] || fail "$events events with those of the lost node"

# Without any node, the command that runs here is not left behind, and not ended either.
rm -rf "$work/o" "$work/finish"
"$ctl" cluster record -o "$work/o" --launcher "$work/launch {}" --remote-path "$ctl" \
	--on alpha,beta,gamma --here -- sh -c "touch $work/begun
		until [ -e $work/finish ]; do sleep 0.1; done; touch $work/finished" \
	>"$work/out" 2>"$work/err" & track run
wait_for "the command runs here" test -e "$work/begun"
for i in alpha beta gamma; do kill -KILL "$(cat "$work/$i/pid")"; done
until_in "$work/err" 'sh still runs, but is not recorded'
touch "$work/finish"
ended 1
[ -e "$work/finished" ] || fail "the command was left behind, or ended"
wait_for "recorders have ended" none_runs "$recorders"
rm -rf "${TMPDIR:?}"/* "$work/o.nodes"

# --- Ctrl-C ---
begin
kill -INT "$run"
ended 0
[ "$(stat_of "$work/o" 'len(s["nodes"])')" = 3 ] || fail "nodes after an interrupt"
events=$(stat_of "$work/o" 's["events"]')
[ "$events" -ge 30 ] || fail "$events events until an interrupt"
says 'beta: .*command ended by signal 2'
nothing_left

# --- on a terminal: a row for each node; Ctrl-C there ends the run in order ---
rm -rf "$work/o"
TERM=xterm python3 "$here/terminal.py" 100 24 "$work/screen" \
	'/alpha .* lost, offset.*\n' '' '/beta .* lost, offset.*\n' '' \
	'/gamma .* lost, offset.*\n' '\x03' \
	-- "$ctl" cluster record -o "$work/o" "${nodes[@]}" -- "$emit" 1000000 1 10000 >"$work/err" 2>&1 ||
	fail "on a terminal: status $?: $(tail -n 20 "$work/screen" | cat -v)"
tr '\r' '\n' <"$work/screen" >"$work/text"
for i in alpha beta gamma; do
	grep -q "$i *recording: [0-9]* events, .* lost, offset [-+0-9.]* us +- [0-9.]* us" "$work/text" ||
		fail "no row of $i: $(cat -v "$work/text")"
done
grep -q 'interrupted: the recordings are ended' "$work/text" || fail "no word of the interrupt"
[ "$(stat_of "$work/o" 'len(s["nodes"])')" = 3 ] || fail "nodes after Ctrl-C on a terminal"
nothing_left

# --- the coordinator is killed: the recordings end, whole, and so do the commands ---
begin
kill_now "$run"
all_gone() { none_runs "$commands" && none_runs "$recorders"; }
wait_for "commands and recorders have ended" all_gone
[ "$(ls "$TMPDIR" | wc -l)" = 3 ] || fail "recordings: $(ls "$TMPDIR")"
for i in "$TMPDIR"/*; do
	[ "$(stat_of "$i" 's["complete"] and s["events"] >= 10')" = True ] || fail "recording $i"
done
rm -rf "${TMPDIR:?}"/* "$work/o.nodes"

# before the recording: nothing is left
bad gamma <<<'exec sleep 100'
"$ctl" cluster record -o "$work/o2" "${nodes[@]}" -- touch "$work/touched" 2>"$work/err" & track run
prepared() { [ "$(find "$TMPDIR" -name 'tsctrace-*' | wc -l)" = 2 ]; }
wait_for "two nodes are checked" prepared
kill -INT "$run"
ended 1
good gamma
[ ! -e "$work/touched" ] && [ ! -e "$work/o2" ] && [ ! -e "$work/o2.nodes" ] || fail "something is left"
nothing_left

# while a recorder waits for its sync session, as the daemon of a node hangs
# shellcheck disable=SC2154	# start() sets it
suspend "$beta"
"$ctl" cluster record -o "$work/o2" "${nodes[@]}" --cluster -- touch "$work/touched" 2>"$work/err" & track run
waits() { ! none_runs "$recorders/tsctrace-beta"; }
wait_for "the recorder of beta runs" waits
sleep 0.5
kill -INT "$run"
ended 1
kill -CONT "$beta"
wait_for "beta is synchronized again" synced beta
gone() { ! waits; }
wait_for "the recorder of beta has ended" gone
[ ! -e "$work/touched" ] && [ ! -e "$work/o2" ] && [ ! -e "$work/o2.nodes" ] || fail "something is left"
nothing_left

# --- another cluster, and no cluster time ---
net delta
: >"$work/delta/conf"
start delta d1
wait_for "delta has a clock" logged delta 'clock synchronized'
# On one boot, nodes have one counter: other boots are pretended.
for i in alpha beta gamma delta; do
	bad $i <<END_OF_BOOT
nsenter --net=/run/netns/$net_id$i env TSCTRACE_RUN_DIR=$work/$i "\$@" |
	LC_ALL=C sed -u 's/"boot":"[^"]*"/"boot":"of-$i"/'
END_OF_BOOT
done
cluster 1 --on delta -- true
says 'delta: no cluster time, so its events cannot be compared'
! grep -q 'alpha: .*cluster\|beta: .*cluster' "$work/err" || fail "complaints about others: $(cat "$work/err")"
nothing_left
cluster 0 -- "$emit" 10
