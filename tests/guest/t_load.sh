#!/bin/sh
# SPDX-License-Identifier: MIT
# The module loads and unloads 200 times and leaves nothing behind.
# guest-test: timeout=240 module=no
set -eu
ko=/lib/modules/tsctrace.ko

fail() { echo "$*"; exit 1; }

insmod $ko
[ -c /dev/tsctrace ] || fail "no /dev/tsctrace after insmod"
grep -q '^tsctrace ' /proc/modules || fail "not in /proc/modules"
! insmod $ko 2>/dev/null || fail "it loads twice"

# An open file prevents unloading.
exec 3</dev/tsctrace
! rmmod tsctrace 2>/dev/null || fail "unloaded with an open file"
exec 3<&-
rmmod tsctrace
[ ! -e /dev/tsctrace ] || fail "/dev/tsctrace outlives the module"

i=0
while [ $i -lt 200 ]; do
	insmod $ko || fail "insmod failed in cycle $i"
	rmmod tsctrace || fail "rmmod failed in cycle $i"
	i=$((i + 1))
done
! grep -q tsctrace /proc/modules || fail "still in /proc/modules"
[ ! -e /sys/module/tsctrace ] || fail "still in /sys/module"
echo "$i cycles"
