#!/bin/sh
# SPDX-License-Identifier: MIT
# The end of a recording waits for programs of BPF that still run, also with one CPU: all that
# they recorded is in the recording, or counted.
# guest-test: timeout=120 smp=1 needs=btf
# guest-test: files=build/tools/trace-ctl,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
cd "$(mktemp -d)"

# Threads that switch at each turn, on each CPU
storm=
trap 'kill $storm 2>/dev/null || true' EXIT
for cpu in ${TSCT_STORM:-0}; do
	taskset $((1 << cpu)) sh -c 'mkfifo there$0 back$0
		while :; do cat <there$0 >back$0; done &
		while :; do echo >there$0; read -r line <back$0; done' $cpu 2>/dev/null &
	storm="$storm $!"
done

# Without and with the module. The exit status is 0 only if the recorder could wait, and
# published = recorded + lost with none lost.
for provider in embedded module; do
	n=$(repeats '' 10 100)
	while [ $n -gt 0 ]; do
		n=$((n - 1))
		TSCTRACE_PROVIDER=$provider trace-ctl record --json -e sched_switch -a \
			-o "$provider$n" -- true >out 2>&1 ||
			fail "$provider: status $?: $(cat out)"
		tr -d ' \n' <out | grep -q '"kernel_misses":[0-9]' || fail "$(cat out)"
		rm -r "$provider$n"
	done
done
