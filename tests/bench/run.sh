#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [emit | clock | codec | file | record | merge | merge-ranks | python | answers]... - runs these benchmarks, or all
#
# Prints "name value unit" lines. Alternatives that are installed are measured in the
# same run. There is no pass or fail: on a busy machine only the ratios are meaningful.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${O:-$(dirname "$(dirname "$here")")/build}

make -s -C "$here" O="$out"

printf '# %s\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" \
	"$(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r)"

# shellcheck source=tests/bench/lttng.sh
. "$here/lttng.sh"

start_lttng() {	# OPTION-OF-CREATE [RING-BYTES]
	create_session "$1"
	[ $# -lt 2 ] || lttng -n enable-channel -u --discard --num-subbuf 4 \
		--subbuf-size $(($2 / 4)) bench >/dev/null
	lttng -n enable-event -u ${2:+-c bench} 'tsct_bench:*' >/dev/null
	lttng -n start >/dev/null
}

bench_emit() {
	other=''
	if [ -x "$out/bench/bench_lttng" ] && type lttng >/dev/null 2>&1; then
		# LTTng's flight recorder: no consumer takes CPU time.
		start_lttng --snapshot
		other=$out/bench/bench_lttng
	fi
	"$out/bench/bench_emit" ${other:+"$other"}
	end_session
}

bench_clock() {
	"$out/bench/bench_clock"
	"$out/bench/bench_rate"
}

# Into a flight recorder of the daemon, which needs no reader
bench_python() {
	local daemon run
	run=$(mktemp -d)
	export TSCTRACE_RUN_DIR=$run TSCTRACE_PROVIDER=daemon TSCTRACE_CHANNEL=bench
	"$out/daemon/tsctraced" --no-module 2>/dev/null &
	daemon=$!
	until "$out/tools/trace-ctl" channel create bench --policy overwrite \
		>/dev/null 2>&1; do
		kill -0 "$daemon"
		sleep 0.1
	done
	PYTHONPATH=$out/python /usr/bin/python3 "$here/python.py" || true
	kill "$daemon"
	wait "$daemon" || true
	rm -r "$run"
	unset TSCTRACE_RUN_DIR TSCTRACE_PROVIDER TSCTRACE_CHANNEL
}

bench_codec() {
	"$out/bench/bench_codec"
}

# Measures the events recorded per second while two writers emit, and the recorder
# competes with them for the CPUs. tsctrace and LTTng have rings of 4 MiB per CPU.
record_figures() {	# PREFIX EVENTS BYTES TRIED PAYLOAD-BYTES
	awk -v p="$1" -v events="$2" -v bytes="$3" -v tried="$4" -v s="$seconds" \
		-v payload="$5" \
		'BEGIN { printf "%s_tried_per_s %.0f events/s\n", p, tried / s
			 printf "%s_per_s %.0f events/s\n", p, events / s
			 printf "%s_disk %.1f MB/s\n", p, bytes / s / 1e6
			 printf "%s_overhead_bytes_per_event %.2f bytes%s\n", p,
				 bytes / events - payload,
				 p == "record" ? " (wanted: 2.65 or less)" : ""
			 printf "%s_share %.2f of what writers try%s\n", p, events / tried,
				 p == "record" ? " (wanted: 0.8 or more)" : ""
			 printf "%s_lost %.1f %%\n", p, 100 * (1 - events / tried) }'
}

# Each of both floods sets tried and events, and leaves the recording in a folder. The
# kernel shares out CPU time by sessions first: LTTng's recorder has one of its own, and so
# has ours, because the writers get another.
flood_ours() {	# RATE (0: no limit)
	rm -rf "$work/ours"
	XDG_RUNTIME_DIR=$work "$out/tools/trace-ctl" record -q --blocks 256 -o "$work/ours" \
		-- setsid -w "$out/bench/flood" "$seconds" "$1" 2 >"$work/out" \
		2>/dev/null || [ $? = 3 ]
	read -r _ tried _ events _ <"$work/out"
}

flood_lttng() {	# RATE (0: no limit)
	rm -rf "$work/lttng"
	start_lttng "--output=$work/lttng" $((4 << 20))
	read -r _ tried < <("$out/bench/bench_lttng_flood" "$seconds" "$1")
	lttng -n stop >/dev/null
	end_session
	events=$(count_events "$work/lttng")
}

# Lowers the rate of LTTng's writers until LTTng loses nothing, in steps of a tenth, then
# has ours emit at that rate.
record_at_lttng_rate() {
	local rate=$((tried / seconds))
	while [ "$events" -lt "$tried" ] && [ "$rate" -gt 1000 ]; do
		rate=$((rate * 9 / 10))
		flood_lttng "$rate"
	done
	echo "lttng_no_loss_rate $((tried / seconds)) events/s"
	flood_ours "$((tried / seconds))"
	awk -v tried="$tried" -v events="$events" -v s="$seconds" 'BEGIN {
		printf "record_at_lttng_rate_tried_per_s %.0f events/s\n", tried / s
		printf "record_at_lttng_rate_lost %.1f %% (wanted: 0.0)\n",
			100 * (1 - events / tried) }'
}

middle() {	# prints the median of five lines
	sort -n | sed -n 3p
}

# A recorder that has a CPU of its own, without writers, beside merge on one CPU. The rate
# of merge is by CPU time, as that of the recorder is of runs that nothing interrupts.
record_beside_merge() {
	local recorder merge
	for _ in 1 2 3 4 5; do
		"$out/bench/bench_drain" | sed -n 's/^drain_per_s \([0-9]*\).*/\1/p' \
			>>"$work/recorder"
		RUNS=1 O="$out" "$here/merge.sh" merge |
			sed -n 's/^merge_events_per_cpu_second \([0-9]*\).*/\1/p' \
			>>"$work/merge"
	done
	recorder=$(middle <"$work/recorder") merge=$(middle <"$work/merge")
	echo "recorder_own_cpu_per_s $recorder events/s"
	echo "merge_one_cpu_per_s $merge events/s"
	awk -v a="$recorder" -v b="$merge" 'BEGIN {
		printf "recorder_against_merge %.2f times (wanted: 1 or more)\n", a / b }'
}

bench_file() {
	"$out/bench/bench_file"
	"$out/bench/bench_drain"
}

bench_record() {
	local cpus tried events
	seconds=${RECORD_SECONDS:-10}
	work=$(mktemp -d)
	# Writers and recorders of both share two CPUs.
	cpus=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
	taskset -pc "$cpus" $$ >/dev/null
	flood_ours 0
	record_figures record "$events" "$(du -sb "$work/ours" | cut -f1)" "$tried" 12
	if [ -x "$out/bench/bench_lttng_flood" ] && type lttng babeltrace2 >/dev/null 2>&1; then
		flood_lttng 0
		record_figures lttng_record "$events" \
			"$(du -sb "$work/lttng" | cut -f1)" "$tried" 8
		record_at_lttng_rate
	else
		echo '# lttng_record: not measured; install lttng-tools,' \
			'liblttng-ust-dev and babeltrace2'
	fi
	record_beside_merge
}

bench_merge() {
	O="$out" "$here/merge.sh"
}

# Merges of many recordings, by the ranks of each MPI that is installed
bench_merge-ranks() {
	make -s -C "$here" O="$out" "$out/bench/world"
	python3 "$here/merge_ranks.py" "$out"
}

# Events per second that a user waits: stat --spans uses several CPUs. sqlite3 answers from a table of the same events, which it imports
# before, and babeltrace2 reads them.
answer() {	# NAME COMMAND...
	local TIMEFORMAT=%R took
	took=$({ time "${@:2}" >/dev/null 2>&1; } 2>&1) || true
	awk -v name="$1" -v n="$events" '{ printf "%s %.0f events/s\n", name, n / $1 }' <<<"$took"
}

span_answers() {	# [MODE]: writes a recording; sets: events
	rm -rf "$work/rec"
	mkdir "$work/rec"
	"$out/bench/spans" "$work/rec" "${EVENTS:-5000000}" 1 "$@"
	events=$("$ctl" query --csv "$work/rec" 'select count(*) from events' | tail -n 1)
	answer "stat_spans${1+_$1}" "$ctl" stat --spans "$work/rec"
	answer "report${1+_$1}" "$ctl" report -q -o "$work/html" "$work/rec"
}

bench_answers() {
	local events ctl=$out/tools/trace-ctl query="select count(*), sum(tid) from events"
	local groups='select name, tid, count(*) from events group by name, tid'
	work=$(mktemp -d "${TMPDIR:-/dev/shm}/tsctrace-answers-XXXXXX")
	# Two threads that stay on their CPUs; then 20 that change CPU, span and call at random,
	# which no CPU can predict
	span_answers nested
	span_answers
	answer export_perfetto "$ctl" export -q -f perfetto -o "$work/out" "$work/rec"
	rm "$work/out"
	answer query_sum "$ctl" query "$work/rec" "$query"
	answer query_groups "$ctl" query "$work/rec" "$groups"
	answer query_selected "$ctl" query "$work/rec" "select count(*) from events
		where name = 'job' and thread = 'none' and rel_ns > 1000"
	if type sqlite3 babeltrace2 >/dev/null 2>&1; then
		answer sqlite_import "$ctl" query -o "$work/db" "$work/rec" \
			'select time_ns, tid, name, thread from events'
		answer sqlite_sum sqlite3 "$work/db" "${query/events/result}"
		answer sqlite_groups sqlite3 "$work/db" "${groups/events/result}"
		answer babeltrace2_read babeltrace2 -o dummy "$work/rec"
	fi
	rm -r "$work"
}

[ $# -gt 0 ] || set -- emit clock codec file record merge python answers
for group in "$@"; do
	"bench_$group"
done
