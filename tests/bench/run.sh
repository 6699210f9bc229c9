#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [emit | clock]...        all, or these groups
#
# Measures, and prints "name value unit" lines. What a user would take instead
# is measured beside it in the same run, where it is installed. Never passes or
# fails anything: figures from a busy machine are only good for their ratios.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${O:-$(dirname "$(dirname "$here")")/build}

make -s -C "$here" O="$out"

printf '# %s\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" \
	"$(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r)"

lttng_session='' sessiond=''
stop_lttng() {
	[ -z "$lttng_session" ] || lttng -n destroy "$lttng_session" >/dev/null
	[ -z "$sessiond" ] || kill "$sessiond"
}
trap stop_lttng EXIT

# A snapshot session is LTTng's flight recorder: no consumer takes CPU time.
start_lttng() {
	if ! lttng -n list >/dev/null 2>&1; then
		lttng-sessiond --no-kernel >/dev/null 2>&1 &
		sessiond=$!
		timeout 10 sh -c \
			'until lttng -n list >/dev/null 2>&1; do sleep 0.1; done'
	fi
	lttng_session=tsctrace-bench-$$
	lttng -n create "$lttng_session" --snapshot >/dev/null
	lttng -n enable-event -u 'tsct_bench:*' >/dev/null
	lttng -n start >/dev/null
}

bench_emit() {
	other=''
	if [ -x "$out/bench/bench_lttng" ] && type lttng >/dev/null 2>&1; then
		start_lttng
		other=$out/bench/bench_lttng
	fi
	"$out/bench/bench_emit" ${other:+"$other"}
}

bench_clock() {
	"$out/bench/bench_clock"
	"$out/bench/bench_rate"
}

[ $# -gt 0 ] || set -- emit clock
for group in "$@"; do
	"bench_$group"
done
