#!/bin/sh
# SPDX-License-Identifier: MIT
# lib/sync is pure but for memory and MACs: its objects call each other, lib/core,
# libc's functions for memory and text, libm, nettle; what reads a key file, the
# stream that it was given. Nothing that reads a clock, draws random numbers, opens,
# sends or prints; and none of them has data that can be written.
# test-parallel: yes
# test-seconds: 3
set -eu
cd "$(dirname "$0")/../.."
. tests/abi/pure.sh
O=${O:-build}
text='str(len|nlen|cmp|ncmp|chr|str|dup|toul|tol|tod|error)|v?snprintf|__ctype_b_loc|inet_(ntop|pton)'
memory='mem(cpy|set|cmp|move|chr)|explicit_bzero|malloc|calloc|realloc|free|qsort|__errno_location'
math='sqrt|cbrt|fabs|floor|ceil|l?l?r(int|ound)|trunc|ldexp|frexp|fm(in|ax|od)|exp|expm1|log(10|2|1p)?|pow|hypot|erfc?|nextafter|__u?(div|mod|divmod)ti[34]'
compiler='_GLOBAL_OFFSET_TABLE_|__stack_chk_fail'
allowed="$text|$memory|$math|$compiler|nettle_[a-z0-9_]+"

ls "$O"/lib/sync/*.o >/dev/null
own=$(nm --defined-only "$O"/lib/sync/*.o "$O"/lib/core/*.o | awk 'NF == 3 {print $3}' |
	sort -u)
n=0
for obj in "$O"/lib/sync/*.o; do
	n=$((n + 1))
	# Of a file that is gone: left over from an older build
	[ -f "lib/sync/$(basename "$obj" .o).c" ] || continue
	may=$allowed
	[ "$(basename "$obj")" != keys.o ] || may="$may|getc|ferror|setvbuf"
	calls_only "$may" "$obj"
	holds_nothing "$obj"
done
[ "$n" -gt 10 ] || { echo "only $n objects of lib/sync in $O"; fail=1; }
echo "$n sync objects"
exit $fail
