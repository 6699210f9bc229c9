#!/bin/bash
# SPDX-License-Identifier: MIT
# The numbers of kernel events, with those that were lost, left out by --where or dropped by
# --rate-limit, agree with what perf counts in the same run.
# test-wing: probes
. "$(dirname "$0")/record.sh"

export TSCTRACE_PROVIDER=embedded
cd "$work"

"$ctl" record -q -e 'sched:sched_wakeup' -o probe -- true 2>err || skip "kernel events: $(tail -n 1 err)"
perf stat -o perf-probe -e syscalls:sys_enter_read true 2>err ||
	skip "perf: $(tail -n 1 err)"

# Adds the function of the program, which perf names once for all tests at a time.
group=tsct_counts_$$
uprobes=
if perf probe -q -x "$helpers/storm" "$group:work=work" 2>/dev/null; then
	uprobes=yes
	at_exit+=('perf probe -q -d "$group:*" || true')
fi

perf_count() {	# EVENT: as perf has counted it
	awk -F, -v event="$1" '$3 == event { print $1 }' counts
}

# True if storm waits for a byte, and causes no event.
is_waiting() { grep -qs '^0 0x0 ' "/proc/$1/syscall"; }	# PID
# Runs storm; perf and the recorder are attached to it while it waits.
storm() {	# TURNS PERF-EVENTS RECORD-ARGUMENT...
	local perf recorder pid status=0
	rm -rf go done control ack r err
	mkfifo go done control ack
	"$helpers/storm" "$1" <go >done & track pid
	exec 7>go 8<done
	perf stat -x, -o counts -p $pid -e "$2" -D -1 --control fifo:control,ack 2>/dev/null &
	track perf
	"$ctl" record --json -v -p $pid "${@:3}" -o r >json 2>err 7>&- 8<&- & track recorder
	until_in err 'recording: '
	wait_for "storm waits to begin" is_waiting $pid
	echo enable >control
	grep -qm 1 ack <ack || fail "perf counts nothing"
	echo >&7
	head -c 1 <&8 >/dev/null
	wait_for "storm waits to end" is_waiting $pid
	kill -INT $recorder $perf
	wait $recorder || status=$?
	wait $perf || true
	echo >&7
	exec 7>&- 8<&-
	wait $pid || fail "storm"
	[ $status = 0 ] || [ $status = 3 ] || fail "record gave $status"
	"$ctl" dump r >dump 2>/dev/null || [ $? = 3 ] || fail "dump"
}

number_of() {	# EVENT in dump
	awk -v event="$1" '$4 == event { n++ } END { print n + 0 }' dump
}

same() {	# PERF-EVENT EVENT
	local want got
	want=$(perf_count "$1") got=$(number_of "$2")
	[ -n "$want" ] && [ "$want" = "$got" ] || fail "$2: $got, but perf counted $want"
}

# --- nothing lost -----------------------------------------------------------------

tracepoints=(sched:sched_wakeup sched:sched_process_wait irq:softirq_entry irq:softirq_exit
	block:block_rq_issue block:block_bio_queue)
calls=(getppid close pwrite64 clock_nanosleep)
list=$(printf ',%s' "${tracepoints[@]}" "${calls[@]/#/syscalls:sys_enter_}" \
	"${calls[@]/#/syscalls:sys_exit_}")
# The rings have room for all events, if the recorder does not run for a while.
storm 20000 "${list#,}${uprobes:+,$group:work}" --blocks 512 -e syscalls \
	$(printf -- '-e %s ' "${tracepoints[@]}") -e "uprobe:$helpers/storm:work(n=%di:s32)" \
	-e "usdt:$helpers/storm:storm:pass(n=arg1:s32)"
[ "$(number lost_no_ring json)" = 0 ] || fail "lost events"
for event in "${tracepoints[@]}"; do
	same "$event" "${event#*:}"
done
for call in "${calls[@]}"; do
	same "syscalls:sys_enter_$call" "sys_$call/begin"
	same "syscalls:sys_exit_$call" "sys_$call/end"
done
[ "$(number_of sys_getppid/begin)" = 20000 ] || fail "system calls of the program"
[ -z "$uprobes" ] || same "$group:work" work
[ "$(number_of work)" = 20000 ] && [ "$(number_of pass)" = 20000 ] ||
	fail "$(number_of work) times work, $(number_of pass) times pass"

# --- conditions -------------------------------------------------------------------

storm 20000 syscalls:sys_enter_close --blocks 512 -e syscalls --where 'ret == -EBADF' \
	-e "uprobe:$helpers/storm:work(n=%di:s32)" --where 'work:n >= 100 && work:n < 300' \
	-e "usdt:$helpers/storm:storm:pass(n=arg1:s32)" --where 'pass:n & 0x4000' \
	-e sched --where 'sched_switch:prev_comm == storm && prev_state & 1' \
	-e sched:sched_waking --where 'sched_waking:comm != "*"'
same syscalls:sys_enter_close sys_close
grep -q 'sys_close  *fd=-1 ret=-EBADF$' dump || fail "a call with its result"
[ "$(number_of work)" = 200 ] && [ "$(number_of pass)" = 3616 ] ||
	fail "$(number_of work) times work, $(number_of pass) times pass"
[ "$(number_of sched_waking)" = 0 ] || fail "a text"
[ "$(number_of sched_switch)" -ge 100 ] || fail "switches"
awk '$4 == "sched_switch" && !/prev_comm="storm" .*prev_state=0x1 / || $4 ~ "^sys_" &&
	$4 != "sys_close"' dump | grep . && fail "events that were to be left out"

# --- a rate limit -----------------------------------------------------------------

storm 20000 syscalls:sys_enter_getppid --blocks 512 -e syscalls -e "uprobe:$helpers/storm:work(n=%di:s32)" \
	--rate-limit 1000/s
python3 - "$(number_of work)" "$(number_of sys_getppid/begin)" \
	"$(number_of sys_getppid/end)" "$(perf_count syscalls:sys_enter_getppid)" <<'END' ||
import json, sys
work, begins, ends, calls = map(int, sys.argv[1:])
dropped = {e["event"]: e["dropped"] for e in json.load(open("json"))["rate_limited"]}
seconds = json.load(open("json"))["seconds"]
print(work, begins, ends, calls, dropped, seconds)
assert work + dropped["work"] == calls
assert begins + dropped["sys_getppid/begin"] == calls
assert ends + dropped["sys_getppid/end"] == calls and begins == ends
assert 100 <= begins <= 100 + 1000 * seconds
END
	fail "rate limit"

# --- a storm, and small rings -----------------------------------------------------

# Rings are full, and each event is counted.
storm 200000 syscalls:sys_enter_getppid -e "uprobe:$helpers/storm:work(n=%di:s32)" \
	-e "usdt:$helpers/storm:storm:pass" --block-size 4096 --blocks 2
holds json 'j["balance"]["published"] + j["balance"]["never_published"] == 400000'
lost=$((400000 - $(wc -l <dump)))
echo "$lost of 400000 events lost in rings of 8 KiB"

# All events of the kernel, of all processes, in small rings, while two programs write
(while :; do "$ctl" status >/dev/null 2>&1 || true; done) &
(while :; do dd if=/dev/zero of=zeros bs=512 count=2000 conv=fsync 2>/dev/null; done) &
timeout 300 "$ctl" record --json -a -e 'irq:*' -e 'sched:*' -e 'block:*' -e syscalls \
	--duration 3 --block-size 4096 --blocks 2 -o all >json 2>err || status=$?
[ "${status:-0}" = 0 ] || [ "$status" = 3 ] || fail "a storm: record gave $status"
"$ctl" dump all >dump 2>/dev/null || [ $? = 3 ] || fail "dump"
holds json "j['balance']['exact'] and j['balance']['recorded'] == $(wc -l <dump) == j['events']" \
	'j["balance"]["published"] == j["balance"]["recorded"] + j["balance"]["lost"]'
