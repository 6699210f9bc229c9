#!/bin/sh
# SPDX-License-Identifier: MIT
# The module built with SELFTEST=1 tests itself when it is loaded, and passes.
# guest-test: module=no boot=default,unstable timeout=60
set -eu

dmesg -c >/dev/null
if ! insmod /lib/modules/tsctrace-selftest.ko; then
	dmesg | grep tsctrace
	exit 1
fi
dmesg | grep -q 'tsctrace: selftest: passed' || {
	echo "loaded, but the kernel log has no result of the self-test"
	exit 1
}
rmmod tsctrace
