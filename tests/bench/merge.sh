#!/bin/bash
# SPDX-License-Identifier: MIT
#
# merge.sh [merge] - time and memory of a merge of two recordings of 10 M events each;
# with the argument, of the merge alone
#
# Prints "name value unit" lines, and targets. Uses one CPU and files in memory
# (/dev/shm, or $TMPDIR); a result is the median of $RUNS runs. babeltrace2 reads the
# same files on the same CPU. LTTng's files contain its own events, also of 8 bytes. The
# recordings are generated once, and stay in build/.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$(dirname "$here")")
out=${O:-$top/build}
events=${EVENTS:-10000000} runs=${RUNS:-7}
tool=$out/bench/merge_tool world=$out/bench/world ctl=$out/tools/trace-ctl
made=$out/bench/merge-$events

make -s -C "$here" O="$out" "$tool" "$world"

# shellcheck source=tests/bench/lttng.sh
. "$here/lttng.sh"
work=$(mktemp -d "${TMPDIR:-/dev/shm}/tsctrace-merge-XXXXXX")

core=${CORE:-$(taskset -pc $$ | sed 's/.*[:,-] *//')}

make_recordings() {	# generates the recordings again if the generator is newer
	if [ ! "$made/made" -nt "$world" ]; then
		rm -rf "$made"
		mkdir -p "$made"
		"$world" "$made" big "$events"
		: >"$made/made"
	fi
	cp -r "$made/a" "$made/b" "$work"	# copies the recordings into memory
}

median() {	# COLUMN, lines on standard input
	awk -v c="$1" '{ print $c }' | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

rate() {	# NAME EVENTS SECONDS [TARGET]
	awk -v name="$1" -v n="$2" -v s="$3" -v t="${4:-}" 'BEGIN {
		printf "%s %.0f events/s%s\n", name, n / s, t ? " (wanted: " t ")" : "" }'
}

measure_merge() {
	local i status
	for ((i = 0; i < runs; i++)); do
		rm -rf "$work/merged"
		status=0
		"$tool" run "$core" "$ctl" merge -q --jobs 1 -o "$work/merged" \
			"$work/a" "$work/b" >>"$work/times" || status=$?
		[ "$status" = 0 ] || { echo "merge.sh: merge failed: exit status $status" >&2; exit 1; }
	done
	merge_s=$(median 1 <"$work/times")
	rate merge_events_per_second $((2 * events)) "$merge_s" '60000000 or more'
	rate merge_events_per_cpu_second $((2 * events)) "$(median 2 <"$work/times")"
	median 3 <"$work/times" |
		awk '{ printf "merge_peak_memory %.1f MiB (wanted: 64 or less)\n", $1 / 1024 }'
}

measure_reading() {	# HOW NAME
	local i
	: >"$work/read"
	for ((i = 0; i < runs; i++)); do
		"$tool" "$1" "$core" "$work/a" "$work/b" >>"$work/read"
	done
	[ "$(sort -u <(cut -d' ' -f1 "$work/read"))" = $((2 * events)) ] ||
		{ echo "merge.sh: merge_tool $1: not all events were read" >&2; exit 1; }
	rate "$2" $((2 * events)) "$(median 2 <"$work/read")"
}

measure_babeltrace() {
	local s
	if ! type babeltrace2 >/dev/null 2>&1; then
		echo '# babeltrace2_events_per_second: not measured; install babeltrace2'
		return
	fi
	read -r s _ < <("$tool" run "$core" babeltrace2 -o dummy "$work/a" "$work/b")
	rate babeltrace2_events_per_second $((2 * events)) "$s"
	awk -v a="$s" -v b="$merge_s" 'BEGIN {
		printf "merge_against_babeltrace2_reading %.1f times as fast\n", a / b }'
}

overhead() {	# NAME EVENTS BYTES [TARGET]
	awk -v name="$1" -v n="$2" -v b="$3" -v t="${4:-}" 'BEGIN {
		printf "%s %.2f bytes%s\n", name, b / n - 8, t ? " (wanted: " t ")" : "" }'
}

bytes_in() {	# DIR FILE-PATTERN
	find "$1" -type f -name "$2" -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'
}

# With CONTEXT vtid, LTTng's events contain the thread ID, as those of tsctrace do.
lttng_overhead() {	# NAME [CONTEXT]
	local dir=$work/lttng n
	rm -rf "$dir"
	create_session "--output=$dir"
	lttng -n enable-channel -u --num-subbuf 8 --subbuf-size 8M bench >/dev/null
	[ $# -lt 2 ] || lttng -n add-context -u -c bench -t "$2" >/dev/null
	lttng -n enable-event -u -c bench 'tsct_bench:event' >/dev/null
	lttng -n start >/dev/null
	"$out/bench/bench_lttng_flood" "${LTTNG_SECONDS:-1}" >/dev/null
	lttng -n stop >/dev/null
	end_session
	n=$(count_events "$dir")
	overhead "$1" "$n" "$(bytes_in "$dir" 'bench_*')"
}

measure_overhead() {
	overhead file_overhead_bytes_per_event $((2 * events)) \
		$(($(bytes_in "$work/a" 'default_*') + $(bytes_in "$work/b" 'default_*'))) \
		'3 or less, thread included'
	overhead merged_file_overhead_bytes_per_event $((2 * events)) \
		"$(bytes_in "$work/merged" 'default_*')" '3 or less, thread included'
	if ! { [ -x "$out/bench/bench_lttng_flood" ] && type lttng babeltrace2; } >/dev/null 2>&1; then
		echo '# lttng_file_overhead_bytes_per_event: not measured; install' \
			'lttng-tools, liblttng-ust-dev and babeltrace2'
		return
	fi
	lttng_overhead lttng_file_overhead_bytes_per_event
	lttng_overhead lttng_with_thread_file_overhead_bytes_per_event vtid
}

make_recordings
measure_merge
[ "${1:-}" != merge ] || exit 0
measure_reading decode decode_events_per_second
measure_reading order ordered_events_per_second
measure_babeltrace
measure_overhead
