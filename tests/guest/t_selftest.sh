#!/bin/sh
# SPDX-License-Identifier: MIT
# The build that tests itself when it is loaded does so, passes, and loads.
# guest-test: module=no boot=default,unstable timeout=60
set -eu

dmesg -c >/dev/null
if ! insmod /lib/modules/tsctrace-selftest.ko; then
	dmesg | grep tsctrace
	exit 1
fi
dmesg | grep -q 'tsctrace: selftest: passed' || {
	echo "it loaded, but the log has no word of its self-test"
	exit 1
}
rmmod tsctrace
