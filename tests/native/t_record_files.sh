#!/bin/bash
# SPDX-License-Identifier: MIT
# Options for files: each kind of timestamps is readable by trace-ctl and by both
# versions of babeltrace without warnings; packets keep the requested limits, and have
# full time stamps, see packetcheck.py.
# test-fast: yes
. "$(dirname "$0")/record.sh"

# Sets, of the recording DIR: packets, most (events in a packet), largest (bytes)
check_packets() {	# DIR
	python3 "$here/packetcheck.py" "$1" >"$work/packets" ||
		fail "packets of $1: $(cat "$work/packets")"
	read -r packets most _ largest <"$work/packets"
}

events=20001
for kind in tsc tsc/16 tsc/256 interpolated system system/16 system/256 \
	    system-interpolated off; do
	dir=$work/${kind/\//-}
	run 0 record -vv --timestamps "$kind" --sync-every 2^7 --fsync end -o "$dir" \
		-- "$emit" 10000 2
	says "files: timestamps $kind, a packet ends after 128 events, .* bytes/event; fsync: end"
	check_packets "$dir"
	[ "$packets" -ge $((events / 128)) ] || fail "$kind: $packets packets"
	[ $kind = off ] || says 'time stamps: up to [0-9]* more events\{0,1\} on the same tick\|all time stamps of a channel on one CPU are distinct'
	grep -q "^	timestamps = \"$kind\";" "$dir/metadata" || fail "$kind: metadata"
	run_shows 0 "^all *$events " stat "$dir"
	shows "^ticks *$kind; "
	run 0 dump "$dir"
	[ "$(wc -l <"$work/out")" = $events ] || fail "$kind: dump"
	[ "$(babeltrace_events "$dir")" = $events ] || fail "$kind: babeltrace2"
	babeltrace "$dir" >"$work/bt" 2>"$work/bt-err" || fail "$kind: babeltrace"
	[ "$(without_statedump <"$work/bt" | wc -l)" = $events ] || fail "$kind: babeltrace"
	[ ! -s "$work/bt-err" ] || fail "$kind: babeltrace: $(head -n 1 "$work/bt-err")"
done

# Error bounds include the uncertainty of coarse time stamps.
run_shows 0 ' +-1[0-9]*ns ' dump -n 1 "$work/off"
run 0 stat --json "$work/off"
[ "$(number error_ns "$work/out")" -ge 100000000 ] || fail "off: error_ns"
shows '"most_on_tick": null'
run 0 stat "$work/tsc-256"
shows 'ticks *tsc/256; up to [1-9][0-9]* more events\{0,1\} on the same tick as the first event of the tick'
run_shows 0 'ticks *interpolated; all time stamps of a channel on one CPU are distinct' stat "$work/interpolated"
run_shows 0 'ticks *system-interpolated; all time stamps of a channel on one CPU are distinct' \
	stat "$work/system-interpolated"
run_shows 0 'ticks *system/256; up to [1-9][0-9]* more events* on the same tick' \
	stat "$work/system-256"

# --sync-every limits the events per packet, also if --fsync flushes after each packet.
run 0 record --sync-every 1000 --fsync packet -o "$work/b" -- "$emit" 10000 2
run 0 stat --json "$work/b"
[ "$(number sync_every "$work/out")" = 1000 ] || fail "sync_every"
check_packets "$work/b"
[ "$most" = 1000 ] && [ "$packets" -ge 20 ] ||
	fail "$packets packets, of up to $most events"

# A limit in bytes: full packets, and no larger one. A limit in time: 1 ms after each
# event, so that packets end without being full. All three limits: the first one that is
# reached ends the packet.
run 0 record --sync-every 4K -o "$work/k" -- "$emit" 10000 1
check_packets "$work/k"
[ "$largest" -ge 4096 ] && [ "$largest" -lt 4200 ] || fail "$largest bytes in a packet"
run 0 record --sync-every 20ms --json -o "$work/t" -- "$emit" 100 1 1000
[ "$(number sync_every_ns "$work/out")" = 20000000 ] || fail "sync_every_ns"
check_packets "$work/t"
[ "$packets" -ge 5 ] || fail "$packets packets of 100 ms of events"
run_shows 0 'bytes/event, .*; a packet ends after 20 ms$' stat "$work/t"
run 0 record -vv --sync-every 2^6 --sync-every 512B --sync-every 5s -o "$work/all" \
	-- "$emit" 1000 1
says 'a packet ends after 64 events, 5 s, 512 bytes'
check_packets "$work/all"
[ "$most" -le 64 ] && [ "$largest" -ge 512 ] || fail "$most events, $largest bytes"
run 0 stat --json "$work/all"
[ "$(number sync_every "$work/out") $(number sync_every_ns "$work/out")" = \
	"64 5000000000" ] || fail "limits in JSON"
[ "$(number sync_every_bytes "$work/out")" = 512 ] || fail "sync_every_bytes"

# A limit above a second also delays writes: after 2.5 s, no event is on disk.
"$ctl" record -q --sync-every 60s -o "$work/slow" -- \
	sh -c "$emit 100 1 >/dev/null && sleep 2.5 && ls -A '$work/slow' >'$work/files'" ||
	fail "--sync-every 60s"
! grep '^default_' "$work/files" ||
	fail "on disk before the limit: $(cat "$work/files")"
check_packets "$work/slow"
[ "$most" -ge 1 ] || fail "--sync-every 60s: no events"

run 0 record --json --timestamps tsc/256 -o "$work/j" -- "$emit" 10000 2
[ "$(number most_on_tick "$work/out")" -gt 0 ] || fail "--json: most_on_tick"
shows '"timestamps": "tsc/256"'

# The metadata describes the machine and the clock.
grep -q '^	cpu_0 = "online=[01]' "$work/b/metadata" || fail "no CPU in the metadata"
grep -q '^	clock_line_0 = "base_ns=' "$work/b/metadata" || fail "no clock params in the metadata"

# OPTION VALUE PATTERN: record must refuse OPTION with an error that matches PATTERN
bad() {
	run_says 2 "$1: .*'$2'.* $3" record "$1" "$2" -o "$work/c" -- true
	[ ! -e "$work/c" ] || fail "$1 $2 made a directory"
}
bad --timestamps sundial 'tsc, tsc/16, tsc/256, interpolated, system, system/16, system/256, system-interpolated or off'
bad --fsync sometimes 'never, end or packet'
for every in -1 2^-1 2^ x '' 1k 1.5s 2^3K 7ns; do
	bad --sync-every "$every" 'use a number of events such as 1000 or 2^10, a time such as 100ms, or a size such as 16K'
done
for every in 0 2^21 1048577 0ms 61s 255B 65K 18446744073709551617; do
	bad --sync-every "$every" 'is out of range; use 1 to 2^20 events, 1us to 60s, or 256B to 64K'
done
run 2 record --sync-every 100 --sync-every 2^3 -o "$work/c" -- true
says "--sync-every: '2^3' is the second limit of its kind; use at most one"
