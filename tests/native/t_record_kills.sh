#!/bin/bash
# SPDX-License-Identifier: MIT
# Kills recorders and daemons with SIGKILL while kernel events and programs' events are
# recorded: each recording can be read, no event is missing between its first and its last
# one unless it is counted as lost, sums are exact where the recorder lives, and nothing
# stays attached, mapped or on disk. KILLS: number of kills (9).
# test-wing: kernel
. "$(dirname "$0")/record.sh"
need bpftool comm

export TSCTRACE_PROVIDER=daemon
PATH=$PATH:/usr/sbin
cd "$work"
needs_kernel_events
kernel_events=(-e sched -e syscalls)
! has_wing probes || kernel_events+=(-e 'irq:*')
RANDOM=${SEED:-$((RANDOM + 1))}
echo "seed ${SEED:-random}; ${KILLS:=9} kills"

# Memory of the system that no process gives back by itself, KiB
kernel_memory() {
	awk '/^(Shmem|SUnreclaim):/ { sum += $2 } END { print sum }' /proc/meminfo
}

# Fails unless the numbers of each thread's events rise by 1, but for events that were lost.
# A killed recorder has not written the last events of each CPU: later events of another CPU,
# to which a thread went, do not follow them.
check_recording() {	# DIR KILLED
	local lost
	[ -e "$1/metadata" ] || return 0	# killed before its first event
	# The exit status is 3, as the recording is incomplete.
	"$ctl" stat --json "$1" >stat 2>err || [ $? = 3 ] ||
		fail "$1 cannot be read: $(cat err)"
	lost=$(stat_of "$1" 'sum(v for v in (s["lost"] or {}).values() if isinstance(v, int))')
	"$ctl" dump "$1" >all 2>err || [ $? = 3 ] || fail "dump of $1: $(cat err)"
	grep ' tick ' all >ticks || return 0
	awk -v lost="$lost" -v killed="$2" -v cpus="$(nproc)" '
	NR == FNR {
		written[$2] = $1
		next
	}
	FNR == 1 {
		for (cpu in written)
			if (!until || written[cpu] < until)
				until = written[cpu]
		if (length(written) < cpus)
			until = 0
	}
	killed && $1 > until { exit }
	{
		thread = $(NF - 1)
		nr = substr($NF, 4) + 0
		if (thread in last && nr != last[thread] + 1) {
			missing += nr - last[thread] - 1
			print "after", line[thread], ":", $0
			if (nr <= last[thread])
				bad = 1
		}
		last[thread] = nr
		line[thread] = $0
	}
	END { exit bad || missing > lost }' ticks ticks >gaps ||
		fail "$1: events are missing, $lost are counted as lost, killed $2: $(head gaps)"
	events=$((events + $(wc -l <ticks)))
}

start_daemon
"$emit" 100000000 2 30 >/dev/null &
until_written default 100
bpf_objects >before
events=0 recorders=0 daemons=0
for ((round = 0; round < KILLS; round++)); do
	"$ctl" record -q -a "${kernel_events[@]}" -o "r$round" 2>err.record & track recorder
	sleep "0.$((RANDOM % 9))$((RANDOM % 9 + 1))"
	if ((RANDOM % 3)); then
		kill -9 "$recorder" || fail "the recorder has ended: $(cat err.record)"
		wait "$recorder" 2>/dev/null || true
		recorders=$((recorders + 1)) daemon_killed=0
	else
		[ -e "r$round/metadata" ] || until_in "r$round/metadata" clock
		stop_daemon -9
		daemons=$((daemons + 1)) daemon_killed=1
		sleep 0.3
		kill -INT "$recorder"
		wait "$recorder" || [ $? = 3 ] || fail "record: $(cat err.record)"
		# The exit status says that programs that started without a daemon are missing.
		run 3 stat --json "r$round"
		holds out 'j["sum"]["exact"]'
		start_daemon
	fi
	check_recording "r$round" $((! daemon_killed))
	rm -rf "r$round"
	((round)) || memory=$(kernel_memory)
done
echo "$recorders recorders and $daemons daemons killed, $events events compared"
[ "$events" -gt 0 ] || fail "no event was recorded"

note_new_bpf before
until_removed
# Other programs need memory, too, but for a while only.
has_memory() {
	grown=$(($(kernel_memory) - memory))
	[ "$grown" -lt 65536 ]
}
wait_for "kernel memory grew by less than 64 MiB" has_memory
echo "kernel memory: $grown KiB more"
# The next recorder removes what killed ones have left, when it is old enough.
find "$XDG_RUNTIME_DIR" -name 'tsctrace-*' -exec touch -d '1 minute ago' {} +
TSCTRACE_PROVIDER=embedded run 0 record -q -o last -- "$emit" 10 1
left=$(find "$XDG_RUNTIME_DIR" -name 'tsctrace-*' | wc -l)
[ "$left" = 0 ] || fail "$left directories of killed recorders are left"
