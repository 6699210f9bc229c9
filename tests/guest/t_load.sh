#!/bin/sh
# SPDX-License-Identifier: MIT
# The module loads and unloads $TSCT_LOADS times (200) and leaves nothing behind: no
# vmalloc area, and no more kernel memory than after the first 20 times, except for
# 512 bytes each time.
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

loads() {	# FROM TO
	i=$1
	while [ $i -lt $2 ]; do
		insmod $ko || fail "insmod failed in cycle $i"
		rmmod tsctrace || fail "rmmod failed in cycle $i"
		i=$((i + 1))
	done
}

# KiB of kernel memory that cannot be reclaimed. Objects are freed after a grace period.
kernel_kb() {
	sleep 2
	awk '/^(SUnreclaim|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}

turns=${TSCT_LOADS:-200}
loads 0 20
before=$(kernel_kb)
loads 20 "$turns"
after=$(kernel_kb)
echo "kernel memory: $before KiB before, $after KiB after"
[ $((after - before)) -le $((64 + turns / 2)) ] || fail "kernel memory has grown"
! grep tsct /proc/vmallocinfo || fail "vmalloc areas are left"
! grep -q tsctrace /proc/modules || fail "still in /proc/modules"
[ ! -e /sys/module/tsctrace ] || fail "still in /sys/module"
echo "$i cycles"
