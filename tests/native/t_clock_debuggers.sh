#!/bin/bash
# SPDX-License-Identifier: MIT
# Slow programs (under strace and valgrind; gdb single-steps a sample), and a program
# without the TSC (PR_SET_TSC): none hangs, and no time is outside its error bound. Also
# checks that the library's constructor calibrates the clock, unless
# TSCTRACE_CALIBRATE=lazy.
# test-timeout: 400
. "$(dirname "$0")/lib.sh"
need gdb strace valgrind

export TSCTRACE_RUN_DIR=$work/none
n=0 failed=0 pids=() names=() patterns=()

# Starts a command, for up to 250 s; its output must match the pattern.
check() {	# NAME PATTERN COMMAND...
	names[n]=$1 patterns[n]=$2
	timeout -k 5 250 "${@:3}" >"$work/$n.log" 2>&1 &
	pids[n++]=$!
}
result() {	# NUMBER
	local status=0
	wait "${pids[$1]}" || status=$?
	if [ $status -eq 0 ] && grep -qE -- "${patterns[$1]}" "$work/$1.log"; then
		echo "ok $(($1 + 1)) - ${names[$1]}"
	else
		echo "not ok $(($1 + 1)) - ${names[$1]} (status $status)"
		failed=1
	fi
	tail -n 3 "$work/$1.log" | sed 's/^/# /'
}

# Breaks where a sample is due, then single-steps until it is published and the time is
# returned. Functions of the C library and the vDSO run at full speed: single-stepped,
# the vDSO's read loop would never end, as each tick of the kernel restarts it.
cat >"$work/step.gdb" <<'END'
set pagination off
handle SIGSTOP nostop noprint pass
break step_here
ignore 1 400
run
delete
python
import gdb, time
def sp():
    return int(gdb.parse_and_eval("$sp"))
time.sleep(1.5)
began, top, n = time.time(), sp(), 0
while sp() <= top and time.time() - began < 120:
    if int(gdb.parse_and_eval("$pc")) >> 40 == 0x7f:
        gdb.execute("finish", to_string=True)
    else:
        gdb.execute("stepi", to_string=True)
        n += 1
gdb.execute("echo stepped %d instructions, %s\\n" %
            (n, "done" if sp() > top else "and no end"))
end
continue
END
stepping() {
	gdb -q -batch -nx -x "$work/step.gdb" --args \
		"$helpers/timecheck" --read=1500 100 >"$work/gdb"
	grep -E 'stepped|reads' "$work/gdb"
	# 1000 steps or more: gdb stepped through a sample (thousands of instructions),
	# and not only through a conversion of cycles to time (hundreds).
	grep -qE 'stepped [0-9]{4,} instructions, done' "$work/gdb"
	grep -q 'exited normally' "$work/gdb"
}

# True if timecheck --idle sleeps MIN to MAX times. That program asks for no time, so all
# sleeps are those of the library, between the samples that calibrate the clock.
sleeps() {	# MIN MAX
	strace -f -e trace=nanosleep,clock_nanosleep -o "$work/calls.$$" \
		"$helpers/timecheck" --idle
	set -- "$1" "$2" "$(grep -c nanosleep "$work/calls.$$" || true)"
	echo "$3 sleeps"
	[ "$3" -ge "$1" ] && [ "$3" -le "$2" ]
}
sleeps_lazily() { TSCTRACE_CALIBRATE=lazy sleeps "$@"; }
export -f stepping sleeps sleeps_lazily
export work helpers

good=' 0 bad, .*synchronized'
echo 1..7
check "alone" "$good" "$helpers/timecheck" 3
check "without the TSC" "source monotonic_raw: .*$good" \
	"$helpers/timecheck" --no-tsc 3
check "under strace" "$good" strace -f -o "$work/calls" "$helpers/timecheck" 3
check "under valgrind" "$good" \
	valgrind -q --error-exitcode=9 "$helpers/timecheck" 4
check "single-stepped by gdb" "$good" bash -euc stepping
check "calibrates before main()" '' bash -euc 'sleeps 3 30'
check "not if told so" '' bash -euc 'sleeps_lazily 0 0'
for i in "${!pids[@]}"; do result "$i"; done
exit $failed
