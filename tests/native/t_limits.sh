#!/bin/bash
# SPDX-License-Identifier: MIT
# Sizes of rings by the memory and the CPUs that a process may use: memory cgroups of version 1
# and 2 up to the root, available memory, affinity; and sizes that the user gave. A program
# that locks its memory. A /tmp to which nobody can write.
. "$(dirname "$0")/record.sh"

need_root "the limits of a mount namespace"
need unshare taskset setpriv
export ctl emit work

# Runs a recording where files of /proc and of the cgroups have other contents: @PROC_CGROUP is
# /proc/self/cgroup; then files below /sys/fs/cgroup with their contents, up to "--".
limited() {	# STATUS PROC_CGROUP FILE=CONTENTS... -- ARGUMENT...
	local status=$1
	printf '%s\n' "$2" >"$work/cgroup"
	shift 2
	rm -rf "$work/tree"
	mkdir "$work/tree"
	while [ "$1" != -- ]; do
		mkdir -p "$work/tree/$(dirname "${1%%=*}")"
		echo "${1#*=}" >"$work/tree/${1%%=*}"
		shift
	done
	shift
	# shellcheck disable=SC2016 # expands in the shell of the namespace
	exits "$status" unshare -m bash -c '
		mount --bind "$work/cgroup" /proc/$$/cgroup
		mount --bind "$work/tree" /sys/fs/cgroup
		[ ! -e "$work/meminfo" ] || mount --bind "$work/meminfo" /proc/meminfo
		exec "$ctl" record "$@"' - "$@" >"$work/out" 2>"$work/err" || exit 1
	rm -rf "$work/r" "$work/meminfo"
}
cpus=$(nproc)
# 1/8 of 24 MiB for the rings of one channel, each a power of two
one=$((16 * 1024))
while [ $((one * cpus)) -gt $((3 * 1024)) ] && [ $one -gt 64 ]; do one=$((one / 2)); done
smaller() {	# KIB NAME
	grep -q "smaller rings: $1 KiB for each CPU and channel, .* of the $2" "$work/err" ||
		fail "no word of $2, or another size"
	[ "$(grep -c 'smaller rings' "$work/err")" = 1 ] || fail "more than one line"
}
ours=(-o "$work/r" -- "$emit" 200 1)

# --- cgroups of both versions, up to the root ----------------------------------------------
limited 0 0::/a/b a/b/memory.max=max a/memory.max=25165824 memory.max=max -- "${ours[@]}"
smaller $one 'memory cgroup limit /sys/fs/cgroup/a/memory.max of 24.0 MiB'
limited 0 0::/a/b a/b/memory.max=max a/b/memory.high=25165824 -- "${ours[@]}"
smaller $one 'memory cgroup limit /sys/fs/cgroup/a/b/memory.high of'
limited 0 0::/ memory.max=25165824 -- "${ours[@]}"
smaller $one 'memory cgroup limit /sys/fs/cgroup/memory.max of'
limited 0 0::/../x memory.max=25165824 -- "${ours[@]}"
smaller $one 'memory cgroup limit /sys/fs/cgroup/memory.max of'
limited 0 $'9:cpu,cpuacct:/\n4:memory:/docker/id/in' memory/in/memory.limit_in_bytes=25165824 \
	memory/memory.limit_in_bytes=9223372036854771712 -- "${ours[@]}"
smaller $one 'memory cgroup limit /sys/fs/cgroup/memory/in/memory.limit_in_bytes of'
# Limits that are none, and a file that is none
limited 0 $'4:memory:/x\n0::/y' memory/x/memory.limit_in_bytes=9223372036854771712 \
	y/memory.max=max y/memory.high=nonsense -- "${ours[@]}"
not grep -q 'smaller rings' "$work/err" || fail "smaller rings without a limit"
ok "cgroups of both versions"

# --- available memory -----------------------------------------------------------------------
sed 's/^MemAvailable:.*/MemAvailable:      49152 kB/' /proc/meminfo >"$work/meminfo"
limited 0 0::/ -- "${ours[@]}"
smaller $one 'available memory (MemAvailable) of 48.0 MiB'
ok "available memory"

# --- sizes that the user gave -----------------------------------------------------------------
limited 0 0::/ memory.max=$((4 * cpus << 20)) -- --blocks 64 "${ours[@]}"
not grep -q 'smaller rings' "$work/err" || fail "a size that was given was made smaller"
limited 1 0::/ memory.max=$((4 * cpus << 20)) -- --blocks 128 "${ours[@]}"
says "rings of $((2 * cpus)) MiB in all: more than 1/4 of the memory cgroup limit /sys/fs/cgroup/memory.max of"
ok "sizes that the user gave"

# --- CPUs -------------------------------------------------------------------------------------
# One CPU has the share of all.
alone=$one
[ "$cpus" = 1 ] || alone=2048
(taskset -p -c "$(taskset -cp $BASHPID | sed 's/.*: \([0-9]*\).*/\1/')" $BASHPID >/dev/null
	limited 0 0::/ memory.max=25165824 -- "${ours[@]}"
	smaller $alone 'memory cgroup') || exit 1
ok "CPUs on which the command may run"

# --- metadata ---------------------------------------------------------------------------------
limited 0 0::/ memory.max=25165824 -- -q -o "$work/kept" -- "$emit" 10 1
not grep -q 'smaller rings' "$work/err" || fail "-q prints it"
run_shows 0 "^rings  *embedded: default [0-9]* x $((one / 16)) blocks of 16384 bytes; smaller because of the memory cgroup limit" \
	stat "$work/kept"
run_shows 0 '"rings": "default [0-9]* x ' stat --json "$work/kept"
! has_wing report || { "$ctl" report -q -o "$work/page" "$work/kept" && grep -q 'blocks of 16384 bytes; smaller' "$work/page"; } ||
	fail "the page has no sizes of rings"
run 0 merge -q -o "$work/merged" "$work/kept"
run_shows 0 '"rings": "default [0-9]* x ' stat --json "$work/merged"
ok "metadata"

# --- a program that locks its memory ------------------------------------------------------------
# Of the rings, it may lock less than they have. Its thread's stack is locked, too.
exits 0 setpriv --bounding-set=-ipc_lock bash -c 'ulimit -l 8192 -s 256
	EMIT_LOCKED=1 exec "$ctl" record -o "$work/r" -- "$emit" 200 1' >"$work/out" 2>"$work/err"
shows '^emitted 201 refused 0 dropped 0'
says ': 201 events'
rm -rf "$work/r"
ok "a program that locks its memory"

# --- /tmp to which nobody can write --------------------------------------------------------------
read_only() {	# STATUS VARIABLE=VALUE... ARGUMENT...: records where only $work can be written to
	# shellcheck disable=SC2016 # expands in the shell of the namespace
	exits "$1" env -u XDG_RUNTIME_DIR unshare -m bash -c 'mount --bind /tmp /tmp
		mount -o remount,ro,bind /tmp
		mount --bind "$work" "$work"
		mount -o remount,rw,bind "$work"
		exec env "$@"' - "${@:2}" >"$work/out" 2>"$work/err" || exit 1
}
read_only 1 TMPDIR= "$ctl" record "${ours[@]}"
says '/tmp: Read-only file system; set TMPDIR to a directory that you can write to'
mkdir "$work/own"
read_only 0 TMPDIR="$work/own" "$ctl" record "${ours[@]}"
[ -z "$(ls "$work/own")" ] || fail "a directory of the recorder is left"
rm -rf "$work/r"
ok "a read-only /tmp"

# --- a memory cgroup of the kernel, if this machine lets us make one ----------------------------
group=
if mkdir "/sys/fs/cgroup/memory/tsctrace-$$" 2>/dev/null; then
	group=/sys/fs/cgroup/memory/tsctrace-$$ limit=memory.limit_in_bytes
elif mkdir "/sys/fs/cgroup/tsctrace-$$" 2>/dev/null; then
	group=/sys/fs/cgroup/tsctrace-$$ limit=memory.max
fi
[ -z "$group" ] || at_exit+=("rmdir '$group'")
if [ -n "$group" ] && echo 25165824 2>/dev/null >"$group/$limit"; then
	(echo $BASHPID >"$group/cgroup.procs" && run 0 record "${ours[@]}" && smaller $one memory) || exit 1
	rm -rf "$work/r"
	if TSCTRACE_PROVIDER=embedded "$ctl" record -q -e sched -e syscalls -o "$work/full" -- true 2>/dev/null; then
		(echo $BASHPID >"$group/cgroup.procs" && run 0 record -e sched -e syscalls \
			-o "$work/r" -- touch "$work/ran") || exit 1
		says 'smaller rings'
		[ -e "$work/ran" ] || fail "the command did not run"
		run_shows 0 '"attach": {' stat --json "$work/r"
	fi
	ok "a memory cgroup of 24 MiB"
fi
echo "1..$passed"
