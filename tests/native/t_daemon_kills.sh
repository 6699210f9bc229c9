#!/bin/bash
# SPDX-License-Identifier: MIT
# Starts and kills KILLS (1000) daemons while threads read their clocks (killer.c).
# test-waits: yes
# test-timeout: 400
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=${O:-$top/build}
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
seed=${SEED:-$(date +%s)}
echo "seed $seed"

${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top" \
	-I"$top/kmod/uapi" -I"$top/lib/include" -o "$work/killer" "$top/tests/native/killer.c" \
	"$out/lib/libtsctrace.a" -lm
# Three killer processes run in parallel, each with its own daemon, as a killer process
# mostly waits for its daemon.
kills=${KILLS:-1000} parts=3 status=0
for ((i = 0; i < parts; i++)); do
	"$work/killer" "$out/daemon/tsctraced" "$work/run$i" \
		$(((kills + i) / parts)) $((seed + i)) >"$work/out$i" 2>&1 &
	pids+=($!)
done
for ((i = 0; i < parts; i++)); do
	wait "${pids[i]}" && cat "$work/out$i" && continue
	status=1
	cat "$work/run$i.log" || true
	sed 's/^/FAILED: /' "$work/out$i"
done
pids=()
exit $status
