#!/bin/bash
# SPDX-License-Identifier: MIT
# A thousand daemons are killed while four threads read their clock.
# test-timeout: 400
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=${O:-$top/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seed=${SEED:-$(date +%s)}
echo "seed $seed"

${CC:-cc} -O2 -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/kmod/uapi" \
	-I"$top/lib/include" -o "$work/killer" "$top/tests/native/killer.c" \
	"$out/lib/libtsctrace.a" -lm
"$work/killer" "$out/daemon/tsctraced" "$work/run" "${KILLS:-1000}" "$seed" ||
	{ cat "$work/run.log"; exit 1; }
