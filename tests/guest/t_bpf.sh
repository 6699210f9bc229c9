#!/bin/sh
# SPDX-License-Identifier: MIT
# Kernel events of unmodified programs: all system calls of a process tree and of
# no other process, matching enter and exit, consecutive switches, and no events
# that were not requested.
# guest-test: timeout=180 needs=btf boot=default,unstable rt=yes
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
cd "$(mktemp -d)"

other=
trap '[ -z "$other" ] || kill -9 $other 2>/dev/null || true' EXIT

record() {
	trace-ctl record "$@" >record.out 2>&1 || fail "record $* gave $?: $(cat record.out)"
}

dump() {
	trace-ctl dump --raw "$1" >lines || fail "dump of $1"
	# Lines of all system calls have one form: sys_enter and sys_exit with id=NAME
	sed -E 's|sys_([a-z0-9_]+)/begin|sys_enter id=\1|
		s|sys_([a-z0-9_]+)/end|sys_exit id=\1|' lines >events
	[ -s events ] || fail "$1: no events"
}

# Lines of `events`: TIME [CPU] TID EVENT NAME=VALUE...
# field(name): value of the field NAME; of the field id=read(0), only the name "read"
library='
function field(name,    i, n) {
	for (i = 5; i <= NF; i++) {
		n = index($i, "=")
		if (substr($i, 1, n - 1) == name)
			return name == "id" ? substr($i, n + 1, \
				index($i "(", "(") - n - 1) : substr($i, n + 1)
	}
	return ""
}
function bad(what) {
	if (errors++ < 10)
		print "line " NR ": " what ": " $0
}
# Times are compared as text, since awk numbers have 53 bits; a longer number is later.
function before(a, b) {
	return length(a) != length(b) ? length(a) < length(b) : a "" < b ""
}
'

# --- a process tree ---------------------------------------------------------

# sethostname N times, each in a process of its own, and once in a process
# whose parent has ended. No other process in this guest calls it.
N=$(repeats "${TSCT_PROCESSES:-}" 13 37)
cat >work.sh <<END
for i in $(seq -s ' ' $N); do
	/bin/hostname guest
done
# The orphaned process closes its end of the pipe when it exits.
mkfifo orphan
( (sleep 0.2; exec /bin/hostname orphan) >orphan & )
cat orphan
END

# Another process, not traced, calls sync(2) all the time.
while :; do sync; echo >>synced; usleep 5000; done &
other=$!
wait_for "the other process calls sync" test -s synced
record -e sched -e syscalls -o tree -- sh work.sh
kill_now $other
other=
dump tree

awk -v n="$N" "$library"'
before($1, last[$2]) { bad("a stamp goes back on its CPU") }
{ last[$2] = $1; count[$4]++ }
$4 == "sys_enter" || $4 == "sys_exit" { ours[$3] = 1 }
$4 == "sys_enter" {
	id = field("id")
	if ($3 in open)
		bad("call within " open[$3])
	open[$3] = id
	enters[id]++
	if (id == "sethostname" && field("len") == "5")
		guests++
}
# The first recorded event of a process may be the exit of a system call: the process
# entered the call before trace-ctl began to record its events.
$4 == "sys_exit" && !($3 in seen) && !($3 in open) {
	id = field("id")
	if (id !~ /^(read|clone|clone3|fork|vfork)$/)
		bad("begins with the exit of " id)
	births++
}
$4 == "sys_exit" && ($3 in seen || $3 in open) {
	id = field("id")
	if (open[$3] != id)
		bad("exit, but " open[$3] " was entered")
	delete open[$3]
	exits[id]++
}
$4 ~ /^sys_/ { seen[$3] = 1 }
$4 == "sched_switch" {
	if (field("prev_tid") != $3)
		bad("switch from another than who writes it")
	from[++switches] = $3
	to[switches] = field("next_tid")
	states[field("prev_state")]++
}
END {
	for (i = 1; i <= switches; i++)
		if (!(from[i] in ours) && !(to[i] in ours))
			bad("switch " from[i] " to " to[i] " is not ours")
	if (enters["sethostname"] != n + 1 || exits["sethostname"] != n + 1)
		bad("sethostname: " enters["sethostname"] " enters, " \
		    exits["sethostname"] " exits, not " n + 1)
	if (guests != n)
		bad(guests " calls with 5 letters, not " n)
	if (enters["sync"] || exits["sync"])
		bad("sync, by somebody else")
	if (enters["execve"] < n + 2)
		bad(enters["execve"] " execve")
	# A system call without an exit event must be one that never returns.
	for (tid in open)
		if (open[tid] !~ /^(exit|exit_group)$/)
			bad(tid " never comes back from " open[tid])
	if (switches < n + 1 || !states["0x1"] || !(states["0x20"] + states["0x10"]))
		bad("too few switches: " switches)
	print count["sys_enter"] " enters, " count["sys_exit"] " exits, " \
		switches " switches, " births " processes"
	exit errors > 0
}' events || { cat record.out; fail "events of the process tree are wrong"; }

# --- threads ----------------------------------------------------------------

# Each thread is traced to its own end, and the process to its end.
export TSCTRACE_THREAD=no	# the library's own thread would be one more
record -e sys_enter -e sys_exit -o threads -- /usr/bin/jobs \
	"$(repeats "${TSCT_LOOPS:-}" 100000 200000)" 4
dump threads
awk "$library"'
$4 == "sys_enter" { last[$3] = field("id"); n[last[$3]]++; threads[$3] = 1 }
END {
	for (tid in threads) {
		nr++
		if (last[tid] !~ /^(exit|exit_group)$/)
			bad(tid " ends with " last[tid])
	}
	if (nr != 5 || n["exit"] != 4 || n["exit_group"] != 1 || !n["write"])
		bad(nr " threads, " n["exit"] " exit, " n["exit_group"] \
		    " exit_group, " n["write"] " write")
	exit errors > 0
}' events || fail "events of threads are wrong"

# --- the whole system -------------------------------------------------------

# On each CPU, the next thread of a sched_switch event is the previous thread of the
# CPU's next event. This is not checked at an event that names trace-ctl, nor at the
# event after it, because switches between trace-ctl and the idle task are not recorded.
cat >naps.sh <<'END'
i=0
while [ $i -lt 20 ]; do
	usleep 1000
	i=$((i + 1))
done
END
record -a -e sched_switch -o all -- sh naps.sh
dump all
awk "$library"'
$4 != "sched_switch" { bad("not asked for") ; next }
{
	switches++
	prev = field("prev_tid"); hidden = /_comm="?trace-ctl/
	if (($2 in next_tid) && prev != next_tid[$2] && !hidden && !was[$2])
		bad("after a switch to " next_tid[$2])
	next_tid[$2] = field("next_tid"); was[$2] = hidden
}
END {
	if (switches < 20)
		bad("only " switches " switches of 20 who slept")
	print switches " switches of all"
	exit errors > 0
}' events || fail "switches are not consecutive"

# --- one event only ---------------------------------------------------------

record -e sys_exit -o one -- hostname guest
dump one
awk '$4 != "sys_exit" { print; bad = 1 } / id=sethostname +ret=0$/ { n++ }
	END { exit bad || n != 1 }' events || fail "not only exits, one of them of this process"

# --- interrupts of the recorder -----------------------------------------------

# What interrupts do while the recorder runs is recorded, in its name; what it does itself is not.
i=0 interrupts=0
while [ $interrupts = 0 ]; do
	i=$((i + 1))
	[ $i -le 100 ] || fail "no event of an interrupt of the recorder"
	rm -rf own
	trace-ctl record -q -a -e syscalls -e raw_syscalls:sys_enter -e irq:softirq_entry \
		-e irq_vectors:local_timer_entry --duration 1 -o own \
		-- dd if=/dev/zero of=/dev/null bs=1 >/dev/null 2>&1 &
	recorder=$!
	wait $recorder || true
	trace-ctl dump --raw own 2>/dev/null | awk -v tid=$recorder '$3 == tid { print $4 }' >ours
	interrupts=$(grep -cE '^(softirq|local_timer)_entry$' ours) || true
	! grep '^sys_' ours || fail "the recorder recorded its own system calls"
done
echo "$interrupts interrupts of the recorder"

# --- without rights ---------------------------------------------------------

chmod 666 /dev/tsctrace
if su -s /bin/sh nobody -c 'trace-ctl record -e sched -o /tmp/nobody -- true' >out 2>&1
then
	fail "an unprivileged user recorded kernel events"
fi
cat out
grep -q 'kernel events.*root' out || fail "no hint at the needed rights"
[ ! -e /tmp/nobody ] || fail "an output directory is left behind"
