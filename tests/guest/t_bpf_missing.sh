#!/bin/sh
# SPDX-License-Identifier: MIT
# Without the module, or without its BTF, recording kernel events fails with a
# hint and leaves nothing behind; everything else works.
# guest-test: timeout=60 module=no
# guest-test: files=build/tools/trace-ctl,build/examples/jobs
set -eu
cd "$(mktemp -d)"

fail() { echo "$*"; cat out; exit 1; }

refused() {	# WORDS-OF-THE-FIX
	if trace-ctl record -e sched_switch -o events -- true >out 2>&1; then
		fail "kernel events were recorded"
	fi
	grep -q "^trace-ctl record: kernel events: .*$1" out || fail "the error does not mention $1"
	[ ! -e events ] || fail "an output directory is left behind"
}

works() {
	trace-ctl record -o "$1" -- /usr/bin/jobs 100000 >out 2>&1 ||
		fail "record without kernel events"
	[ "$(trace-ctl dump "$1" | grep -c ' job/begin ')" = 10 ] ||
		fail "not 10 jobs"
}

refused "run insmod tsctrace.ko"
works embedded

insmod /lib/modules/tsctrace-nobtf.ko
trace-ctl status >out
grep -q '^kernel events  *no: .*without BTF.*dwarves' out || fail "status"
! grep -q '^module .*kfunc' out || fail "status shows the kfunc"
refused "install the packages dwarves"
works module
trace-ctl check >out || fail "check"
rmmod tsctrace
