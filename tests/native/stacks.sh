# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For tests of stacks: a program with a known chain of functions, and sums of events by stack
. "$(dirname "$0")/record.sh"

export TSCTRACE_PROVIDER=embedded
cd "$work"

need_first_pid_namespace
needs_kernel_events

cp "$helpers/traced/chain" .
# shellcheck disable=SC2034 # for the tests
chain='main;outer_call;middle_call;leaf_call'

# Sum of the events of folded stacks that match
sum() {	# DIR EVENT PATTERN
	"$ctl" export -q -f folded -o - --event "$2" "$1" >folded || fail "export $1"
	awk -v pattern="$3" '$0 ~ pattern { n += $NF } END { print n + 0 }' folded
}
expect() {	# DIR EVENT PATTERN NUMBER
	local n
	n=$(sum "$1" "$2" "$3")
	[ "$n" = "$4" ] || { head -n 20 folded; fail "$1: $2: $n stacks match $3, not $4"; }
}

# Records the system calls of a process until it has made more than 20, and kills it.
record_process() {	# DIR PID
	"$ctl" record --stack -e syscalls -p "$2" -o "$1" >out 2>err & track recorder
	wait_for "20 calls of process $2 are on disk" has_calls "$1"
	end_by INT "$recorder" "record $1:" err
	kill_now "$2"
}
has_calls() {
	"$ctl" dump --event sys_getppid/begin "$1" >calls 2>/dev/null || true
	[ "$(grep -c ' stack=0x' calls)" -gt 20 ]
}
