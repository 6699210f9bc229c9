#!/bin/sh
# SPDX-License-Identifier: MIT
# Tracepoints and probes of the kernel and of programs, through the module and without
# it: their numbers and fields, patterns, conditions on fields, and the rate limit
# guest-test: timeout=180 needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
cd "$(mktemp -d)"
evidence="err folded"

# N processes set the host name.
N=$(repeats "${TSCT_PROCESSES:-}" 9 23)
cat >work.sh <<END
for i in $(seq -s ' ' $N); do
	/bin/hostname guest
done
END

count() {	# EXTENDED-REGULAR-EXPRESSION
	grep -Ec " $1( |\$)" events || true
}
expect() {	# NUMBER EXTENDED-REGULAR-EXPRESSION
	[ "$(count "$2")" = "$1" ] || fail "$(count "$2") of $2, not $1"
}

check() {	# DIR KPROBE KRETPROBE FENTRY
	run 0 trace-ctl record -e 'sched:sched_process_e*' -e 'task:*' -e kprobe:__set_task_comm \
		-e "kprobe:$2" -e "kretprobe:$3" -e "fentry:$4" \
		-e 'kprobe:do_group_exit(code=%di:s32)' \
		-e uprobe:/usr/bin/jobs:main -e uretprobe:/usr/bin/jobs:main \
		-o "$1" -- sh -c 'sh work.sh; /usr/bin/jobs 100000 2 >/dev/null'
	# Where the kernel preempts a program of fentry, others miss their events.
	missed=$(sed -n 's/.*up to \([0-9]*\) kernel events* missed.*/\1/p' err)
	[ "${missed:-0}" -lt $N ] || fail "$missed events were missed: no test"
	case $(uname -r) in
	6.[0-6].*) grep -q 'Linux before 6.7 does not count' err ;;
	*) ! grep -q 'does not count' err ;;
	esac || fail "what the kernel counts: $(cat err)"
	trace-ctl dump "$1" >events
	# The shells, hostname and jobs; jobs has 2 more threads.
	expect $((N + 3)) sched_process_exec
	expect $N 'sched_process_exec .*filename="/bin/hostname"'
	expect $N __x64_sys_sethostname/begin
	expect $N '__x64_sys_sethostname/end .*ret=0'
	[ "$(count 'do_group_exit .*code=0')" -ge $((N + 1)) ] || fail "fields of a kprobe"
	[ $(($(count 'do_exit .*code=0') + ${missed:-0})) -ge $((N + 3)) ] || fail "fentry"
	expect 1 main/begin
	expect 1 main/end
	[ "$(count task_newtask)" -ge $((N + 2)) ] || fail "tracepoints of a system"
}

check module __x64_sys_sethostname __x64_sys_sethostname 'do_exit(code=arg1:s32)'
# The names of functions may be patterns.
TSCTRACE_PROVIDER=embedded check stock '__x64_sys_sethost*' '__x64_sys_setho?tname' \
	'do_exi*(code=arg1:s32)'

# Conditions on fields, and the rate limit: through the module and without it
select_fields() {	# DIR RECORD-ARGUMENT...
	dir=$1
	shift
	run 0 trace-ctl record "$@" -e syscalls \
		--where 'sys_sethostname:ret == 0 && sys_sethostname:len > 0' \
		-e sched --where 'prev_comm == "host*" && prev_state != 0' \
		-e 'sched:sched_process_exec' --where 'sched_process_exec:filename == /bin/hostname' \
		-e 'kprobe:do_group_exit(code=%di:s32)' --where 'code < 0' -o "$dir" -- sh work.sh
	trace-ctl dump "$dir" >events
	expect $N sched_process_exec
	expect $N 'sys_sethostname  *name=.* len=5 ret=0'
	expect 0 do_group_exit
	! grep ' sched_switch ' events | grep -v 'prev_comm="host' || fail "other names"
	grep -q ' sched_switch ' events || fail "no switches"
	[ $# = 0 ] || {
		[ "$(count softirq_entry)" -ge 3 ] && [ "$(count softirq_exit)" -ge 3 ] ||
			fail "$(count softirq_entry) softirqs"
	}
	run 0 trace-ctl record --json -e sched -e syscalls -e kprobe:__x64_sys_sethostname \
		-e task:task_newtask -e uprobe:/usr/bin/jobs:main --rate-limit 10/s -o "$dir-rate" \
		-- sh work.sh
	trace-ctl dump "$dir-rate" >events
	# None is dropped where calls take long.
	dropped=$(tr -d ' \n' <out |
		sed -n 's/.*"event":"__x64_sys_sethostname","dropped":\([0-9]*\)}.*/\1/p')
	n=$(count __x64_sys_sethostname)
	[ "$n" -ge 1 ] && [ $((n + ${dropped:-0})) = $N ] || fail "rate limit: $n + $dropped"
	expect "$(count sys_sethostname/begin)" sys_sethostname/end
}

# Of the whole system, also tracepoints in interrupts
select_fields where-module -a -e 'irq:softirq_*' -e 'timer:hrtimer_*'
TSCTRACE_PROVIDER=embedded select_fields where-stock

# The kernel's own probe on the same function counts as many hits, in rings that hold all
# events and in small ones, whose losses are counted. Nobody else reads /dev/zero.
tracing=/sys/kernel/tracing
mount -t tracefs none $tracing 2>/dev/null || true
echo 'p:t_probes/zero read_zero' >$tracing/kprobe_events
echo 1 >$tracing/events/t_probes/zero/enable

hits() {
	awk '$1 == "zero" { print $2, $3 }' $tracing/kprobe_profile
}

balance() {	# NAME: a number of the summary's balance
	tr -d ' \n' <out | sed -n 's/.*"balance":{[^}]*"'"$1"'":\([0-9]*\)[,}].*/\1/p'
}

same_hits() {	# STATUS-OF-LOSSES DIR RECORD-ARGUMENT...
	allowed=$1 dir=$2 status=0
	shift 2
	before=$(hits)
	trace-ctl record --json -e kprobe:read_zero "$@" -o "$dir" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=5000 >out 2>err || status=$?
	[ $status = 0 ] || [ $status = "$allowed" ] || fail "record $dir gave $status"
	after=$(hits)
	[ "${after#* }" = "${before#* }" ] || fail "the kernel missed hits of its own"
	want=$((${after% *} - ${before% *}))
	trace-ctl dump "$dir" >events 2>/dev/null || [ $? = "$allowed" ] || fail "dump"
	got=$(count read_zero)
	lost=$(($(balance published) + $(balance never_published) - got))
	echo "$dir: $want hits, $got recorded, $lost lost"
	[ "$want" -ge 5000 ] && [ $((got + lost)) = "$want" ] || fail "other counts"
}

for provider in module stock; do
	[ $provider = module ] || export TSCTRACE_PROVIDER=embedded
	same_hits 0 hits-$provider
	[ $lost = 0 ] || fail "lost events"
	same_hits 3 hits-small-$provider --block-size 4096 --blocks 2
done
unset TSCTRACE_PROVIDER
echo 0 >$tracing/events/t_probes/zero/enable

# More calls at once than the kernel follows to their return: those are counted, with those of
# other processes. The signal comes when all processes sleep.
cat >sleep.sh <<'END'
for i in $(seq 60); do
	sleep 1000 &
done
until [ "$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c '(sleep) S')" = 60 ]; do
	:
done
killall sleep
wait
END
run 0 trace-ctl record --json -e kretprobe:hrtimer_nanosleep -o sleepers -- sh sleep.sh
trace-ctl dump sleepers >events
n=$(grep -c ' hrtimer_nanosleep_return .*ret=-' events)
missed=$(sed -n 's/.*"kernel_misses": \([0-9]*\).*/\1/p' out)
echo "$n of 60 returns, $missed missed"
[ "$n" -ge 1 ] && [ "$n" -lt 60 ] || fail "$n of 60 returns"
case $(uname -r) in
6.[0-6].*) ;;
*) [ $((n + missed)) -ge 60 ] || fail "$n of 60 returns, $missed missed" ;;
esac

# Tracepoints have the fields that the kernel names.
trace-ctl list 'irq:softirq_entry' >out
grep -q '^irq:softirq_entry  vec:u32$' out || fail "list: $(cat out)"

refused() {	# PROBE WORDS
	if trace-ctl record -e "$1" -o refused -- true 2>err; then
		fail "$1 was accepted"
	fi
	grep -q "$2" err || fail "$1: no words '$2'"
	[ ! -e refused ] || fail "$1: a directory was made"
}
refused 'kprobe:*' ': [0-9]* functions match, at most 64 can be recorded'
refused 'kprobe:nosuch_*' 'nosuch_\*: this kernel has no matching function'
# The kernel forbids to probe the path of events.
refused kprobe:tsct_bpf_emit 'tsct_bpf_emit'
