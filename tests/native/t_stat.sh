#!/bin/bash
# SPDX-License-Identifier: MIT
# stat's arithmetic: a made-up recording whose system calls, switches, losses
# and times are known is told as what it is.
# shellcheck source=tests/native/record.sh
. "$(dirname "$0")/record.sh"

${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE -I"$top/kmod/uapi" -I"$top/lib" \
	-I"$top/lib/include" -o "$work/made" "$top/tests/native/made.c" \
	"$build/lib/libtsctrace.a" -lm
mkdir "$work/a"
"$work/made" "$work/a"

run 3 stat "$work/a"
says '9 events were lost while recording: full 7 no_ring 2'
cat >"$work/want" <<'END'
command    make
host       node\x1b
kernel     6.1
recorded   2026-01-01 00:00:10.000000 to 2026-01-01 00:00:20.000000, 10.000000 s
rings      module
clock      tsc at 1000.000000 MHz (within 12 ppb), holdover by module; times within 1501 ns
           DISRUPTED meanwhile (a step, a suspend): times on either side do not agree
files      602 bytes, 54.73 an event, 17.09 of them payload
ticks      tsc; at most 1 events after the first on one

CPU              events         lost
0                     7            0
1                     4            7  kernel full 7
all                  11

channel          event                    kind            count
kernel           sys_enter                instant             4
kernel           sys_exit                 instant             4
kernel           sched_switch             instant             3
kernel           never                    counter             0

system call               calls       total ms      mean us       max us
write                         1       2000.000  2000000.000  2000000.000
read                          2          4.000     2000.000     3000.000
1 more had not returned at the end

thread      switched in  name
12                    2  two\x07
11                    1  one
END
TZ=UTC run 3 stat "$work/a"
diff "$work/want" "$work/out" || fail "text"

run 3 stat --json "$work/a"
tr -d ' \n' <"$work/out" >"$work/flat"
for want in '"begin_ns":1767225610000000000' '"end_ns":1767225620000000000' \
		'"events":11' '"rate_hz":1000000000.0' '"error_ns":1501' \
		'"timestamps":"tsc","sync_every":0,"bytes":602,"payload_bytes":188,' \
		'"most_on_tick":1}' '"rate_error_ppb":12' '"disrupted":true' '"lost_no_ring":2' \
		'{"number":1,"name":"write","calls":1,"total_ns":2000000000,"mean_ns":2000000000,"max_ns":2000000000},{"number":0,"name":"read","calls":2,"total_ns":4000000,"mean_ns":2000000,"max_ns":3000000}' \
		'"threads":[{"tid":12,"name":"two\u0007","switched_in":2},{"tid":11,"name":"one","switched_in":1}]' \
		'{"channel":"kernel","event":"never","kind":"counter","count":0}'; do
	grep -qF -- "$want" "$work/flat" || fail "JSON without $want"
done
