#!/bin/sh
# SPDX-License-Identifier: MIT
# lib/core is pure: its objects call each other, memory functions and, where
# floating point is used, arithmetic from libm; nothing that reads a clock,
# allocates, prints or enters the kernel. Its headers and sources name no
# global that can be written.
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
allowed='mem(cpy|set|cmp|move|chr)|str(len|nlen|cmp|ncmp|chr)|sqrt|fabs|floor|ceil|rint|llrint|ldexp|frexp|fm(in|ax)|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail'

ls "$O"/lib/core/*.o >/dev/null
own=$(nm --defined-only "$O"/lib/core/*.o | awk 'NF == 3 {print $3}' | sort -u)
fail=0
n=0
for obj in "$O"/lib/core/*.o; do
	n=$((n + 1))
	for sym in $(nm -u "$obj" | awk '{print $2}'); do
		echo "$own" | grep -qx "$sym" && continue
		echo "$sym" | grep -qxE "$allowed" && continue
		echo "$(basename "$obj"): calls $sym"
		fail=1
	done
	# .data.rel.ro is constant: tables of pointers
	for sym in $(objdump -t "$obj" |
		awk '/ O (\.data|\.bss|\*COM\*)\t/ {print $NF}'); do
		echo "$(basename "$obj"): has writable data: $sym"
		fail=1
	done
done
echo "$n core objects"
exit $fail
