#!/bin/bash
# SPDX-License-Identifier: MIT
# A full disk ends the recording, not the program, and the events written before are
# readable. With rings that are too small, losses are counted, shown, and change the
# exit status.
. "$(dirname "$0")/record.sh"
need mount umount

check_kept() {	# DIR
	says "$1: \(File too large\|No space left on device\); the recording ends here, the events written so far are readable"
	says "\(raise 'ulimit -f'\|free some space\), or write to another directory with -o"
	says 'exited with status 0'
	says 'LOST: .*unwritten [1-9]'
	run 3 dump "$1"
	[ "$(wc -l <"$work/out")" -gt 100 ] || fail "too few events in the recording"
	[ "$(babeltrace2 "$1" 2>/dev/null | without_statedump | wc -l)" = \
		"$(wc -l <"$work/out")" ] || fail "babeltrace2"
}

# The file size limit (ulimit -f, KiB) is above the size of the rings, which are files
# in memory, but below the size of the recording's streams.
run_limited 1000 1 record --blocks 16 -o "$work/a" -- "$emit" 150000 2 1
shows '^emitted'
check_kept "$work/a"

# The file size limit (ulimit -f, KiB) is below the size of the rings.
run_limited 64 1 record -o "$work/d" -- "$emit" 10
says "raise its 'ulimit -f'"
[ ! -e "$work/d" ] || fail "a directory was made"

mkdir "$work/small"
if mount -t tmpfs -o size=400k tmpfs "$work/small" 2>/dev/null; then
	at_exit+=('umount "$work/small" 2>/dev/null')
	run 1 record -o "$work/small/b" -- "$emit" 200000 2
	check_kept "$work/small/b"
	umount "$work/small"
	# Disks with 8 to 64 KiB of free space: the full disk is the only error, and no
	# .flushed file is left. If there was room for all events, but not for all
	# metadata, record says so.
	for kib in 8 12 16 20 24 28 32 64; do
		mount -t tmpfs -o size=${kib}k tmpfs "$work/small"
		status=0
		"$ctl" record -q -o "$work/small/s" -- "$emit" 20 1 \
			>"$work/out" 2>"$work/err" || status=$?
		! grep -q 'Input/output' "$work/err" || fail "$kib KiB: EIO"
		[ ! -e "$work/small/s/.flushed" ] || fail "$kib KiB: .flushed"
		[ $kib != 64 ] || [ $status = 0 ] || fail "64 KiB: exit status $status"
		[ $kib != 8 ] || [ $status = 1 ] || fail "8 KiB: exit status $status"
		if [ $status = 0 ]; then
			run 0 dump "$work/small/s"
		else
			says 's: No space left on device; '
		fi
		if [ $status = 1 ] && ! grep -q 'LOST: unwritten' "$work/err" &&
			[ -e "$work/small/s" ]; then
			says 'all events are written, but the metadata is incomplete'
			run 3 dump "$work/small/s"
			[ "$(wc -l <"$work/out")" -ge 20 ] || fail "$kib KiB: events are missing"
			says 'its recorder was killed, or its disk was full'
		fi
		umount "$work/small"
	done
fi

# With the smallest rings, a program that does not wait for space loses events.
run 3 record --block-size 4096 --blocks 2 -o "$work/c" -- "$emit" 500000 2
read -r _ emitted _ refused _ <"$work/out"
[ "$refused" -gt 0 ] || fail "no event was lost: the test is void"
says ": $emitted events, "
says "LOST: full $refused\$"
run_shows 3 "^all  *$emitted " stat "$work/c"
says "$refused events were lost while recording: full $refused"
run 3 dump -n 1 "$work/c"
# babeltrace2 counts as many recorded and lost events as the program.
[ "$(babeltrace2 "$work/c" 2>/dev/null | without_statedump | wc -l)" = "$emitted" ] ||
	fail "babeltrace2 counts other events"
babeltrace2 "$work/c" 2>&1 >/dev/null |
	sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' |
	awk -v want="$refused" '{ n += $1 } END { exit n != want }' ||
	fail "babeltrace2 counts other losses"
echo "$emitted kept, $refused lost"
