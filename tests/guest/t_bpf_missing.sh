#!/bin/sh
# SPDX-License-Identifier: MIT
# Without the module, or without its BTF, kernel events come in ring buffers of BPF, and
# the recorder says why. If only the module is allowed, an error names the fix. The kernel
# accepts the module's BTF, which has the kfunc.
# guest-test: timeout=60 module=no needs=btf
# guest-test: files=build/tools/trace-ctl,build/examples/jobs,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
evidence=out
cd "$(mktemp -d)"

refused() {	# WORDS-OF-THE-FIX
	if TSCTRACE_PROVIDER=module trace-ctl record -e sched_switch -o events \
			-- true >out 2>&1; then
		fail "kernel events were recorded by the module"
	fi
	grep -q "^trace-ctl record: kernel events: .*$1" out ||
		fail "the error does not mention $1"
	[ ! -e events ] || fail "an output directory is left behind"
}

works() {	# NAME REASON
	trace-ctl record -v -e sched_switch -e sys_enter -o "$1" -- /usr/bin/jobs 100000 \
		>out 2>&1 || fail "record"
	grep -q "recording kernel events without the module: .*$2" out || fail "no reason"
	grep -q 'kernel events: in ring buffers of BPF' out || fail "not by BPF"
	trace-ctl dump "$1" >events
	[ "$(grep -c ' job/begin ' events)" = 10 ] || fail "not 10 jobs"
	grep -q ' sched_switch ' events || fail "no switch"
	grep -q ' sys_exit_group/begin ' events || fail "no end of the process"
	rm events
}

refused "run insmod tsctrace.ko"
works stock "run insmod tsctrace.ko"

insmod /lib/modules/tsctrace-nobtf.ko
trace-ctl status >out
grep -q '^kernel events  *yes, without the module: .*without BTF.*dwarves' out ||
	fail "status"
! grep -q '^module .*kfunc' out || fail "status shows the kfunc"
refused "install the packages dwarves"
works nobtf "install the packages dwarves"
trace-ctl check >out || fail "check"
rmmod tsctrace
insmod /lib/modules/tsctrace.ko
grep -q tsct_bpf_emit /sys/kernel/btf/tsctrace || fail "no tsct_bpf_emit in the module's BTF"
rmmod tsctrace
