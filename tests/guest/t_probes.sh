#!/bin/sh
# SPDX-License-Identifier: MIT
# Tracepoints and probes of the kernel and of programs, through the module and without
# it: their numbers and fields
# guest-test: timeout=180 needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs
set -eu
cd "$(mktemp -d)"

fail() { echo "$*"; head -n 20 err 2>/dev/null; exit 1; }

# 23 processes set the host name.
cat >work.sh <<'END'
i=0
while [ $i -lt 23 ]; do
	/bin/hostname guest
	i=$((i + 1))
done
END

count() {	# EXTENDED-REGULAR-EXPRESSION
	grep -Ec " $1( |\$)" events || true
}

check() {	# DIR
	trace-ctl record -e 'sched:sched_process_e*' -e 'task:*' -e kprobe:__set_task_comm \
		-e kprobe:__x64_sys_sethostname -e kretprobe:__x64_sys_sethostname \
		-e fentry:do_exit -e 'kprobe:do_group_exit(code=%di:s32)' \
		-e uprobe:/usr/bin/jobs:main -e uretprobe:/usr/bin/jobs:main \
		-o "$1" -- sh -c 'sh work.sh; /usr/bin/jobs 100000 2 >/dev/null' >out 2>err ||
		fail "record $1 gave $?"
	# Where the kernel preempts a program of fentry, others miss their events.
	missed=$(sed -n 's/.*up to \([0-9]*\) kernel events* missed.*/\1/p' err)
	[ "${missed:-0}" -le 5 ] || fail "events were missed"
	case $(uname -r) in
	6.[0-6].*) grep -q 'Linux before 6.7 does not count' err ;;
	*) ! grep -q 'does not count' err ;;
	esac || fail "what the kernel counts: $(cat err)"
	trace-ctl dump "$1" >events
	# The shells, hostname and jobs: 26 processes; jobs has 2 more threads.
	[ "$(count sched_process_exec)" = 26 ] || fail "$(count sched_process_exec) execs"
	[ "$(grep -c 'sched_process_exec .*filename="/bin/hostname"' events)" = 23 ] ||
		fail "names of executed files"
	[ "$(count __x64_sys_sethostname/begin)" = 23 ] &&
		[ "$(count __x64_sys_sethostname/end)" = 23 ] || fail "kprobes"
	[ "$(grep -c '__x64_sys_sethostname/end .*ret=0$' events)" = 23 ] ||
		fail "results of a function"
	[ "$(grep -c 'do_group_exit .*code=0$' events)" -ge 24 ] || fail "fields of a kprobe"
	[ $(($(count do_exit) + ${missed:-0})) -ge 26 ] || fail "fentry"
	[ "$(count 'main/begin')" = 1 ] && [ "$(count 'main/end')" = 1 ] || fail "uprobes"
	[ "$(count task_newtask)" -ge 25 ] || fail "tracepoints of a system"
}

check module
TSCTRACE_PROVIDER=embedded check stock

# Conditions on fields, and the rate limit: through the module and without it
select_fields() {	# DIR
	trace-ctl record -e syscalls --where 'sys_sethostname:ret == 0 && sys_sethostname:len > 0' \
		-e sched --where 'prev_comm == "host*" && prev_state != 0' \
		-e 'sched:sched_process_exec' --where 'sched_process_exec:filename == /bin/hostname' \
		-e 'kprobe:do_group_exit(code=%di:s32)' --where 'code < 0' \
		-o "$1" -- sh work.sh >out 2>err || fail "record $1 gave $?"
	trace-ctl dump "$1" >events
	[ "$(count sched_process_exec)" = 23 ] || fail "$(count sched_process_exec) named execs"
	[ "$(grep -c ' sys_sethostname  *name=.* len=5 ret=0$' events)" = 23 ] ||
		fail "calls with a result"
	[ "$(count do_group_exit)" = 0 ] || fail "values below 0"
	! grep ' sched_switch ' events | grep -v 'prev_comm="host' || fail "other names"
	grep -q ' sched_switch ' events || fail "no switches"
	trace-ctl record --json -e syscalls -e kprobe:__x64_sys_sethostname --rate-limit 10/s \
		-o "$1-rate" -- sh work.sh >json 2>err || fail "record --rate-limit gave $?"
	trace-ctl dump "$1-rate" >events
	# None is dropped where calls take long.
	dropped=$(tr -d ' \n' <json |
		sed -n 's/.*"event":"__x64_sys_sethostname","dropped":\([0-9]*\)}.*/\1/p')
	[ "$(count __x64_sys_sethostname)" -ge 1 ] &&
		[ $(($(count __x64_sys_sethostname) + ${dropped:-0})) = 23 ] ||
		fail "rate limit: $(count __x64_sys_sethostname) + $dropped"
	[ "$(count sys_sethostname/begin)" = "$(count sys_sethostname/end)" ] ||
		fail "begins and ends under a rate limit"
}

select_fields where-module
TSCTRACE_PROVIDER=embedded select_fields where-stock

# The kernel's own probe on the same function counts as many hits, in rings that hold all
# events and in small ones, whose losses are counted. Nobody else reads /dev/zero.
mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true
cd /sys/kernel/tracing
echo 'p:t_probes/zero read_zero' >kprobe_events
echo 1 >events/t_probes/zero/enable
cd - >/dev/null

hits() {
	awk '$1 == "zero" { print $2, $3 }' /sys/kernel/tracing/kprobe_profile
}

balance() {	# NAME: a number of the summary's balance
	tr -d ' \n' <json | sed -n 's/.*"balance":{[^}]*"'"$1"'":\([0-9]*\)[,}].*/\1/p'
}

same_hits() {	# DIR RECORD-ARGUMENT...
	dir=$1
	shift
	before=$(hits)
	status=0
	trace-ctl record --json -e kprobe:read_zero "$@" -o "$dir" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=30000 >json 2>err || status=$?
	[ $status = 0 ] || [ $status = 3 ] || fail "record $dir gave $status"
	after=$(hits)
	[ "${after#* }" = "${before#* }" ] || fail "the kernel missed hits of its own"
	want=$((${after% *} - ${before% *}))
	trace-ctl dump "$dir" >events 2>/dev/null || [ $? = 3 ] || fail "dump"
	got=$(count read_zero)
	lost=$(($(balance published) + $(balance never_published) - got))
	echo "$dir: $want hits, $got recorded, $lost lost"
	[ "$want" -ge 30000 ] && [ $((got + lost)) = "$want" ] || fail "other counts"
}

for provider in module stock; do
	[ $provider = module ] || export TSCTRACE_PROVIDER=embedded
	same_hits hits-$provider
	[ $lost = 0 ] || fail "lost events"
	same_hits hits-small-$provider --block-size 4096 --blocks 2
done
unset TSCTRACE_PROVIDER
echo 0 >/sys/kernel/tracing/events/t_probes/zero/enable

# More calls at once than the kernel follows to their return: those are counted.
cat >sleep.sh <<'END'
i=0
while [ $i -lt 60 ]; do
	usleep 5000000 &
	i=$((i + 1))
done
wait
END
trace-ctl record --json -e kretprobe:hrtimer_nanosleep -o sleepers -- sh sleep.sh >json 2>err ||
	fail "record sleepers"
trace-ctl dump sleepers >events
n=$(count hrtimer_nanosleep_return)
missed=$(sed -n 's/.*"kernel_misses": \([0-9]*\).*/\1/p' json)
echo "$n of 60 returns, $missed missed"
[ "$n" -ge 1 ] && [ "$n" -lt 60 ] || fail "$n of 60 returns"
case $(uname -r) in
6.[0-6].*) ;;
*) [ $((n + missed)) = 60 ] || fail "$n of 60 returns, $missed missed" ;;
esac

# Tracepoints have the fields that the kernel names.
trace-ctl list 'irq:softirq_entry' >out
grep -q '^irq:softirq_entry  vec:u32$' out || fail "list: $(cat out)"
trace-ctl record -a -e 'irq:softirq_*' -e 'timer:*' -o softirq -- usleep 200000 2>err ||
	fail "softirq"
trace-ctl dump softirq >events
[ "$(count softirq_entry)" -ge 3 ] && [ "$(count softirq_exit)" -ge 3 ] ||
	fail "$(count softirq_entry) softirqs"

# Patterns of functions
trace-ctl record -e 'kprobe:__x64_sys_sethost*' -e 'kretprobe:__x64_sys_setho?tname' \
	-e 'fentry:do_exi*(code=%di:s32)' -o pattern -- sh work.sh 2>err || fail "patterns"
trace-ctl dump pattern >events
[ "$(count __x64_sys_sethostname/begin)" = 23 ] &&
	[ "$(count __x64_sys_sethostname/end)" = 23 ] && [ "$(count do_exit)" -ge 24 ] ||
	fail "functions of a pattern"
if trace-ctl record -e 'kprobe:*' -o many -- true 2>err; then
	fail "a probe on each function"
fi
grep -q ': [0-9]* functions match, at most 64 can be recorded' err || fail "no number"
if trace-ctl record -e 'kprobe:nosuch_*' -o many -- true 2>err; then
	fail "a pattern of nothing"
fi
grep -q 'nosuch_\*: no function' err || fail "no pattern"

# A probe on a function that the kernel forbids to probe is refused, with its name.
if trace-ctl record -e kprobe:tsct_emit_by_handle -o refused -- true 2>err; then
	fail "a probe on the path of events"
fi
grep -q 'tsct_emit_by_handle' err || fail "no name of the function"
[ ! -e refused ] || fail "a directory was made"
