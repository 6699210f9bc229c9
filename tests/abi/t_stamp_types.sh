#!/bin/sh
# SPDX-License-Identifier: MIT
# The compiler refuses a raw counter value where a unique stamp belongs, and a
# stamp where a counter value belongs.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

compiles() {	# EXPRESSION
	printf '#include <tsctrace/stamp.h>
int f(const struct tsct_clock *clock, uint64_t cycles, struct tsct_stamp stamp,
      struct tsct_time *time);
int f(const struct tsct_clock *clock, uint64_t cycles, struct tsct_stamp stamp,
      struct tsct_time *time)
{
	(void)cycles, (void)stamp, (void)clock, (void)time;
	return (int)(%s);
}\n' "$1" >"$tmp/x.c"
	cp "$tmp/x.c" "$tmp/x.cc"
	gcc -std=c99 -w -Ikmod/uapi -Ilib/include -fsyntax-only "$tmp/x.c" 2>"$tmp/err" &&
		g++ -std=c++11 -w -Ikmod/uapi -Ilib/include -fsyntax-only "$tmp/x.cc"
}

compiles 'tsct_clock_cycles_to_time(clock, cycles, time)'
compiles 'tsct_stamp_tick(stamp)'
fail=0
for mixed in 'tsct_clock_cycles_to_time(clock, stamp, time)' \
		'tsct_stamp_tick(cycles)' 'stamp - cycles'; do
	! compiles "$mixed" || { echo "compiles: $mixed"; fail=1; }
	grep -q 'error: ' "$tmp/err" || { echo "no error: $mixed"; fail=1; }
	sed -n "s|.*error: ||p" "$tmp/err" | head -n 1
done
exit $fail
