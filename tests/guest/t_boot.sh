#!/bin/sh
# SPDX-License-Identifier: MIT
# The guest fulfils the assumptions of other tests: it runs the kernel that was asked
# for; in the default boot the kernel's clocksource is the TSC, in the unstable one
# the TSC is marked unstable.
# guest-test: timeout=60 boot=default,unstable module=no
set -eu
source=/sys/devices/system/clocksource/clocksource0/current_clocksource

[ "$(uname -r)" = "$TSCT_RELEASE" ] ||
	{ echo "the kernel is $(uname -r), not $TSCT_RELEASE"; exit 1; }
cpus=$(grep -c ^processor /proc/cpuinfo)
[ "$cpus" -ge 2 ] || { echo "only $cpus CPU"; exit 1; }

# The clocksource watchdog takes a moment to mark the TSC unstable.
i=0
while [ $i -lt 40 ]; do
	now=$(cat $source)
	case $TSCT_BOOT.$now in
	default.tsc) echo "clocksource tsc"; exit 0 ;;
	unstable.tsc) ;;
	unstable.*) echo "clocksource $now"; exit 0 ;;
	esac
	sleep 0.5
	i=$((i + 1))
done
echo "boot $TSCT_BOOT, but the clocksource is $now"
exit 1
