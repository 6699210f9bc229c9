#!/bin/sh
# SPDX-License-Identifier: MIT
# Typed events from C and C++, by each compiler, standard and optimization:
# without a warning, in several files, in objects that are loaded and unloaded; and
# every event is in the recording, once.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; cat "$tmp/log" 2>/dev/null || true; exit 1; }
flags='-Wall -Wextra -Wpedantic -Werror -Ikmod/uapi -Ilib/include'
LD_LIBRARY_PATH=$O/lib
export LD_LIBRARY_PATH

cat >"$tmp/every.c" <<'END'
#include <tsctrace/event.h>
TSCT_EVENT(none, TSCT_KIND_INSTANT);
TSCT_EVENT(ints, TSCT_KIND_COUNTER, TSCT_U8(a), TSCT_S64(b), TSCT_U16_HEX(c),
	   TSCT_S32(d), TSCT_U64(e));
TSCT_EVENT(rest, TSCT_KIND_SEND, TSCT_U32(a), TSCT_F32(b), TSCT_F64(c),
	   TSCT_STRING(d), TSCT_BYTES(e, 3 * 4), TSCT_CHARS(f, sizeof(int)));
int use(void)
{
	return none_emit() + none_emit_unordered() + ints_emit(1, 2, 3, 4, 5) +
		ints_emit_unordered(1, 2, 3, 4, 5) + ints_enabled() +
		rest_emit(1, 2, 3, "4", "5 bytes more", "6") +
		rest_emit_unordered(1, 2, 3, "4", "5 bytes more", "6");
}
END
n=0
for compiler in gcc clang; do
	for std in gnu99 c99 gnu11 c17; do
		for opt in -O0 -O2 -Os; do
			echo 'int use(void);' | cat - "$tmp/every.c" >"$tmp/x.c"
			# shellcheck disable=SC2086
			$compiler -std=$std $opt $flags -Wshadow -fPIC -c \
				-o "$tmp/x.o" "$tmp/x.c" ||
				fail "$compiler -std=$std $opt"
			n=$((n + 1))
		done
	done
done
echo "$n ways to compile it in C"

# A large event is not put together on the stack, not even unoptimized.
cat >"$tmp/large.c" <<'END'
#include <tsctrace/event.h>
TSCT_EVENT(large, TSCT_KIND_INSTANT, TSCT_BYTES(a, 60000), TSCT_U16(b));
int use(const char *bytes);
int use(const char *bytes) { return large_emit(bytes, 1); }
END
# shellcheck disable=SC2086
gcc -O0 $flags -fstack-usage -c -o "$tmp/large.o" "$tmp/large.c" ||
	fail 'a large event'
awk '$2 > 4096 { exit 1 }' "$tmp/large.su" || fail 'stack of a large event'

# Invalid events do not compile.
for wrong in 'e, TSCT_KIND_RECEIVE + 1' 'e, 0, TSCT_BYTES(a, 0)' \
		'e, 0, TSCT_BYTES(a, 70000)' 'e, 0, TSCT_U8(a), TSCT_U8(a)' \
		"e, 0, TSCT_U8(a_name_of_more_than_thirty_one_characters)"; do
	printf '#include <tsctrace/event.h>\nTSCT_EVENT(%s);\n' "$wrong" \
		>"$tmp/wrong.c"
	# shellcheck disable=SC2086
	! gcc -std=gnu11 $flags -c -o "$tmp/x.o" "$tmp/wrong.c" 2>/dev/null ||
		fail "TSCT_EVENT($wrong) compiles"
done

for compiler in g++ clang++; do
	for how in '-std=c++11 -O0' '-std=c++17 -O2' '-std=c++20 -O2 -flto' \
			'-std=c++11 -O2 -ffunction-sections -Wl,--gc-sections'; do
		[ "$compiler $how" != 'clang++ -std=c++20 -O2 -flto' ] ||
			how='-std=c++20 -O1'
		# shellcheck disable=SC2086
		$compiler $how $flags -fPIC -o "$tmp/event" tests/abi/event.cc \
			tests/abi/event_part.cc -L"$O/lib" -ltsctrace -ldl \
			-pthread || fail "$compiler $how"
		# shellcheck disable=SC2086
		$compiler $how $flags -fPIC -shared -o "$tmp/part.so" \
			tests/abi/event_part.cc -L"$O/lib" -ltsctrace ||
			fail "$compiler $how -shared"
		rm -rf "$tmp/out"
		"$O/tools/trace-ctl" record -o "$tmp/out" -- "$tmp/event" \
			"$tmp/part.so" >"$tmp/log" 2>&1 || fail "$compiler $how"
		"$O/tools/trace-ctl" dump "$tmp/out" >"$tmp/log" || fail dump
		# Expected events of event.cc: 1 from main(), 3 from part_emit(), 2 from
		# the inline and the template function, 3 from the namespace, 1 from a
		# member function; 20 times 3 from the loaded shared object
		[ "$(wc -l <"$tmp/log")" = $((1 + 3 + 2 + 3 + 1 + 60)) ] ||
			fail "$(wc -l <"$tmp/log") events"
		[ "$(grep -c 'part=3 where="inline"' "$tmp/log")" = 22 ] ||
			fail 'inline'
		grep -q 'in_namespace  *a=-1 b=0xff c=1.5 d=-2.5 e=61626364 f="ef"' \
			"$tmp/log" || fail 'every type'
		echo "$compiler $how: passed"
	done
done
