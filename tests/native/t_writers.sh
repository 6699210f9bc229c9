#!/bin/bash
# SPDX-License-Identifier: MIT
# Ten thousand killed writers, and a thousand concurrent threads that also fork; then
# fewer of both, and the stress test, with delays between the instructions of the
# critical sections.
# test-timeout: 600
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=${O:-$top/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seed=${SEED:-$(date +%s)}
echo "seed $seed"
lib=$top/lib
flags=(-O2 -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/kmod/uapi"
	-I"$lib/include" -I"$top")

${CC:-cc} "${flags[@]}" -o "$work/writers" "$top/tests/native/writers.c" \
	"$out"/lib/libtsct{provider,race}.a -lm
timeout 120 "$work/writers" kill "${KILLS:-10000}" "$seed"
timeout 60 "$work/writers" threads 1024

# Runs writers.c again, and the stress test, with a library that is built with delays
# in its critical sections.
mapfile -t sources < <(make -s -C "$lib" program-sources)
stretched=(-include "$top/tests/native/inject.h" -fno-pie -no-pie)
pids=()
for name in writers check; do
	case $name in
	writers) programs=("$top/tests/native/writers.c") ;;
	check) programs=("$top"/tests/unit/{main,check_stress}.c) ;;
	esac
	# shellcheck disable=SC2046
	${CC:-cc} "${flags[@]}" "${stretched[@]}" -o "$work/slow_$name" \
		"${programs[@]}" "${sources[@]}" \
		$(pkg-config --cflags --libs check) -lm &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
objdump -d "$work/slow_writers" | grep -c 'pause' |
	{ read -r n; [ "$n" -gt 200 ] || { echo "only $n delays"; exit 1; }; }
timeout 60 "$work/slow_writers" kill 1000 "$seed"
timeout 60 "$work/slow_writers" threads 1024
CK_VERBOSITY=normal timeout 120 "$work/slow_check"
