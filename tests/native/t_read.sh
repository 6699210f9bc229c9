#!/bin/bash
# SPDX-License-Identifier: MIT
# An external program reads a recording with the shared library.
# test-fast: yes
. "$(dirname "$0")/record.sh"

events=$work/events
${CC:-cc} -O1 -std=gnu11 -I"$top/kmod/uapi" -I"$top/lib/include" -o "$events" \
	"$top/Documentation/examples/events.c" -L"$out/lib" -ltsctrace
export LD_LIBRARY_PATH=$out/lib

run 0 record -q -o "$work/r" -- "$emit" 1000 3
"$events" "$work/r" >"$work/out" || fail "events: exit status $?"
shows '^tick  *3000  *[0-9.]* us apart$'
shows '^1 nodes, 0 events are missing$'
[ "$(awk '/apart$/ { n += $2 } END { print n }' "$work/out")" = \
	"$("$ctl" dump "$work/r" | wc -l)" ] || fail "events and dump count different events"

# Damage is reported: here in the header of the second packet.
file=$(find "$work/r" -name 'default_*' -size +1k | head -n 1)
printf 'XXXXXXXX' | dd of="$file" bs=1 seek=80 conv=notrunc status=none
"$events" "$work/r" >"$work/out" 2>"$work/err" || fail "events: exit status $?"
says '^stream default_[0-9]*: packet [0-9]*'
! "$events" "$work" >"$work/out" 2>"$work/err" || fail "events accepts a directory without a recording"
says "not a tsctrace recording"
echo "read: fine"
