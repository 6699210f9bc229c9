#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks of kernel events: the known chain of a program's functions, in each output; of
# programs that were replaced, deleted or ended, or run in another mount namespace; more
# stacks than the ring buffer holds; recordings of two nodes
# shellcheck source=tests/native/record.sh
. "$(dirname "$0")/record.sh"

export TSCTRACE_PROVIDER=embedded
cd "$work"

needs_kernel_events

cat >chain.c <<'END'
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
#define FUNCTION __attribute__((noinline, noclone, noipa))
volatile long sink;
FUNCTION void leaf_call(void)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	sink += ret;
}
FUNCTION void middle_call(void) { leaf_call(); sink++; }
FUNCTION void outer_call(void) { middle_call(); sink++; }

/* Each number has a stack of its own: an odd or an even call for each bit */
void even_call(unsigned int n, unsigned int bits);
FUNCTION void odd_call(unsigned int n, unsigned int bits)
{
	if (!bits)
		leaf_call();
	else if (n & 1)
		odd_call(n >> 1, bits - 1);
	else
		even_call(n >> 1, bits - 1);
	sink++;
}
FUNCTION void even_call(unsigned int n, unsigned int bits)
{
	if (!bits)
		leaf_call();
	else if (n & 1)
		odd_call(n >> 1, bits - 1);
	else
		even_call(n >> 1, bits - 1);
	sink++;
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1, bits = argc > 2 ? atoi(argv[2]) : 0;

	for (i = 0; bits && i < 1 << bits; i++) {
		odd_call(i, bits);
		if (argc > 3 && i % 1024 == 0)
			usleep(50000);
	}
	for (i = 0; !bits && (i < n || n < 0); i++) {
		outer_call();
		if (n < 0)
			usleep(1000);
	}
	return 0;
}
END
compile() {	# OUTPUT ARGUMENT...
	${CC:-cc} -O0 -std=gnu11 -D_GNU_SOURCE -fno-omit-frame-pointer \
		-fno-optimize-sibling-calls -o "$1" chain.c "${@:2}"
}
compile chain -Wl,--build-id
chain='main;outer_call;middle_call;leaf_call'

# Sum of the events of folded stacks that match
sum() {	# DIR EVENT PATTERN
	"$ctl" export -q -f folded -o - --event "$2" "$1" >folded || fail "export $1"
	awk -v pattern="$3" '$0 ~ pattern { n += $NF } END { print n + 0 }' folded
}
expect() {	# DIR EVENT PATTERN NUMBER
	local n
	n=$(sum "$1" "$2" "$3")
	[ "$n" = "$4" ] || { head -n 20 folded; fail "$1: $2: $n stacks match $3, not $4"; }
}

# --- a known chain -------------------------------------------------------------

run 0 record --stack -e syscalls -e "uprobe:$work/chain:leaf_call" -e sched \
	-e syscalls:sys_enter_getppid -o known -- ./chain 500
says '0 lost'
expect known leaf_call "(^|;)$chain [0-9]+\$" 500
expect known sys_getppid/begin ";$chain;.*entry_SYSCALL_64.*_\\[k\\];do_syscall_64_\\[k\\]" 500
expect known sys_enter_getppid ";$chain;.*do_syscall_64_\\[k\\]" 500
expect known sched_switch '__schedule_\[k\] [0-9]+$' "$("$ctl" dump known --event sched_switch |
	grep -c ' sched_switch ')"
! grep -q '[;_]bpf_[^;]* [0-9]*$' folded || fail "frames of BPF"
[ "$(sum known 'sys_*' '\[unknown\]')" = 0 ] || fail "stacks are unknown"
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
protoc --decode=tsct_perfetto.Trace -I "$top/lib/export" export_perfetto.proto <samples >text
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

# Selected events
run 0 record --stack='sys_get*,sched_switch' -e syscalls -e sched -o some -- ./chain 7
"$ctl" dump some >dump
[ "$(grep -c 'sys_getppid/begin .*stack=0x' dump)" = 7 ] || fail "selected"
! grep -q 'sys_execve/begin .*stack=' dump || fail "not selected"
run 1 record --stack=net_receive -e net -e sched -o none -- true
says 'packets are received in interrupts'
run 2 record --stack -o none -- true

# --- files ---------------------------------------------------------------------

# Another program is there now, which has the same functions at other places.
run 0 record --stack -e syscalls -o replaced -- ./chain 11
expect replaced sys_getppid/begin ";$chain;" 11
cp chain chain.kept
compile other -DOTHER -Wl,--build-id -O1
mv other chain
expect replaced sys_getppid/begin '(leaf|middle|outer)_call' 0
expect replaced sys_getppid/begin '\[chain\];\[chain\]' 11
"$ctl" dump replaced --event sys_getppid/begin >dump
grep -q '^    \[chain+0x' dump || fail "places in a file that is not there"
mv chain.kept chain

# Each of many processes ends at once.
run 0 record --stack -e syscalls -o short -- sh -c \
	'i=0; while [ $i -lt 40 ]; do ./chain 1; i=$((i + 1)); done'
expect short sys_getppid/begin ";$chain;" 40

# A file that is deleted; one without a build id; one that is only there in a mount
# namespace: the recorder finds the functions.
running() {	# DIR PID
	run 0 record --stack -e syscalls -p "$2" --duration 0.5 -o "$1"
	kill -9 "$2"
	wait "$2" 2>/dev/null || true
	n=$("$ctl" dump "$1" --event sys_getppid/begin | grep -c ' stack=0x')
	[ "$n" -gt 20 ] || fail "$1: $n events"
	expect "$1" sys_getppid/begin ";$chain;" "$n"
}
cp chain gone
./gone -1 & started+=($!); pid=$!
sleep 0.2
rm gone
running deleted "$pid"
compile plain -Wl,--build-id=none
./plain -1 & started+=($!); pid=$!
sleep 0.2
running plain_file "$pid"
if unshare -m true 2>/dev/null; then
	mkdir inner
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c 'mount -t tmpfs none inner && cp chain inner/inside &&
		exec inner/inside -1' & started+=($!); pid=$!
	sleep 0.5
	running namespace "$pid"
fi
mkdir -p root/lib64
cp -L --parents $(ldd chain | grep -o '/[^ ]*') root
cp chain root/chain
chroot root /chain -1 & started+=($!); pid=$!
sleep 0.2
running chrooted "$pid"

# --- many stacks -----------------------------------------------------------------

run 0 record --stack=sys_getppid -e syscalls -o many -- ./chain 1 14 slowly
says '0 lost'
expect many sys_getppid/begin . 16384
expect many sys_getppid/begin '\[unknown\]' 0
[ "$(grep -c '_call.* 1$' folded)" = 16384 ] || fail "$(wc -l <folded) different stacks"

# The recorder is stopped: the ring buffer cannot hold them. They are sent again later.
"$ctl" record --stack=sys_getppid -e syscalls -o full -a --comm chain >out 2>err & pid=$!
started+=($pid)
for ((i = 0; i < 100; i++)); do
	[ ! -e full/metadata ] || break
	sleep 0.1
done
sleep 2
kill -STOP $pid
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
grep -q 'about threads or stacks missing' err || fail "no lost stacks"
expect full sys_getppid/begin . 65536
expect full sys_getppid/begin '\[unknown\]' 0

# --- two nodes ------------------------------------------------------------------

as_host() { python3 "$top/tests/native/as_host.py" "$work/$1" "${@:2}" || fail "as_host.py"; }
cp -r replaced two
as_host two other 0 unknown
run 0 merge --force -o both known two
expect both sys_getppid/begin "^other;.*;$chain;" 11
expect both sys_getppid/begin ";$chain;" 511
