#!/bin/sh
# SPDX-License-Identifier: MIT
# A machine that may get many more CPUs than it has, as hypervisors announce: a recording of
# kernel events needs memory for the CPUs present, and descriptors up to the hard limit, with the
# module and without.
# guest-test: timeout=120 module=no smp=2of255
# guest-test: files=build/tools/trace-ctl,tests/guest/lib.sh
set -eu
. /tests/guest/lib.sh
evidence='err out'
cd "$(mktemp -d)"
most_kib=$((80 * 1024))

possible=$(cat /sys/devices/system/cpu/possible) present=$(cat /sys/devices/system/cpu/present)
if [ "$possible" = 0-1 ]; then
	echo "this kernel ignores CPUs that QEMU announces and does not have, as some do from 6.9 on"
	exit 77
fi
[ "$possible $present" = "0-254 0-1" ] || fail "CPUs $possible are possible, $present present"
ulimit -Sn 400

cat >available <<'END'
sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
END

record() {	# NAME
	before=$(sh available)
	run 0 trace-ctl record -a -e sched_switch -e syscalls -o "$1" -- sh -c 'sh available >left'
	used=$((before - $(cat left)))
	echo "$1: $((used / 1024)) MiB while recording"
	[ $used -lt $most_kib ] || fail "$1: $used KiB"
	run 0 trace-ctl dump --raw "$1"
	grep -q ' sched_switch ' out || fail "$1: no switch"
}

record stock
insmod $ko
record module
rmmod tsctrace
