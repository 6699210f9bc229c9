#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [all | SUITE]...         run test suites and add up their results
# run.sh guest [KERNEL]...        the guest suite on these kernels only
# run.sh fast                     unit tests, and the scripts of other suites
#                                 that have `test-fast: yes` in a comment
#
# A suite is a folder beside this file. `unit` is build/tests/unit/check_*
# (libcheck programs, built here), `guest` is guest/run.sh, any other consists
# of its scripts t_*.sh. A program prints TAP, or its exit status is the result:
# 0 passed, 77 skipped (its last line is the reason), else failed. A program that
# prints less TAP than it planned, exits with a status that contradicts its results,
# or exceeds its time limit (5 minutes, or `test-timeout: SECONDS` in a comment)
# has failed. Whole outputs stay in build/test-log/, random seeds in its file
# `seeds`. The failures are printed once more at the end, with their output.
# The last line is always "N passed, N failed, N skipped"; the exit
# status is 0 if something passed and nothing failed. TEST=GLOB picks tests of
# the guest suite.
#
# First, one on each CPU, run the programs of `unit` and the scripts of any suite with
# `test-parallel: yes` in a comment. A script may have it if it mostly computes: no daemon, no
# network, no failure on a busy CPU, no use of several CPUs. The longest ones run first, by the
# seconds in their comment `test-seconds: N`.
# The other programs run one after another, in the order of the suites, but beside them, one at a
# time, those with `test-waits: yes`. A script may have it if it mostly waits, passes on a busy
# machine, and records no events of the kernel: others count the BPF programs.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
out=$(realpath -m "${O:-$top/build}")
logs=$out/test-log
export O=$out CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=print_stacktrace=1
unset MAKEFLAGS MFLAGS MAKELEVEL

passed=0 failed=0 skipped=0
# The running programs, by the pid of their process group leader
declare -A running=() began=() limits=()
declare -A suite_passed=() suite_failed=() suite_skipped=()
trap 'for pid in "${!running[@]}"; do kill -- "-$pid" 2>/dev/null || true; done' EXIT
skips='' failures=''

# Counts the TAP results in a log, which may be of several programs. Prints "passed
# failed skipped planned"; planned is -1 if there is no plan.
count_tap() {
	awk '/^ok / { if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) s++; else p++ }
	     /^not ok / { f++ }
	     /^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1
	                      if ($1 == "1..0" && /[Ss][Kk][Ii][Pp]/) s++ }
	     END { print p + 0, f + 0, s + 0, planned ? plan : -1 }' "$1"
}

note_skips() {	# LABEL LOG
	skips+=$(sed -nE "s|^ok [0-9]+ -? ?(.*)# *SKIP:? ?(.*)|  $1: \1(\2)|Ip;
		s|^1\.\.0.*SKIP:? ?(.*)|  $1: \1|Ip" "$2")$'\n'
}

# Sets p, f and s, the numbers of passed, failed and skipped tests of one program, from
# its log and exit status.
judge() {	# LABEL LOG STATUS
	local planned why=
	read -r p f s planned < <(count_tap "$2")
	if [ "$planned" -lt 0 ] && [ $((p + f + s)) -eq 0 ]; then
		case $3 in
		0) p=1 ;;
		77) s=1 skips+="  $1: $(tail -n 1 "$2")"$'\n' ;;
		esac
	elif [ "$planned" -lt 0 ]; then
		why="it printed no plan"
	elif [ "$planned" -gt 0 ] && [ "$planned" -ne $((p + f + s)) ]; then
		why="it planned $planned tests and reported $((p + f + s))"
	fi
	case $3 in
	0) ;;
	77) [ "$s" -gt 0 ] || why="exit status 77 without a skipped test" ;;
	*) [ "$f" -gt 0 ] || why="exit status $3" ;;
	esac
	[ "$3" -ne 0 ] || [ "$f" -eq 0 ] || why="exit status 0 in spite of failures"
	[ $((SECONDS - start)) -lt "$limit" ] || why="killed after $limit s"
	[ -n "$why" ] || return 0
	f=$((f + 1)) failures+="  $1: $why"$'\n'
	echo "$1: $why"
	# For a program that prints no TAP, $failures gets the first line that begins
	# with "FAILED" and 12 lines after it, or without such a line the last 12 lines.
	[ "$planned" -ge 0 ] || failures+=$({ grep -a -m 1 -A 12 '^FAILED' "$2" ||
		tail -n 12 "$2"; } | cut -c 1-300 | sed "s|^|  $1: |")$'\n'
}

# Adds each failed test of a log to the variable "failures", with the comment lines (TAP)
# near it: some test programs print comments before the failure, some after it.
note_failures() {	# LABEL LOG
	failures+=$(grep -E -B 2 -A 10 '^not ok ' "$2" | grep -E '^(not ok|#|--)' |
		cut -c 1-300 | head -n 40 | sed "s|^|  $1: |")$'\n' || true
}

show() {	# LABEL LOG SECONDS
	echo "$1: $p passed, $f failed, $s skipped ($3 s)"
	[ "$f" -gt 0 ] || return 0
	grep '^not ok ' "$2" | sed 's/^/  /' || true
	echo "  --- end of $2:"
	tail -n "${SHOW:-60}" "$2" | sed 's/^/  | /'
}

launch() {	# LABEL COMMAND...; sets: pid
	local log=$logs/$1.log label=$1
	shift
	mkdir -p "${log%/*}"
	: >"$log"	# creates the log before a reader follows it
	# The output goes to a file: a process that a program leaves behind would keep a
	# pipe open. `timeout` leads a process group. When `timeout` has ended, reap()
	# kills the processes that are left in the group.
	timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null &
	pid=$!
	running[$pid]=$label began[$pid]=$SECONDS limits[$pid]=$limit
}

# Finds a program that a signal killed while the shell was busy: `wait -n` does not
# report it later, but `wait` does. Sets: ended, status
find_killed() {
	for ended in "${!running[@]}"; do
		kill -0 "$ended" 2>/dev/null || break
	done
	status=0
	wait "$ended" || status=$?
}

# Waits for one program to end, and adds up its results.
reap() {
	local ended='' label suite log status=0 start limit p f s
	wait -n -p ended "${!running[@]}" || status=$?
	[ -n "${ended:-}" ] || find_killed
	kill -KILL -- "-$ended" 2>/dev/null || true
	label=${running[$ended]} start=${began[$ended]} limit=${limits[$ended]}
	unset "running[$ended]" "began[$ended]" "limits[$ended]"
	suite=${label%%/*}
	log=$logs/$label.log
	judge "$label" "$log" "$status"
	note_skips "$label" "$log"
	[ "$f" -eq 0 ] || note_failures "$label" "$log"
	show "$label" "$log" $((SECONDS - start))
	grep -iE '(^|[^[:alnum:]_])seeds?[ :=]+(0x)?[0-9a-f]+' "$log" |
		sort -u | sed "s|^|$label: |" >>"$logs/seeds" || true
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	suite_passed[$suite]=$((${suite_passed[$suite]:-0} + p))
	suite_failed[$suite]=$((${suite_failed[$suite]:-0} + f))
	suite_skipped[$suite]=$((${suite_skipped[$suite]:-0} + s))
}

# Scripts that mostly wait and are still to be run; the process of the one that runs
waiting=() waiter=

# Starts the next script that mostly waits, unless one runs or none is left.
launch_waiter() {
	local source=${waiting[0]:-} limit pid
	[ -n "$source" ] && [ -z "${running[${waiter:-0}]:-}" ] || return 0
	waiting=("${waiting[@]:1}")
	limit=$(limit_of "$source")
	launch_script "$source"
	waiter=$pid
}

# Waits until one program has ended.
finish() {	# PID
	while [ -n "${running[$1]:-}" ]; do
		launch_waiter
		reap
	done
}

run_guest() {	# [KERNEL]...
	local limit=4500 pid
	launch guest "$here/guest/run.sh" ${TEST:+--test "$TEST"} "$@"
	tail -n +1 -s 0.5 -f --pid="$pid" "$logs/guest.log" |
		sed -un 's/^\(not \)\?ok /  &/p'
	finish "$pid"
}

number() {	# KEY FILE DEFAULT: prints the number after KEY in a comment
	local found
	found=$(sed -n "s/.*$1: *\([0-9][0-9]*\).*/\1/p;T;q" "$2")
	echo "${found:-$3}"
}

is_parallel() { grep -q '^# test-parallel: yes$' "$1"; }
mostly_waits() { grep -q '^# test-waits: yes$' "$1"; }

# True if the script is to be run: with $fast, only a script that is marked as fast is.
is_chosen() { [ -z "$fast" ] || grep -q '^# test-fast: yes$' "$1"; }

limit_of() { number test-timeout "$1" 300; }

# Prints the interpreter in the first line of a script.
script() { sed -n '1s/^#!//p' "$1"; }

launch_script() {	# SOURCE; sets: pid
	launch "$(basename "$(dirname "$1")")/$(basename "$1" .sh)" $(script "$1") "$1"
}

# Prints "SECONDS SOURCE" for each parallel program of a suite; SECONDS is the duration
# that its comment `test-seconds: N` states, or 0.
list_parallel() {	# SUITE
	local source
	for source in "$here/$1"/{check_*.c,t_*.sh}; do
		case $source in
		*/check_\*.c | */t_\*.sh) continue ;;
		*/unit/check_*.c) ;;
		*.sh) is_parallel "$source" && is_chosen "$source" || continue ;;
		*) continue ;;
		esac
		echo "$(number test-seconds "$source" 0) $source"
	done
}

# Runs parallel programs, one on each CPU.
run_parallel() {	# SUITE...
	local suite source limit label pid
	while read -r _ source; do
		suite=$(basename "$(dirname "$source")")
		label=$suite/$(basename "${source%.*}") limit=$(limit_of "$source")
		[ "${#running[@]}" -lt "$jobs" ] || reap
		case $source in
		*.c) launch "$label" "$out/tests/$label" ;;
		*) launch_script "$source" ;;
		esac
	done < <(for suite; do list_parallel "$suite"; done | sort -s -k 1,1nr)
	while [ "${#running[@]}" -gt 0 ]; do
		reap
	done
}

# Runs the programs of a suite that do not run in parallel.
run_suite() {	# SUITE [KERNEL]...
	local suite=$1 source limit pid alone=()
	shift
	case $suite in
	unit) return ;;
	guest) run_guest "$@"; return ;;
	esac
	for source in "$here/$suite"/t_*.sh; do
		! is_parallel "$source" && is_chosen "$source" || continue
		if mostly_waits "$source"; then
			waiting+=("$source")
		else
			alone+=("$source")
		fi
	done
	for source in "${alone[@]}"; do
		launch_waiter
		limit=$(limit_of "$source")
		launch_script "$source"
		finish "$pid"
	done
	while [ ${#waiting[@]} -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
		launch_waiter
		reap
	done
}

list_suites() {	# unit first, guest last
	find "$here" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' |
		awk '/^(bench|demo|fuzz|packages|service|world)$/ {next} {print ($0 == "unit" ? 0 : $0 == "guest" ? 2 : 1), $0}' |
		sort | cut -d' ' -f2
}

rm -rf "$logs"
suites=("$@") kernels=() fast='' jobs=$(nproc)
case ${1:-all} in
# Some fast tests mostly wait: runs one program more than there are CPUs
fast) fast=1 suites=(unit abi model native) jobs=$((jobs + 1)) ;;
all) mapfile -t suites < <(list_suites) ;;
guest) suites=(guest) kernels=("${@:2}") ;;
esac
for suite in "${suites[@]}"; do
	[ -d "$here/$suite" ] || { echo "run.sh: no suite $suite" >&2; exit 2; }
done
[[ " ${suites[*]} " != *" unit "* ]] ||
	make -C "$here" --no-print-directory -j"$(nproc)" unit
run_parallel "${suites[@]}"
for suite in "${suites[@]}"; do
	run_suite "$suite" "${kernels[@]}"
	echo "$suite: ${suite_passed[$suite]:-0} passed," \
		"${suite_failed[$suite]:-0} failed, ${suite_skipped[$suite]:-0} skipped"
done
skips=$(grep . <<<"$skips" || true) failures=$(grep . <<<"$failures" || true)
[ -z "$skips" ] || printf 'skipped:\n%s\n' "$skips"
[ "$failed" -eq 0 ] || printf 'whole outputs: %s\nfailed:\n%s\n' "$logs" "$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
