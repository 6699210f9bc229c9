#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [emit | clock | codec | file | record | merge | python]... - runs these benchmarks, or all
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

# Measures the events recorded per second while two writers emit without a pause, and the
# recorder competes with them for the CPUs. tsctrace and LTTng have rings of equal size.
record_figures() {	# PREFIX EVENTS BYTES TRIED PAYLOAD-BYTES
	awk -v p="$1" -v events="$2" -v bytes="$3" -v tried="$4" -v s="$seconds" \
		-v payload="$5" \
		'BEGIN { printf "%s_tried_per_s %.0f events/s\n", p, tried / s
			 printf "%s_per_s %.0f events/s\n", p, events / s
			 printf "%s_disk %.1f MB/s\n", p, bytes / s / 1e6
			 printf "%s_overhead_bytes_per_event %.2f bytes\n", p,
				 bytes / events - payload
			 printf "%s_lost %.1f %%\n", p, 100 * (1 - events / tried) }'
}

record_ours() {
	local tried events
	rm -rf "$work/ours"
	XDG_RUNTIME_DIR=$work "$out/tools/trace-ctl" record -q -o "$work/ours" \
		-- "$out/bench/flood" "$seconds" 0 2 >"$work/out" \
		2>/dev/null || [ $? = 3 ]
	read -r _ tried _ events _ <"$work/out"
	record_figures record "$events" "$(du -sb "$work/ours" | cut -f1)" \
		"$tried" 12
}

record_lttng() {
	local tried events
	rm -rf "$work/lttng"
	start_lttng "--output=$work/lttng" $((4 << 20))
	read -r _ tried < <("$out/bench/bench_lttng_flood" "$seconds")
	lttng -n stop >/dev/null
	end_session
	events=$(count_events "$work/lttng")
	record_figures lttng_record "$events" \
		"$(du -sb "$work/lttng" | cut -f1)" "$tried" 8
}

bench_file() {
	"$out/bench/bench_file"
	"$out/bench/bench_drain"
}

bench_record() {
	seconds=${RECORD_SECONDS:-10}
	work=$(mktemp -d)
	record_ours
	if [ -x "$out/bench/bench_lttng_flood" ] && type lttng >/dev/null 2>&1; then
		record_lttng
	else
		echo '# lttng_record: not measured; install lttng-tools and' \
			'liblttng-ust-dev'
	fi
}

bench_merge() {
	O="$out" "$here/merge.sh"
}

[ $# -gt 0 ] || set -- emit clock codec file record merge python
for group in "$@"; do
	"bench_$group"
done
