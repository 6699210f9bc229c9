#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl time: numbers of each clock of this host, read between two readings of
# CLOCK_REALTIME, become that time within the bound; also after the daemon was killed, and with
# a history that is cut anywhere. A stream is rewritten in one column.
# test-wing: time
. "$(dirname "$0")/lib.sh"
need python3
export TSCTRACE_RUN_DIR=$work/run
mkdir "$work/run"
cp "$here/timeclocks.py" "$work/"
clocks() { python3 "$work/timeclocks.py" "$@"; }
echo 1..9

# --- no daemon ----------------------------------------------------------------------------
run_says 1 "history: the daemon has recorded no clock there; start tsctraced" time 5
run_says 1 "No such file or directory; start tsctraced without 'history off'" time --list
ok "without a daemon"

# --- wrong usage --------------------------------------------------------------------------
run_says 2 "no number; give numbers of the clock" time
run_says 2 "give '-' instead of numbers" time --column 2 5
run_says 2 "give '-' instead of numbers" time --to utc 5 6
run_says 2 "exclude each other" time --json -
run_says 2 "takes no number" time --list 5
for bad in wall 1 ''; do
	run_says 2 "'$bad'.*realtime, monotonic" time --clock "$bad" 5
done
run_says 2 "ns, us, ms or s" time --unit min 5
run_says 2 "not a boot id; give 32 hexadecimal" time --boot 12x 5
ok "wrong usage"

# --- a daemon -----------------------------------------------------------------------------
# A cluster's time that is CLOCK_REALTIME
printf 'synced-cluster error 1000\nhistory 2\n' >"$work/conf"
start_daemon() {
	"$daemon" --run-dir "$work/run" --config "$work/conf" --interval-ms 100 2>>"$work/daemon.log" &
	pid=$!
}
# peers: the clock file can be that of a killed daemon.
synced() { "$ctl" peers >/dev/null 2>&1 && "$ctl" clock --wait-synced=0 >/dev/null 2>&1; }
converts() { clocks check "$ctl" "$work/seen" "$@" >"$work/out" 2>"$work/err"; }
bytes() { cat "$work"/run/history/* 2>/dev/null | wc -c; }
grown() { [ "$(bytes)" -gt "$1" ]; }	# BYTES
: >"$work/seen"
start_daemon
wait_for "the clock is synchronized" synced
for i in 1 2 3 4 5; do
	clocks read >>"$work/seen"
	sleep 0.3
done
wait_for "numbers of all clocks convert" converts
ok "a running daemon: $(tail -n 1 "$work/out")"

boot=$(tr -d - </proc/sys/kernel/random/boot_id)
run_shows 0 "^$boot$" time --list
for bad in xyz 12,5 1.2.3 5ns; do
	run_says 2 "'$bad': not a number" time "$bad"
done
for large in 9223372036854775808 99999999999999999999999 99999999999.5 18446744073709551616.0000000001; do
	run_says 1 "$large: after all that is recorded" time "$large"
	run_says 1 "-$large: before all that is recorded" time -- "-$large"
done
run_says 1 "after all that is recorded" time --clock tsc 99999999999999999999999
run_says 1 "before all that is recorded of this boot" time 5
tsc=$("$ctl" clock | sed -n "s/^cycles *//p")
run_shows 0 "^000$tsc realtime" time --clock tsc "000$tsc"
run_says 1 "after all that is recorded" time --clock realtime 9000000000000000000
run_says 1 "nothing is recorded of that boot" time --boot 00000000000000000000000000000001 5
run 0 time --boot "$boot" --json --clock realtime "$(clocks one realtime "$work/seen")"
shows '"extrapolated":'
ok "boots, and numbers outside"

# --- a stream -----------------------------------------------------------------------------
ns=$(clocks one monotonic "$work/seen")
us=$((ns / 1000))
printf '[%d.%06d] first %d\nno number\n\n[99999999.5] last\n' $((us / 1000000)) $((us % 1000000)) \
	"$us" >"$work/lines"
"$ctl" time --to utc - <"$work/lines" >"$work/out" 2>"$work/err" && fail "a number was left out"
grep -q "1 number converted" "$work/err" || fail "$(cat "$work/err")"
grep -q "1 number left as before; the first: 99999999.5: after all" "$work/err" ||
	fail "$(cat "$work/err")"
grep -q "^\[$(date -u +%Y)-.*Z\] first $us$" "$work/out" || fail "$(cat "$work/out")"
for large in 9223372036854775808 -99999999999999999999; do
	printf '%s\n%d\n' "$large" "$ns" | "$ctl" time - >"$work/large" 2>"$work/err" && fail "status 0: $large"
	grep -q "1 number left as before; the first: $large" "$work/err" || fail "$(cat "$work/err")"
done
sed 1d "$work/lines" | cmp - <(sed 1d "$work/out") || fail "other lines changed"
printf '"a, b",%d,"c"\r\n' "$us" | "$ctl" time --csv --column 2 --unit us - >"$work/out" 2>/dev/null
grep -q $'^"a, b",[0-9]\{19\},"c"\r$' "$work/out" || fail "csv: $(cat "$work/out")"
echo nothing | "$ctl" time - >"$work/out" 2>"$work/err" && fail "no number, status 0"
grep -q "no line has a number in column 1" "$work/err" || fail "$(cat "$work/err")"
ok "a stream"

# --- the daemon is killed and starts again --------------------------------------------------
size=$(bytes)
wait_for "the history grows" grown "$size"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
converts || fail "after kill -9: $(cat "$work/out" "$work/err")"
start_daemon
wait_for "the clock is synchronized" synced
clocks read >>"$work/seen"
wait_for "numbers from before and after convert" converts
kill "$pid"
wait "$pid" || fail "the daemon failed"
converts --cluster || fail "after the daemon's end: $(cat "$work/out" "$work/err")"
ok "kill -9, and a second daemon: $(tail -n 1 "$work/out")"

# --- no daemon saw that the clock was set ----------------------------------------------------
now=$(clocks read | sed -n 's/^monotonic \([0-9]*\) .*/\1/p')
run_shows 0 "^$now realtime .* extrapolated" time "$now"
: >"$work/step"
export FAKE_STEP=$work/step LD_PRELOAD=$helpers/fakeclock.so
run_says 1 "$now: after all that is recorded of this boot and is still valid" time "$now"
run 0 time "$(clocks one monotonic "$work/seen")"
unset FAKE_STEP LD_PRELOAD
ok "the clock was set after the daemon's end"

# --- a history that is cut, without the clock file ------------------------------------------
mkdir -p "$work/copy/history"
cp "$work"/run/history/* "$work/copy/history/"
file=$(ls -S "$work"/copy/history/* | head -n 1)
cp "$file" "$work/whole"
size=$(stat -c %s "$file")
record=120
[ $((size % record)) = 0 ] || fail "$size bytes are no records"
for ((cut = 0; cut <= size; cut += record * (size / record / 8 + 1))); do
	for more in 0 1 119; do
		head -c $((cut + more)) "$work/whole" >"$file"
		clocks check "$ctl" "$work/seen" --dir "$work/copy" --some >"$work/out" \
			2>"$work/err" || fail "cut at $((cut + more)): $(cat "$work/out" "$work/err")"
	done
done
clocks check "$ctl" "$work/seen" --dir "$work/copy" --some | grep -q '^[1-9]' ||
	fail "the copy knows no number"
ok "cut at some of $((size / record)) records"

# --- a damaged record, a foreign version, no history at all ----------------------------------
cp "$work/whole" "$file"
printf '\377' | dd of="$file" bs=1 seek=$((record + 50)) conv=notrunc 2>/dev/null
"$ctl" time --dir "$work/copy" "$ns" >"$work/out" 2>"$work/err" || true
grep -q "1 damaged records are left out" "$work/err" || fail "$(cat "$work/err")"
rm "$work"/copy/history/*
printf 'x%.0s' {1..500} >"$file"
run_says 1 "not a history, or its beginning is damaged" time --dir "$work/copy" 5
ln -sf "$work/whole" "$file"
run_says 1 "a symbolic link" time --dir "$work/copy" 5
rm "$file"
run_says 1 "nothing is recorded of this boot" time --dir "$work/copy" 5
ok "damaged and foreign files"
