#!/bin/bash
# SPDX-License-Identifier: MIT
# tsct_timesync() from Fortran: the module compiles as Fortran 2008 without a warning, and
# two processes of a node wait for each other.
# test-wing: collective
. "$(dirname "$0")/sync.sh"
command -v gfortran >/dev/null || skip "gfortran not found: install gfortran"
gfortran -std=f2008 -Wall -Wextra -Werror -O2 -J "$work" -o "$work/timesync" \
	"$top/lib/include/tsctrace/tsctrace.f90" "$here/timesync.f90" \
	-L"$out/lib" -ltsctrace
export LD_LIBRARY_PATH=$out/lib
net solo
printf 'name solo\nserve\nallow 127.0.0.1\n' >"$work/solo/conf"

in_dir solo "$work/timesync" 1000 2 0 >"$work/out"
grep -qx "join -2 \[$work/solo/control.sock: no daemon; start tsctraced\]" "$work/out" ||
	fail "without a daemon: $(cat "$work/out")"
grep -qx "timesync -2 \[.*no daemon; start tsctraced\]" "$work/out" ||
	fail "without a daemon: $(cat "$work/out")"

start solo
wait_for "the daemon has a clock" synced solo
in_dir solo "$work/timesync" 60000 2 0 >"$work/one" & track first
in_dir solo "$work/timesync" 60000 2 1 >"$work/two" || fail "$(cat "$work/two")"
wait "$first" || fail "$(cat "$work/one")"
for i in one two; do
	printf 'join 0 []\ntimesync 0 []\n' | cmp -s - <(head -n 2 "$work/$i") ||
		fail "two processes: $(cat "$work/$i")"
	grep -qx 'cut -22 \[42949\]' "$work/$i" || fail "a short text: $(cat "$work/$i")"
done
one_is_missing() {
	in_dir solo "$work/timesync" 300 2 0 >"$work/one" || return
	grep -qx 'timesync -110 \[.*: solo: 1 of 2 processes (1 not joined) is missing\]' \
		"$work/one"
}
steadily one_is_missing || fail "one of two: $(cat "$work/one")"
