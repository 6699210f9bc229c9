#!/bin/bash
# SPDX-License-Identifier: MIT
# Options for files: each kind of timestamps is readable by trace-ctl and by both
# versions of babeltrace without warnings; packets have the requested size.
# shellcheck source=tests/native/record.sh
# test-fast: yes
. "$(dirname "$0")/record.sh"

events=20001
for kind in tsc tsc/16 tsc/256 interpolated system off; do
	dir=$work/${kind/\//-}
	run 0 record -vv --timestamps "$kind" --sync-every 2^7 --fsync end -o "$dir" \
		-- "$emit" 10000 2
	says "files: timestamps $kind, at most 128 events per packet, .* bytes/event; fsync: end"
	[ $kind = off ] || says 'time stamps: up to [0-9]* further events\{0,1\} on the same tick\|all time stamps are distinct'
	grep -q "^	timestamps = \"$kind\";" "$dir/metadata" || fail "$kind: metadata"
	run 0 stat "$dir"
	shows "^all *$events "
	shows "^ticks *$kind; "
	run 0 dump "$dir"
	[ "$(wc -l <"$work/out")" = $events ] || fail "$kind: dump"
	[ "$(babeltrace_events "$dir")" = $events ] || fail "$kind: babeltrace2"
	babeltrace "$dir" >"$work/bt" 2>"$work/bt-err" || fail "$kind: babeltrace"
	[ "$(wc -l <"$work/bt")" = $events ] || fail "$kind: babeltrace"
	[ ! -s "$work/bt-err" ] || fail "$kind: babeltrace: $(head -n 1 "$work/bt-err")"
done

# Error bounds include the uncertainty of coarse time stamps.
run 0 dump -n 1 "$work/off"
shows ' +-1[0-9]*ns '
run 0 stat --json "$work/off"
[ "$(number error_ns "$work/out")" -ge 100000000 ] || fail "off: error_ns"
shows '"most_on_tick": null'
run 0 stat "$work/tsc-256"
shows 'ticks *tsc/256; up to [1-9][0-9]* further events\{0,1\} on the same tick as an event before'
run 0 stat "$work/interpolated"
shows 'ticks *interpolated; all time stamps are distinct'

# --sync-every limits the events per packet, also if --fsync flushes after each packet.
run 0 record --sync-every 1024 --fsync packet -o "$work/b" -- "$emit" 10000 2
run 0 stat --json "$work/b"
[ "$(number sync_every "$work/out")" = 1024 ] || fail "sync_every"
packets=$(sed -n 's/.*holds_[^=]*= "packets=\([0-9]*\) .*/\1/p' "$work/b/metadata" |
	awk '{ n += $1 } END { print n }')
[ "$packets" -ge 20 ] || fail "$packets packets"

run 0 record --json --timestamps tsc/256 -o "$work/j" -- "$emit" 10000 2
[ "$(number most_on_tick "$work/out")" -gt 0 ] || fail "--json: most_on_tick"
shows '"timestamps": "tsc/256"'

# The metadata describes the machine and the clock.
grep -q '^	cpu_0 = "online=[01]' "$work/b/metadata" || fail "no CPU in the metadata"
grep -q '^	clock_line_0 = "base_ns=' "$work/b/metadata" || fail "no clock params in the metadata"

# OPTION VALUE PATTERN: record must refuse OPTION with an error that matches PATTERN
bad() {
	run 2 record "$1" "$2" -o "$work/c" -- true
	says "$1: .*'$2'.* $3"
	[ ! -e "$work/c" ] || fail "$1 $2 made a directory"
}
bad --timestamps sundial 'tsc, tsc/16, tsc/256, interpolated, system or off'
bad --fsync sometimes 'never, end or packet'
for every in 0 3 1000 2^21 2097152 -1 2^-1 2^ x '' 1k; do
	bad --sync-every "$every" 'is not a power of two from 2^0 to 2^20'
done
echo "all kinds of timestamps, $packets packets of 1024"
