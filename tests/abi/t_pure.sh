#!/bin/sh
# SPDX-License-Identifier: MIT
# lib/abi, lib/core, lib/clockpage and lib/estimate are pure: their objects call each other, memory functions
# and, in lib/estimate, arithmetic from libm; nothing that reads a clock, allocates, prints or
# enters the kernel. Their headers and sources name no global that can be written.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
. tests/abi/pure.sh
O=${O:-build}
allowed='mem(cpy|set|cmp|move|chr)|str(len|nlen|cmp|ncmp|chr)|sqrt|fabs|floor|ceil|rint|llrint|ldexp|frexp|fm(in|ax)|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail'

objects=$(ls "$O"/lib/abi/*.o "$O"/lib/core/*.o "$O"/lib/clockpage/*.o "$O"/lib/estimate/*.o)
own=$(nm --defined-only $objects | awk 'NF == 3 {print $3}' | sort -u)
n=0
for obj in $objects; do
	n=$((n + 1))
	calls_only "$allowed" "$obj"
	holds_nothing "$obj"
done
echo "$n objects"
exit $fail
