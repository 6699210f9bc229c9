#!/bin/bash
# SPDX-License-Identifier: MIT
# container.sh GROUPS ROOT SETTING... -- COMMAND: runs a command in a container made by
# hand, in the cgroups of the file GROUPS: one directory in a line; limits are set before.
#
# With the setting root, it has own pid, mount, network, IPC and UTS namespaces; at the directory
# ROOT its own root, which is read-only, as is its /tmp; a /proc with hidepid; and at most 256
# descriptors. Other settings: user and time, namespaces; container and strict, filters of seccomp;
# clock, another clocksource. Directories that are the same inside: $work, and those of $binds.
set -euo pipefail
programs=$(dirname "$0")

if [ "$1" = inside ]; then
	root=$2 filter=$3 clock=$4
	shift 4
	if [ "$root" != - ]; then
		mount -t tmpfs -o mode=755 root "$root"
		cd "$root"
		mkdir -p usr etc dev sys proc tmp var/run old
		for i in bin sbin lib lib64; do ln -s "usr/$i" $i; done
		for i in usr etc; do
			mount --rbind /$i $i
			mount -o remount,bind,ro $i 2>/dev/null || true
		done
		mount --rbind /dev dev
		mount --rbind /sys sys
		for i in $binds "$work"; do
			mkdir -p "$root$i"
			mount --bind "$i" "$root$i"
		done
		mount -t proc -o hidepid=2 proc proc
		pivot_root . old
		umount -l old
		mount -o remount,ro /
	fi
	if [ "$clock" = yes ]; then
		mount --bind "$work/clocksource" \
			/sys/devices/system/clocksource/clocksource0/current_clocksource
	fi
	cd "$work"
	[ "$root" = - ] || ulimit -n 256
	[ "$filter" = - ] || set -- "$helpers/programs/confine" "$filter" "$@"
	exec "$@"
fi

while read -r group; do
	echo $$ >"$group/cgroup.procs"
done <"$1"
own_root=- filter=- clock=no flags=(--mount)
root=$2
shift 2
while [ "$1" != -- ]; do
	case $1 in
	root)
		own_root=$root
		flags+=(--pid --fork --kill-child --net --ipc --uts)
		;;
	user) flags+=(--user --map-root-user) ;;
	time) flags+=(--time --monotonic 600 --boottime 600 --fork --kill-child) ;;
	container | strict) filter=$1 ;;
	clock) clock=yes ;;
	esac
	shift
done
shift
exec unshare "${flags[@]}" "$programs/container.sh" inside "$own_root" "$filter" $clock "$@"
