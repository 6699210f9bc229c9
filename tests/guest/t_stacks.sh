#!/bin/sh
# SPDX-License-Identifier: MIT
# Stacks of kernel events, through the module and without it: known chains of the kernel's
# functions, and of a program's, which is without frame pointers but for its first frame
# guest-test: timeout=240 needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
evidence="err events"
cd "$(mktemp -d)"

N=$(repeats "${TSCT_PROCESSES:-}" 7 23)
cat >work.sh <<END
for i in $(seq -s ' ' $N); do
	/bin/hostname guest
done
/usr/bin/jobs 100000 2 >/dev/null
END

# Prints the number of events whose stack has two functions of the kernel in this order,
# from the innermost to the outermost.
chains() {	# DIR EVENT INNER OUTER
	trace-ctl export -q -f folded -o - --event "$2" "$1" >folded ||
		fail "export gave $?"
	awk -v inner="$3" -v outer="$4" '
		index($1, ";" inner) > index($1, outer) && index($1, outer) { n += $NF }
		END { print n + 0 }' folded
}

check() {	# DIR
	trace-ctl record --stack -e kprobe:__x64_sys_sethostname -e fentry:do_exit \
		-e sched -e syscalls -e task:task_newtask -e uprobe:/usr/bin/jobs:main \
		-o "$1" -- sh work.sh >out 2>err || fail "record $1 gave $?"
	! grep -q 'missing reports\? about threads or stacks' err || fail "stacks were missed"
	# Where the kernel preempts a program of fentry, others miss their events. All other
	# events are counted below.
	missed=$(sed -n 's/.*up to \([0-9]*\) kernel events* missed.*/\1/p' err)
	[ "${missed:-0}" -lt $N ] || fail "$missed events were missed: no test"
	n=$(chains "$1" __x64_sys_sethostname __x64_sys_sethostname_ do_syscall_64_)
	[ "$n" = $N ] || fail "$n stacks of a kprobe: $(cat folded)"
	trace-ctl export -q -f folded -o folded --event 'sys_sethostname/begin' "$1"
	n=$(awk '/\[busybox\]/ && !/_\[k\]/ { n += $NF } END { print n + 0 }' folded)
	[ "$n" = $N ] || fail "$n stacks of a system call: $(cat folded)"
	n=$(chains "$1" do_exit do_exit_ do_syscall_64_)
	[ $((n + ${missed:-0})) -ge $((N + 1)) ] || fail "$n stacks of fentry: $(cat folded)"
	n=$(chains "$1" task_newtask copy_process_ do_syscall_64_)
	[ "$n" -ge $((N + 1)) ] || fail "$n stacks of a tracepoint: $(cat folded)"
	! grep -q 'bpf_' folded || fail "frames of BPF: $(cat folded)"
	# A switch may be in a BPF program: those of uprobes sleep, and others are preempted.
	n=$(chains "$1" sched_switch __schedule_ do_syscall_64_)
	[ "$n" -ge $((N + 1)) ] || fail "$n stacks of sched_switch: $(cat folded)"
	trace-ctl dump "$1" --event main >events
	[ "$(grep -c '^    main+0x0 (/usr/bin/jobs)$' events)" = 1 ] ||
		fail "stack of a uprobe"
}

check module
TSCTRACE_PROVIDER=embedded check stock

# Stacks of some events only
trace-ctl record --stack='sched_switch,kprobe:*hostname' -e sched -e syscalls \
	-e kprobe:__x64_sys_sethostname -o some -- sh work.sh >out 2>err || fail "record"
trace-ctl dump some >events
grep -q 'sched_switch .* stack=0x' events && grep -q 'sethostname .*stack=0x' events ||
	fail "no stacks of the selected events"
! grep -q 'sys_execve/begin .* stack=' events || fail "stacks of other events"
if trace-ctl record --stack=nothing -e sched -o none -- true 2>err; then
	fail "a stack of no event"
fi
grep -q -- '--stack=nothing: no event of -e has this name' err || fail "no reason"
