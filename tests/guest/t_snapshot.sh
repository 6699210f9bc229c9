#!/bin/sh
# SPDX-License-Identifier: MIT
# Snapshots of overwrite channels of the module: a kernel channel, which BPF
# programs fill, and a kept channel of a program that was killed. Both are copied
# while in use, and kept channels do not prevent unloading the module.
# guest-test: timeout=180 needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
cd "$(mktemp -d)"

jobs='' recorder=
trap 'kill -9 $jobs $recorder 2>/dev/null || true' EXIT
evidence="out err record.err"

# Prints the value, a number, of the key $1 where it first occurs in the JSON output.
number() { sed -n "s/^ *\"$1\": \\([0-9]*\\),*\$/\\1/p" out | head -n 1; }

has_events() {	# CHANNEL MORE-THAN
	[ "$(trace-ctl channel list | awk -v c="$1" '$2 == c { print $(NF - 1) + 0 }')" -gt \
		"$2" ] 2>/dev/null
}

# --- a program that is killed -----------------------------------------------

run 0 trace-ctl channel create fly --policy overwrite --block-size 4096 --blocks 4
grep -q 'overwrite,kept, .* in the module$' out || fail "create"
run 1 trace-ctl channel create fly
# The path selects the test program `jobs`: the name alone is a builtin of the shell.
TSCTRACE_CHANNEL=fly /usr/bin/jobs 4000000000 2 >/dev/null 2>&1 &
jobs=$!
wait_for "events of fly" has_events fly 1500
run 0 trace-ctl snapshot -c fly -o running
kill_now $jobs
jobs=
run 0 trace-ctl channel list
grep -q ' fly  *module  *root  *overwrite,kept .* 0  *-  *[1-9]' out || fail "list"
run 0 trace-ctl snapshot --json -c fly -o killed
events=$(number events) older=$(number overwritten)
[ "$events" -gt 10 ] || fail "$events events are left"
[ "$older" -gt 0 ] || fail "nothing was overwritten: test without effect"
trace-ctl dump --raw killed >dump || fail "dump"
[ "$(wc -l <dump)" = "$events" ] || fail "dump has other events"
run 0 trace-ctl channel list --json
[ "$(number events)" = $((events + older)) ] ||
	fail "$events and $older are not all of $(number events)"

# --- the kernel, by BPF -----------------------------------------------------

trace-ctl record -f -q -e sched -e syscalls -c fly --block-size 4096 --blocks 16 \
	-o flight 2>record.err &
recorder=$!
has_kernel_channel() { trace-ctl channel list | grep -q 'overwrite,kernel'; }
wait_for "a kernel channel" has_kernel_channel
kernel=$(trace-ctl channel list | awk '/overwrite,kernel/ { print $2 }')
while :; do cat /proc/stat >/dev/null; done &
busy=$!
wait_for "kernel events" has_events "$kernel" \
	"$(repeats "${TSCT_KERNEL_EVENTS:-}" 2000 5000)"
kill $busy
run 0 trace-ctl snapshot -o both
grep -q "^  channel $kernel: [1-9]" err || fail "no kernel events"
grep -q '^  channel fly: [1-9]' err || fail "no program's events"
# Streams have their channel's name. The dump has sched_switch and system calls by name;
# time stamps do not decrease on a CPU.
set -- both/"${kernel}"_*
[ -e "$1" ] || fail "no file of the kernel channel"
trace-ctl dump --raw both >dump || fail "dump of both"
for event in sched_switch sys_read/begin sys_read/end; do
	grep -q " $event " dump || fail "no $event"
done
in_order dump || fail "a time stamp decreases"
run 0 trace-ctl status -p
grep -q "CPU [01] .*overwritten [1-9]" out || fail "no figures per CPU"
run 0 trace-ctl top -p --once -d 1
awk -v c="$kernel" '$2 == c && $3 + 0 > 0 { on = 1 } END { exit !on }' out ||
	fail "no new events in $kernel"
end_by INT $recorder
recorder=
trace-ctl dump flight | grep -q ' sched_switch ' || fail "the recorder's own"

# --- rights, and the end ----------------------------------------------------

if [ "$(id -u)" = 0 ]; then
	chmod 0666 /dev/tsctrace
	id=$(trace-ctl channel list | awk '$2 == "fly" { print $1 }')
	chmod 755 .
	su -s /bin/sh nobody -c 'trace-ctl channel list' >out || fail "as nobody"
	grep -q '^no channels$' out || fail "an unprivileged user sees the channels"
	! su -s /bin/sh nobody -c "trace-ctl channel remove $id" >out 2>err ||
		fail "an unprivileged user removed it"
	grep -q 'belongs to another user' err || fail "no reason for the unprivileged user"
	! su -s /bin/sh nobody -c 'trace-ctl channel create k --kernel' >out 2>err ||
		fail "an unprivileged user created a kernel channel"
	grep -q 'only root may create a channel for kernel events' err || fail "k"
	run 0 trace-ctl channel create k --kernel --policy overwrite
	run 0 trace-ctl channel remove k
fi
run 0 trace-ctl channel remove fly
run 0 trace-ctl channel create stays
# Kept channels are freed with the module, which PID 1 unloads now.
echo "$events left of $((events + older))"
