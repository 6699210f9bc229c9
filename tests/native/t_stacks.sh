#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks of kernel events: the known chain of a program's functions, in each output; of
# programs that were replaced, deleted or ended, or run in another mount namespace; more
# stacks than the ring buffer holds; recordings of two nodes
# test-wing: stacks
. "$(dirname "$0")/stacks.sh"
need babeltrace2 chroot mount unshare

# --- a known chain -------------------------------------------------------------

run 0 record --stack -e syscalls -e "uprobe:$work/chain:leaf_call" -e sched \
	-e syscalls:sys_enter_getppid -o known -- ./chain 500
says '0 lost'
expect known leaf_call "(^|;)$chain [0-9]+\$" 500
expect known sys_getppid/begin ";$chain [0-9]+\$" 500
[ "$(sum known 'sys_*/begin' '_\[k\]')" = 0 ] || fail "system calls have frames of the kernel"
expect known sys_enter_getppid ";$chain;.*do_syscall_64_\\[k\\]" 500
expect known sched_switch '__schedule_\[k\] [0-9]+$' "$("$ctl" dump known --event sched_switch |
	grep -c ' sched_switch ')"
! grep -q '[;_]bpf_[^;]* [0-9]*$' folded || fail "frames of BPF"
[ "$(sum known 'sys_getppid/begin' '\[unknown\]')" = 0 ] || fail "stacks are unknown"
for event in leaf_call sys_getppid/begin sched_switch; do
	[ "$(sum known $event .)" = "$("$ctl" dump known --event $event | grep -c ' stack=0x')" ] ||
		fail "sum of $event"
done

"$ctl" dump known --event leaf_call >dump
[ "$(grep -A4 -m1 ' leaf_call .*stack=0x' dump | tail -n 4 | sed 's/+0x.* (/ (/; s/^ *//' |
	paste -sd' ')" = "$(for f in leaf middle outer; do printf '%s_call (%s) ' $f "$work/chain"
	done)main ($work/chain)" ] || { head dump; fail "lines of a stack"; }
"$ctl" dump known --strace >dump
grep -A9 -m1 'getppid(' dump | grep -q '^    leaf_call+0x' || fail "stacks of --strace"
"$ctl" dump known --json --event leaf_call >dump
python3 - dump "$work/chain" <<'END' || fail "JSON"
import json, sys
frames = json.loads(open(sys.argv[1]).readline())["frames"]
assert [f["function"] for f in frames[:4]] == ["leaf_call", "middle_call", "outer_call", "main"]
assert all(f["file"] == sys.argv[2] and len(f["build_id"]) == 40 and not f["kernel"]
           for f in frames[:4])
assert frames[0]["offset"] == 0
END

"$ctl" report -q -o page.html known
for name in leaf_call middle_call; do
	grep -q "<title>$name: 500 events, 100.0 %</title>" page.html || fail "flame graph: $name"
done

"$ctl" export -q -f perfetto -o samples known
protoc --decode=pft.Trace -I "$here" perfetto.proto <samples >text
python3 - text "$("$ctl" dump known | grep -c ' stack=0x')" <<'END' || fail "Perfetto"
import re, sys
text = open(sys.argv[1]).read()
assert text.count("perf_sample {") <= int(sys.argv[2]) and text.count("perf_sample {") > 1000
names = {i: n for i, n in re.findall(r'function_names \{\s*iid: (\d+)\s*name: "(\w+)"', text)}
frames = {i: names.get(f) for i, f in
          re.findall(r"\n    frames \{\s*iid: (\d+)\s*function_name_id: (\d+)", text)}
stacks = [[frames.get(f) for f in re.findall(r"frame_ids: (\d+)", s)]
          for s in re.findall(r"callstacks \{(.*?)\}", text, re.S)]
assert any(s[-4:] == ["main", "outer_call", "middle_call", "leaf_call"] for s in stacks)
END
babeltrace2 known >text
grep -q 'leaf_call: .*stack = 0x' text && grep -q 'stack: .*frames = "' text ||
	fail "other readers"

# stat counts the stacks that end after one function, here for want of a frame pointer.
grep -q "^stacks  *$("$ctl" dump known | grep -c ' stack=0x[1-9a-f]') events with " \
	< <("$ctl" stat known) ||
	fail "stacks in stat"
run 0 record --stack=sys_getppid -e syscalls -o lone.rec -- "$helpers/traced/lone"
"$ctl" stat lone.rec >text
grep -A1 '^stacks  *40 events with 1 different stack$' text | grep -q '^  *100.0 % .* no frame' ||
	fail "stacks in stat: $(cat text)"
"$ctl" stat --json lone.rec >json
holds json 'j["stacks"] == {"events": 40, "missing": 0, "different": 1, "of_program": 40,
	"of_one_function": 40, "absent": 0, "refused": 0}'
"$ctl" report -q -o lone.html lone.rec
grep -q '>100.0 % of the stacks of programs end after one function: no frame' lone.html ||
	fail "one function on the page"

# Kernel threads, idle CPUs and threads that exit have no user stack: nothing is missing. Parts of
# other programs' stacks may be refused, as pages of these are not in memory.
# shellcheck disable=SC2016 # for the other shell
pauses='i=0; while [ $i -lt 20 ]; do sleep 0.02; i=$((i + 1)); done'
# With -a, other programs may fill the rings meanwhile: once more then.
record_pauses() {	# OPTION DIR
	rm -rf "$2"
	"$ctl" record --stack -e sched "$1" -o "$2" -- sh -c "$pauses" >out 2>err || grep -q '^  LOST: full' err ||
		fail "record $1"
	! grep -q '^  LOST: full' err
}
for of in idle=-a ours=-q; do
	wait_for "a recording without losses" record_pauses ${of#*=} "${of%=*}"
	! grep 'missing reports\? about threads or stacks' err || fail "$of: a false report"
	"$ctl" stat --json "${of%=*}" >json
	holds json 'j["statedump_lost"] == j["stacks"]["missing"] == 0' 'j["stacks"]["absent"] >= 20' \
		'0 <= j["stacks"]["events"] - j["stacks"]["absent"] - j["stacks"]["of_program"] <=
			j["stacks"]["refused"] < j["stacks"]["absent"]'
done
holds json 'j["stacks"]["refused"] == 0'
"$ctl" stat idle >text
grep -q '^  *[0-9]* events of threads without a user stack' text || fail "idle: stat"
"$ctl" report -q -o idle.html idle
grep -q '[0-9]* events of threads without a user stack' idle.html || fail "idle: page"

# No stacks: one sentence each, and no file of nothing
run 0 record -e syscalls -o bare -- true
run_says 1 'no exported event has a stack; ' export -f folded -o - bare
[ ! -s out ] || fail "folded stacks of nothing"
run_says 1 '^trace-ctl export: none.folded: no exported event has a stack; ' \
	export -o none.folded bare
[ ! -e none.folded ] || fail "a file of no stacks"
"$ctl" report -q -o bare.html bare
grep -q 'No event of this page has a stack; ' bare.html || fail "page without stacks"

# The function to which a signal handler returns is named: nothing is in front of it.
run 0 record --stack=sys_getppid -e syscalls -o handled -- "$helpers/traced/handler"
expect handled sys_getppid/begin ';restore;on_signal ' 30

# A damaged statedump, and none: each reader names the file.
cp -r known damaged
python3 - damaged/statedump_* <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2:len(data) // 2 + 500] = b"\xff" * 500
open(sys.argv[1], "wb").write(data)
END
for command in dump stat 'report -q -o damaged.html' 'export -q -f folded -o damaged.folded'; do
	# shellcheck disable=SC2086 # words
	run 3 $command damaged
	grep -q "^trace-ctl ${command%% *}: stream statedump_" "$work/err" ||
		fail "$command of a damaged statedump"
done
rm damaged/statedump_*
run_says 3 'stream statedump_.*missing events: ' dump damaged

# Selected events
run 0 record --stack='sys_get*,sched_switch' -e syscalls -e sched -o some -- ./chain 7
"$ctl" dump some >dump
[ "$(grep -c 'sys_getppid/begin .*stack=0x' dump)" = 7 ] || fail "selected"
! grep -q 'sys_execve/begin .*stack=' dump || fail "not selected"
run 1 record --stack=net_receive -e net -e sched -o none -- true
says 'packets are received in interrupts'
run 1 record --stack=sched_waking -e sched -o none -- true
says 'sched_waking: of the scheduler.s events, only switches have stacks'
run 1 record --stack -e sched_waking -o none -- true
says 'no event of -e can have a stack; sched_switch'
if "$ctl" list sched:sched_waking >/dev/null 2>&1; then
	run 1 record --stack -e sched:sched_waking -o none -- true
	says 'no event of -e can have a stack; sched_switch'
fi
run 2 record --stack -o none -- true

# --- files ---------------------------------------------------------------------

# Another program is there now, which has the same functions at other places.
run 0 record --stack -e syscalls -o replaced -- ./chain 11
expect replaced sys_getppid/begin ";$chain " 11
cp chain chain.kept
cp "$helpers/traced/chain_other" chain
expect replaced sys_getppid/begin '(leaf|middle|outer)_call' 0
expect replaced sys_getppid/begin '\[chain\];\[chain\]' 11
"$ctl" dump replaced --event sys_getppid/begin >dump
grep -q '^    \[chain+0x' dump || fail "places in a file that is not there"
mv chain.kept chain

# Each of many processes ends at once.
run 0 record --stack -e syscalls -o short -- sh -c \
	'i=0; while [ $i -lt 40 ]; do ./chain 1; i=$((i + 1)); done'
expect short sys_getppid/begin ";$chain " 40

# A build id that ends in a zero, as those that the kernel fills up
run 0 record --stack -e syscalls -o zero.rec -- "$helpers/traced/chain_zero" 7
expect zero.rec sys_getppid/begin ";$chain " 7

# A file that is deleted; one without a build id; one that is only there in a mount
# namespace: the recorder finds the functions.
running() {	# DIR PID
	record_process "$@"
	n=$("$ctl" dump "$1" --event sys_getppid/begin | grep -c ' stack=0x')
	expect "$1" sys_getppid/begin ";$chain " "$n"
}
cp chain gone
./gone -1 & track pid
wait_for "gone runs" is_named "$pid" gone
rm gone
running deleted "$pid"
"$helpers/traced/chain_plain" -1 & track pid
wait_for "chain_plain runs" is_named "$pid" chain_plain
running plain_file "$pid"
if unshare -m true 2>/dev/null; then
	mkdir inner
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c 'mount -t tmpfs none inner && cp chain inner/inside &&
		exec inner/inside -1' & track pid
	wait_for "inside runs" is_named "$pid" inside
	running namespace "$pid"
fi
mkdir -p root/lib64
cp -L --parents $(ldd chain | grep -o '/[^ ]*') root
cp chain root/chain
chroot root /chain -1 & track pid
wait_for "chain runs" is_named "$pid" chain
running chrooted "$pid"

# --- many stacks -----------------------------------------------------------------

# Also more than the recorder remembers
# The program pauses so that the recorder can follow: longer on a busy machine.
record_all() {	# DIR COMMAND...; MS in it becomes the pause
	local dir=$1 ms
	shift
	for ms in 10 50 200 1000; do
		rm -rf "$dir"
		run_says 0 '0 lost' record --stack=sys_getppid -e syscalls -o "$dir" -- "${@//MS/$ms}"
		grep -q 'missing reports about threads or stacks' "$work/err" || return 0
	done
	fail "$dir: reports are missing"
}
record_all many ./chain 1 17 MS
expect many sys_getppid/begin . 131072
expect many sys_getppid/begin '\[unknown\]' 0
[ "$(grep -c '_call.* 1$' folded)" = 131072 ] || fail "$(wc -l <folded) different stacks"
record_all again sh -c './chain 1 16 MS; ./chain 1 16 MS'
expect again sys_getppid/begin '_call.* 2$' 131072

# The recorder is stopped: the ring buffer cannot hold them. They are sent again later.
"$ctl" record --stack=sys_getppid -e syscalls -o full -a --comm chain >out 2>err & track pid
# It is recording when it has recorded a call.
is_recording() {
	./chain 1
	"$ctl" dump full --event sys_getppid/begin >dump 2>/dev/null || true
	grep -q getppid dump
}
poll_s=0.2 wait_for "it is recording" is_recording
suspend $pid
./chain 1 14
kill -CONT $pid
# A stack for which there was no room is sent with the next event that has it.
for ((i = 0; i < 3; i++)); do
	sleep 1.5
	./chain 1 14
done
sleep 1.5
kill -INT $pid
wait $pid || [ $? = 3 ] || fail "record full"
grep -q 'missing reports\? about threads or stacks' err || fail "no lost stacks"
"$ctl" stat full >text
[ "$(grep -o '[0-9]* missing reports' text)" = "$(grep -o '[0-9]* missing reports' err)" ] ||
	fail "lost stacks are not in the recording: $(cat text)"
expect full sys_getppid/begin '(odd|even)_call' 65536
expect full sys_getppid/begin '\[unknown\]' 0

# --- two nodes ------------------------------------------------------------------

as_host() { python3 "$here/as_host.py" "$work/$1" "${@:2}" || fail "as_host.py"; }
cp -r replaced two
as_host two other 0 unknown
run 0 merge --force -o both known two
expect both sys_getppid/begin "^other;.*;$chain " 11
expect both sys_getppid/begin ";$chain " 511
