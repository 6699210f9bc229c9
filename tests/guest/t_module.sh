#!/bin/sh
# SPDX-License-Identifier: MIT
# The guest fulfils the assumptions of other tests; tsct-ring.ko finds no fault in lib/core and
# in the ring writer; the module loads without BTF; and it loads and unloads $TSCT_LOADS times
# (50; all: 200) and leaves nothing behind: no vmalloc area, and no more kernel memory than
# after the first 20 times, except for 512 bytes each time.
# guest-test: timeout=240 boot=default,unstable module=no rt=yes
# guest-test: files=tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh

# It runs the kernel that was asked for. In the default boot, the kernel's clocksource is the
# TSC; in the unstable one, the clocksource watchdog takes a moment to mark it unstable.
[ "$(uname -r)" = "$TSCT_RELEASE" ] || fail "the kernel is $(uname -r), not $TSCT_RELEASE"
[ "$(grep -c ^processor /proc/cpuinfo)" -ge 2 ] || fail "one CPU only"
is_as_booted() {
	case $TSCT_BOOT.$(cat $clocksource) in
	default.tsc) ;;
	default.*|*.tsc) return 1 ;;
	esac
}
wait_for "the clocksource of boot $TSCT_BOOT" is_as_booted

insmod $ko
insmod /lib/modules/tsct-ring.ko || { dmesg | grep tsct_ring; fail "lib/core or the ring writer"; }
rmmod tsct_ring
rmmod tsctrace
[ "$TSCT_BOOT" = default ] || exit 0

insmod /lib/modules/tsctrace-nobtf.ko
[ -c /dev/tsctrace ] || fail "no /dev/tsctrace"
[ ! -e /sys/kernel/btf/tsctrace ] || fail "the module has BTF"
rmmod tsctrace

# --- loading and unloading ----------------------------------------------------

insmod $ko
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
kernel_kb() { awk '/^(SUnreclaim|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo; }

turns=$(repeats "${TSCT_LOADS:-}" 50 200)
loads 0 20
sleep 2
before=$(kernel_kb)
loads 20 "$turns"
is_freed() {
	after=$(kernel_kb)
	[ $((after - before)) -le $((64 + turns / 2)) ]
}
wait_for "kernel memory is freed" is_freed
echo "kernel memory: $before KiB before, $after KiB after $turns cycles"
! grep tsct /proc/vmallocinfo || fail "vmalloc areas are left"
! grep -q tsctrace /proc/modules || fail "still in /proc/modules"
[ ! -e /sys/module/tsctrace ] || fail "still in /sys/module"
