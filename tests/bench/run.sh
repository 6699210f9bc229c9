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
measure_lttng() {
	if [ ! -x "$out/bench/bench_lttng" ] || ! type lttng >/dev/null 2>&1; then
		echo '# lttng_ust_ns: not measured; install lttng-tools and' \
			'liblttng-ust-dev'
		return
	fi
	if ! lttng -n list >/dev/null 2>&1; then
		lttng-sessiond --no-kernel >/dev/null 2>&1 &
		sessiond=$!
		timeout 10 sh -c \
			'until lttng -n list >/dev/null 2>&1; do sleep 0.1; done'
	fi
	lttng_session=tsctrace-bench-$$
	lttng -n create "$lttng_session" --snapshot >/dev/null
	lttng -n enable-event -u tsct_bench:event >/dev/null
	lttng -n start >/dev/null
	"$out/bench/bench_lttng"
}

bench_emit() {
	"$out/bench/bench_emit" | tee "$out/bench/emit.txt"
	measure_lttng > "$out/bench/lttng.txt"
	cat "$out/bench/lttng.txt"
	awk '$1 == "emit_user_ns" { ours = $2 }
	     $1 == "lttng_ust_ns" { printf "emit_user_vs_lttng_ust %.3f ratio\n",
				    ours / $2 }' \
		"$out/bench/emit.txt" "$out/bench/lttng.txt"
}

bench_clock() {
	"$out/bench/bench_clock"
	"$out/bench/bench_rate"
}

[ $# -gt 0 ] || set -- emit clock
for group in "$@"; do
	"bench_$group"
done
