#!/bin/bash
# SPDX-License-Identifier: MIT
# Kernel events on a kernel without the module: their times lie within their error bounds,
# none is missing, and they come from the processes, tracepoints and probes that were
# named. BRACKETS: number of system calls whose times are checked (20000).
# test-fast: yes
# test-wing: kernel
. "$(dirname "$0")/record.sh"
need_first_pid_namespace

export TSCTRACE_PROVIDER=embedded
cd "$work"

needs_kernel_events

# Prints the number of events of a recording with a name
count() {	# DIR EVENT
	"$ctl" dump "$1" --event "$2" | wc -l
}

# --- times ------------------------------------------------------------------

run_says 0 '0 lost' record --blocks 512 -e syscalls -o times -- "$helpers/brackets" "${BRACKETS:-20000}"
says 'kernel events: in ring buffers of BPF'
"$helpers/brackets" check times || fail "times of system calls"

# --- a process tree ---------------------------------------------------------

# 17 processes of ours call sync(2) once each, and another one does all the time.
cp "$helpers"/traced/{target,probed} .
# Filters by name find no program of another test.
export sync=sync$$
cp "$helpers/traced/sync" $sync
./$sync forever </dev/null & track forever
run 0 record -e syscalls -o tree -- sh -c \
	'i=0; while [ $i -lt 17 ]; do ./$sync </dev/null & wait; i=$((i + 1)); done'
kill -9 "$forever"
"$ctl" dump tree >dump
[ "$(grep -c ' sys_syncfs/begin  *fd=0' dump)" = 17 ] ||
	fail "system calls of another process, or missing ones"
awk '$4 ~ /begin$/ { open[$3] = $4 }
	$4 ~ /end$/ && $3 in open { sub(/end$/, "begin", $4); if (open[$3] != $4) exit 1 }' \
	dump ||
	fail "pairs of system calls"
flags=$((02000000)) creating=0xc0
! has_wing strace || flags='O_RDONLY|O_CLOEXEC' creating='O_CREAT|O_EXCL'
grep -q "sys_openat/begin .*filename=\".*/libc.so.6\" flags=$flags" dump ||
	fail "arguments of system calls"

# --- filters ----------------------------------------------------------------

# Processes that run already, with a child that exists and one that comes later
mkfifo go
sh -c './$sync forever & read -r x <go; ./$sync; touch done; wait' </dev/null & track shell
until_in /proc/$shell/task/$shell/children '[0-9]'
child=$(cut -d' ' -f1 /proc/$shell/task/$shell/children)
at_exit+=('[ -z "$child" ] || kill -9 $child')
"$ctl" record -q -p $shell -e syscalls -o running 2>err & track recorder
until_on_disk running 0
echo >go
wait_for "the shell has called sync" test -e done
end_by INT $recorder "-p: the recorder"
"$ctl" dump --raw running --event sys_syncfs/begin | awk '{ print $3 }' | sort |
	uniq -c >threads
grep -q " $child\$" threads || fail "-p: a child that existed: $(cat threads)"
grep -q "^ *1 " threads || fail "-p: a child that came later: $(cat threads)"
run 0 record -a --comm $sync --cpu 0 -e syscalls --where 'sys_syncfs:fd >= 0' --duration 0.3 \
	-o named
"$ctl" dump --raw named >dump
[ -s dump ] || [ "$(nproc)" -gt 1 ] || fail "--comm: no events"
awk -v child=$child '$2 != "[000]" || $3 != child' dump | head -n 1 |
	grep . && fail "--comm, --cpu: another event"
kill -9 "$child" "$shell"
child=
run_says 1 'there is no process 999999999' record -p 999999999 -e syscalls -o refused
run_says 2 "-p: '1,x' is not a list of process ids" record -p 1,x -e syscalls -o refused
run_says 2 'apply to kernel events; name these with -e' record --comm x -o refused -- true

# --- what was requested, and what a rate limit dropped ---------------------------

run 0 record -e syscalls -e user --rate-limit 50 -o limited -- find "$here"
dropped=$(sed -n 's/^  rate limit: \([0-9]*\) kernel events dropped: sys_.*/\1/p' "$work/err")
[ "$dropped" -gt 0 ] || fail "--rate-limit: $(cat "$work/err")"
says "[0-9] published or dropped = .* + 0 lost + $dropped dropped by the rate limit$"
run_shows 0 "^sum .* + 0 lost + $dropped dropped by the rate limit$" stat limited
shows "^rate limit $dropped kernel events dropped: sys_"
shows '^requested  events: syscalls; processes: the command; rate_limit: 50$'
run 0 report page.html limited
sed 's/&#8239;//g' page.html >page
grep -q "The rate limit dropped $dropped kernel events on .*: sys_" page &&
	grep -q 'No other event was lost' page && grep -q 'rate_limit: 50<' page ||
	fail "the page, with a rate limit"
cp -r named other	# of another machine
sed -i 's/\(boot_id = "\)......../\100000000/' other/metadata
run 0 merge --force -o merged limited other
"$ctl" record -q -a -e syscalls --rate-limit 50 -o cut 2>err & track recorder
until_on_disk cut 0
kill_now $recorder
for recording in limited running named merged cut; do
	"$ctl" stat --json $recording >$recording.json 2>err || [ $recording = cut ]
done
python3 - "$dropped" $shell $sync <<'END' || fail "stat --json"
import json, sys
nodes = lambda name: json.load(open(name + ".json"))["nodes"]
limited = nodes("limited") + nodes("merged")[:1]
for node in limited:
	assert node["requested"] == {"events": "syscalls", "processes": "the command",
				     "rate_limit": "50"}, node
	assert node["dropped_by_rate_limit"] == int(sys.argv[1])
	assert sum(e["dropped"] for e in node["rate_limited"]) == int(sys.argv[1])
assert json.load(open("merged.json"))["sum"]["dropped_by_rate_limit"] == int(sys.argv[1])
for node in nodes("named") + nodes("merged")[1:]:
	assert node["requested"] == {"events": "syscalls", "processes": "all", "comm": sys.argv[3],
		"cpus": "0", "where": "'sys_syncfs:fd >= 0'"}, node
	assert node["dropped_by_rate_limit"] == 0 and node["rate_limited"] == []
assert nodes("running")[0]["requested"]["processes"] == sys.argv[2]
assert nodes("cut")[0]["dropped_by_rate_limit"] is None
END

# --- the end ------------------------------------------------------------------

# No stream has an event after the recording's end, although switches go on, and threads get
# new names.
python3 -c 'import ctypes
open("renaming", "w")
while True:
	for name in b"one", b"other":
		ctypes.CDLL(None).prctl(15, name, 0, 0, 0)' &
until [ -e renaming ]; do sleep 0.1; done
run 0 record -a -e sched_switch --duration 0.5 -o end
kill $!
"$ctl" stat --json end >json
end=$(number end_ns json)
last=$(number last_ns json)
[ "$last" -gt 0 ] && [ "$last" -le "$end" ] || fail "an event $((last - end)) ns after the end"
end=$(date -u -d "@${end:0:-9}" +%H:%M:%S).${end: -9}
babeltrace2 --clock-gmt end >events 2>/dev/null
awk -v end="[$end]" '/^\[/ && $1 > end { n++ } END { exit n > 0 }' events ||
	fail "an event of the statedump after $end: $(tail -n 1 events)"
grep -q 'name = "other"' events || fail "a name"

# --- snapshots of a flight recorder ----------------------------------------------

"$ctl" record -q -f -a --comm $sync -e syscalls -o flown 2>err & track recorder
has_recorder() { "$ctl" status | grep -q "^record -f .* at $work/user/tsctrace-"; }
wait_for "there is a flight recorder" has_recorder
# A snapshot has the events up to its start, also those that were only in ring buffers of BPF.
has_calls() {	# NUMBER
	rm -rf snapped
	run_says 0 'channel record-' snapshot -o snapped
	[ "$(count snapped sys_syncfs/begin)" = "$1" ] && [ "$(count snapped sys_syncfs/end)" -ge "$1" ]
}
has_begun() { ./$sync </dev/null; ! has_calls 0; }
wait_for "a snapshot has a call" has_begun
run_shows 0 '^requested  *copied: from a flight recorder with filters$' stat snapped
before=$(count snapped sys_syncfs/begin)
for i in 1 2 3; do
	./$sync </dev/null
	steadily has_calls $((before + i)) ||
		fail "$(count snapped sys_syncfs/begin) of $((before + i)) calls"
done
"$ctl" record -q -f -a --comm $sync -e syscalls -o second 2>err & track second
is_refused() { rm -rf snapped && ! "$ctl" snapshot -q -o snapped 2>"$work/err"; }
wait_for "snapshot refuses to choose" is_refused
says '2 recorders have kernel events of flight recorders; set $TSCTRACE_SOCKET'
kill -INT $second $recorder
wait $second || fail "the second recorder"
wait $recorder || fail "the flight recorder"
[ "$(count flown sys_syncfs/begin)" = $((before + 3)) ] || fail "calls at the end"
run_says 1 'no provider of channels' snapshot -o "$work/none"

# --- io_uring: what is not seen is said ----------------------------------------

run 0 record -e syscalls -o uring -- python3 -c '
import ctypes
ctypes.CDLL(None).syscall(426, -1, 0, 0, 0, None, 0)'
run_shows 0 '^io_uring  *operations that programs leave to io_uring are not system calls' stat uring
if has_wing report; then
	run 0 report -q -o uring.html uring
	grep -q '>io_uring: operations that programs leave' uring.html || fail "the page does not say it"
fi

# --- strings that are not in memory when a call begins -------------------------

# Paths in pages of a file that were never touched: the event of the end has them.
python3 -c '
paths = bytearray(2 << 20)
for at, path in (0, b"opened"), (1 << 20, b"old"), ((1 << 20) + 4096, b"/bin/true"):
	paths[at:at + len(path)] = path
open("paths", "wb").write(paths)'
touch opened old
run 0 record -e syscalls -o strings -- "$helpers/traced/untouched"
if has_wing strace; then
	"$ctl" dump --strace strings >calls
	[ "$(grep -c ' openat(AT_FDCWD, "opened", O_RDONLY) = [0-9]* <\| rename("old", "renamed") = 0 <' \
		calls)" = 2 ] || { cat calls; fail "strings are unreadable"; }
	# A program that was executed has replaced the memory.
	grep -q ' execve(\(unreadable\|"/bin/true"\), .*) = 0 <' calls || fail "execve"
fi
run 0 stat strings
not grep -q '^io_uring' "$work/out" || fail "io_uring where no program uses it"
"$ctl" dump strings >events
grep -q 'sys_openat/begin .*filename=unreadable' events &&
	grep -q 'sys_openat/end .*ret=[0-9]* filename="opened"$' events ||
	fail "the strings were in memory"
touch old
run 0 record -e syscalls --where 'sys_rename:ret == 0 && sys_rename:oldname == "ol*"' \
	-o held -- "$helpers/traced/untouched"
"$ctl" dump --event sys_rename held >calls
grep -q ' sys_rename  *oldname="old" newname="renamed" ret=0$' calls ||
	{ cat calls; fail "a call that was held"; }

# Alternatives, and names of constants
touch old
run 0 record -e syscalls --where 'sys_openat:filename == "renamed" || sys_openat:filename == "old*"' \
	--where "sys_openat:flags & $creating" -o alternatives -- sh -c '>old; >renamed; : <old; >x'
"$ctl" dump --json --event sys_openat/begin alternatives >calls
[ "$(grep -c '"filename":"\(old\|renamed\)","flags":577,' calls)" = 2 ] &&
	[ "$(wc -l <calls)" = 2 ] || { cat calls; fail "alternatives"; }
has_wing strace || run_says 1 'the value is a text; .*built without tools/wings/strace' \
	record -e syscalls --where 'sys_openat:flags & O_CREAT' -o refused -- true

# --- a killed recorder leaves nothing attached ---------------------------------

need bpftool comm
bpf_objects >before
"$ctl" record -q -a -e sched -o killed 2>/dev/null & track recorder
until_in killed/metadata clock
note_new_bpf before
kill -9 "$recorder"
until_removed
[ -s bpf-new ] || fail "the recorder has no BPF programs: no test"
wait "$recorder" 2>/dev/null || true
has_wing probes || exit 0

# --- places in a program ------------------------------------------------------

cp "$here/traced/probed.c" .
run 0 list "uprobe:$work/probed:[hv]i*"
[ "$(cat "$work/out")" = "uprobe:$work/probed:hidden
uprobe:$work/probed:visible" ] || fail "functions of a program: $(cat "$work/out")"
for pattern in "$work/probed" "$work/probed:*" "$work/probed:job?:start"; do
	run 0 list "usdt:$pattern"
	[ "$(cat "$work/out")" = "usdt:$work/probed:jobs:start(arg1=arg1:u64,arg2=arg2:s32)" ] ||
		fail "USDT probes of a program: $(cat "$work/out")"
done
run_says 1 'probed: no function or probe matches' list "usdt:$work/probed:other:*"
run_says 1 'probed.c: not a program or library' list "uprobe:$work/probed.c:*"
run_says 1 'nowhere: No such file' list "uprobe:nowhere:*"

# Programs can be probed where the kernel has uprobes, and tracefs names tracepoints.
lacking=
[ -e /sys/bus/event_source/devices/uprobe ] || lacking="this kernel has no uprobes"
"$ctl" list sched:sched_switch >/dev/null 2>&1 || lacking="tracefs cannot be read"
[ -z "$lacking" ] || skip "$lacking: probes were not tested"
run 0 record -e "uprobe:$work/target:work(n=%di:s32,what=arg2:string,low=%di:x8)" \
	-e "uretprobe:$work/target:work" -e 'sched:sched_process_*' -o probes -- ./target
[ "$(count probes work)" = 2000 ] || fail "uprobes"
"$ctl" dump probes --event work >dump
sed -n 199p dump | grep -q 'work/begin n=99 what="cold text" low=0x63$' ||
	fail "fields of a uprobe: $(sed -n 199p dump)"
sed -n 200p dump | grep -q 'work/end .* *ret=297$' || fail "result of a function"
"$ctl" dump probes --event sched_process_exec >dump
[ "$(grep -c 'filename="./target"' dump)" = 1 ] || fail "tracepoint"

# --- many tracepoints ---------------------------------------------------------

# All kinds of events begin with the recording, although attaching takes seconds: the ends of
# calls, which are attached last, are as many as the starts. The limit of descriptors is too low
# for all programs; the recorder raises it, but not that of the command.
python3 -c 'import os, time
open("calling", "w")
while True:
	os.getppid()
	time.sleep(0.002)' & track caller
until [ -e calling ]; do sleep 0.1; done
many=(-e raw_syscalls:sys_enter -e 'irq:*' -e 'timer:*' -e 'sched:*' -e raw_syscalls:sys_exit)
(ulimit -Sn 100 && run 0 record -v --json "${many[@]}" -p $caller --duration 1 -o together) || exit 1
! grep -q '^attaching ' "$work/err" || {	# not on a machine that takes less than half a second
	sed -n '/^attaching /,$p' "$work/err" | grep -q '^recording: ' || fail "progress"
	! sed '1,/^recording: /d' "$work/err" | grep '^attaching ' || fail "attached too late"
}
kill $caller
starts=$(count together sys_enter) ends=$(count together sys_exit)
[ "$starts" -gt 10 ] && [ $((starts - ends)) -le 1 ] && [ $((ends - starts)) -le 1 ] ||
	fail "$starts starts of calls, $ends ends"
(ulimit -Sn 100 && run 0 record "${many[@]}" -o few -- sh -c 'ulimit -Sn >descriptors') || exit 1
[ "$(cat descriptors)" = 100 ] || fail "the command has another limit: $(cat descriptors)"
(ulimit -n 100 && run_says 1 'too many open files; raise the limit' \
	record "${many[@]}" -o refused -- true) || exit 1
[ ! -e refused ] || fail "a directory was made"
# What the rate limit drops before the recording begins is not counted: these calls end when the
# recording's files exist.
python3 -c 'import os, time
calls = 0
while not os.path.exists("early"):
	os.getppid()
	calls += 1
	if calls == 1000:
		open("called", "w")
print(calls, flush=True)
time.sleep(1000)' >calls & track caller
until [ -e called ]; do sleep 0.1; done
run 0 record --json -e syscalls "${many[@]}" -p $caller --rate-limit 50 --duration 0.5 -o early
wait_for "the caller has printed" test -s calls
kill $caller
dropped=$(python3 -c 'import json, sys
print(sum(e["dropped"] for e in json.load(sys.stdin)["rate_limited"]
	  if e["event"] == "sys_getppid/begin"))' <"$work/out")
[ $((dropped * 2)) -lt "$(cat calls)" ] || fail "$dropped calls dropped, of $(cat calls) before"

# --- time namespaces ----------------------------------------------------------------

# Kernel events have right times, and none is missing, if the recorder is in a time namespace:
# the first event of a thread comes soon after its execve. If the offsets cannot be read,
# events that cannot have their times are counted.
real=$ctl
inside() {	# OFFSET BEFORE: makes trace-ctl run in a time namespace, after the command BEFORE
	printf '#!/bin/sh\nexec unshare --mount --time --monotonic %s --boottime %s --fork %s\n' \
		"$1" "$1" "sh -c '$2; exec \"\$@\"' - $real \"\$@\"" >inside
	chmod 755 inside
	ctl=./inside
}
for offset in 600 -20 86400; do
	inside "$offset" true
	run_says 0 'recorded + 0 lost$' record -e sched_switch -e syscalls -o "offset$offset" -- "$emit" 5
	"$real" dump --json "offset$offset" | python3 -c '
import json, sys
begun, first = {}, {}
for line in sys.stdin:
    e = json.loads(line)
    if e["event"] == "sys_execve" and e["kind"] == "end":
        begun[e["tid"]] = int(e["time_ns"])
    elif e["channel"] == "default" and e["tid"] in begun:
        first.setdefault(e["tid"], int(e["time_ns"]))
assert first and all(0 <= t - begun[tid] < 10e9 for tid, t in first.items()), (begun, first)
' || fail "times with an offset of $offset s"
done
for offset in 600 -600; do
	[ "$(cut -d. -f1 /proc/uptime)" -gt 700 ] || continue	# CLOCK_MONOTONIC is positive
	inside "$offset" 'mount --bind /dev/null /proc/$$/timens_offsets'
	run_says 3 'kernel events not recorded: their times are before the recording' \
		record -e syscalls -o "hidden$offset" -- true
	says 'LOST: refused [1-9]'
done
ctl=$real

# --- a place that does not exist --------------------------------------------

refuse() {	# PATTERN PROBE
	run_says 1 "kernel events: .*$1" record -e "$2" -o refused -- true
	[ ! -e refused ] || fail "$2: a directory was made"
}
refuse "did you mean 'sched:sched_waking'" sched:sched_wakink
refuse 'sched:none: this kernel has no such tracepoint' sched:none
refuse "uprobe:.*not a probe" uprobe:./target:
refuse 'nowhere: No such file' uprobe:nowhere:main
refuse "'n': not a field" "uprobe:./target:work(n)"
refuse "'n': not a field" "uprobe:./target:work(n=%zz)"
refuse "'u65' is not a type" "uprobe:./target:work(n=%di:u65)"
refuse "./target: no function 'missing'" uprobe:./target:missing
refuse "not a probe; use SYSTEM:EVENT" a:b:c
