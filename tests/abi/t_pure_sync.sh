#!/bin/sh
# SPDX-License-Identifier: MIT
# lib/ntp, lib/fit, lib/reference, lib/sync, and the barriers and participants of daemon/collective
# are pure except for memory and MACs: their objects call each other, lib/core, lib/estimate, array.c, hash.c and the readers of digits in text.c of
# lib/base, libc's functions for memory and text, libm and nettle; the reader of key files (auth.c)
# also the stream that it is given.
# They read no clock, draw no random numbers, open, send and print nothing, and have no
# writable data.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
. tests/abi/pure.sh
O=${O:-build}
text='str(len|nlen|cmp|ncmp|chr|str|dup|toul|tol|tod|error)|__isoc23_strto(ul|l)|v?snprintf|__ctype_b_loc|inet_(ntop|pton)'
memory='mem(cpy|set|cmp|move|chr)|explicit_bzero|malloc|calloc|realloc|free|qsort(_r)?|__errno_location'
math='sqrt|cbrt|fabs|floor|ceil|l?l?r(int|ound)|trunc|ldexp|frexp|fm(in|ax|od)|exp|expm1|log(10|2|1p)?|pow|hypot|erfc?|nextafter|__u?(div|mod|divmod)ti[34]'
compiler='_GLOBAL_OFFSET_TABLE_|__stack_chk_fail'
allowed="$text|$memory|$math|$compiler|nettle_[a-z0-9_]+"

# A core build has no lib/reference and no daemon/collective.
objects=$(ls "$O"/lib/ntp/*.o "$O"/lib/fit/*.o "$O"/lib/reference/*.o "$O"/lib/sync/*.o \
	"$O"/daemon/collective/[ps]*.o) || :
own=$(nm --defined-only $objects "$O"/lib/core/*.o "$O"/lib/clockpage/*.o "$O"/lib/base/hash.o "$O"/lib/base/array.o \
	"$O"/lib/estimate/*.o |
	awk 'NF == 3 {print $3}' | sort -u)
n=0
for obj in $objects; do
	n=$((n + 1))
	# Skips objects left over from an older build.
	source=${obj#"$O"/}
	[ -f "${source%.o}.c" ] || continue
	may="$allowed|tsct_digits_read(_all)?"
	[ "$(basename "$obj")" != auth.o ] || may="$may|getc|ferror|setvbuf"
	calls_only "$may" "$obj"
	holds_nothing "$obj"
done
[ "$n" -gt 10 ] || { echo "only $n objects of these folders in $O"; fail=1; }
echo "$n objects"
exit $fail
