#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl clock: the true time is within the error bound; --watch prints until its
# output is closed; --wait-synced waits for the daemon and reports the reason of a
# timeout.
. "$(dirname "$0")/lib.sh"

before=$(date +%s%N)
run 0 clock --json
after=$(date +%s%N)
ns=$(number time_ns "$work/out") error=$(number error_ns "$work/out")
[ $((ns + error)) -ge "$before" ] || fail "$ns +- $error is before $before"
[ $((ns - error)) -le "$after" ] || fail "$ns +- $error is after $after"
[ "$error" -lt 1000000000 ] || fail "a bound of $error ns"

# The keys "time" and "time_ns" of clock --json have the same time.
utc=$(sed -n 's/.*"time": "\(.*\)Z".*/\1/p' "$work/out")
[ "$(date -u -d "${utc%.*}" +%s).${utc#*.}" = "${ns%?????????}.${ns: -9}" ] ||
	fail "$utc is not $ns"

run 0 clock
for word in cycles time utc source status rate age epoch origin; do
	shows "^$word  *[^ ]"
done

# Cycles and times increase from line to line.
"$ctl" clock --watch=0.05 --json | head -n 5 >"$work/lines" || true
[ "$(wc -l <"$work/lines")" = 5 ] || fail "--watch: $(cat "$work/lines")"
for key in stamp time_ns; do
	sed -n "s/.*\"$key\": *\"\?\([0-9]*\).*/\1/p" "$work/lines" >"$work/numbers"
	[ "$(wc -l <"$work/numbers")" = 5 ] || fail "--watch: no $key"
	sort -nuc "$work/numbers" || fail "--watch: $key does not rise"
done

# Invalid options and combinations are rejected with the reason.
refused() { run_says 2 "$1" clock "${@:2}"; }	# PATTERN ARGUMENT...
for s in 0 -1 nan 1x 100000; do
	refused "'$s' is not a number of seconds from" --watch=$s
done
for s in -1 nan 1x 100000; do
	refused "'$s' is not a number of seconds from" --wait-synced=$s
done
for bad in 0 -1 x 1.5 '' 99999999999999999999999; do
	refused 'is not a number of nanoseconds' --wait-synced --max-error "$bad"
done
refused "unexpected argument 'extra'" extra
refused "unexpected argument '5'" --wait-synced 5
refused 'unrecognized' --nonsense
refused '--max-error needs --wait-synced' --max-error 5
refused 'exclude each other' --watch --wait-synced
refused 'excludes all other options' --fake-disruption --json
refused 'excludes all other options' --fake-disruption --wait-synced

# --- waiting ------------------------------------------------------------------
export TSCTRACE_RUN_DIR=$work/run
if [ -e /dev/tsctrace ]; then
	echo "$ns +- $error ns; the module is loaded, its clock not waited for"
	exit 0
fi
run_says 1 'not synchronized within 0 s' clock --wait-synced=0
run 1 clock --wait-synced=0.5
says 'not synchronized within 0.5 s: no daemon maintains a clock; start tsctr'
for word in cycles time utc source status rate age epoch origin; do
	says "^$word  *[^ ]"
done
[ ! -s "$work/out" ] || fail "unexpected output"

# trace-ctl clock --wait-synced begins to wait before the daemon is started.
"$ctl" clock --wait-synced=3000 --json >"$work/out" 2>"$work/err" & track waiter
sleep 0.3
"$daemon" --no-module 2>"$work/log" & track pid
wait "$waiter" || fail "not synchronized in 300 s"
shows '"status": "synchronized"'
shows '"origin": "daemon"'
run 0 clock --wait-synced
[ ! -s "$work/out" ] || fail "unexpected output"
run 0 clock --wait-synced=300 --max-error 1000000
run_says 1 'the error bound is [0-9]* ns, above --max-error 1' clock --wait-synced=0.2 --max-error 1
says '^status  *synchronized'

# --- epochs -------------------------------------------------------------------
run_shows 0 '^epoch  *1, the first, since 20' clock
asked=$(date +%s%N)
run 0 clock --fake-disruption
run 0 clock --wait-synced=300
run_shows 0 '^epoch  *2, after fake, since 20.*Z ([0-9.]* s)$' clock
shows '^segments  *[1-9]'
shows "^source  *[a-z_]*; the kernel's clocksource is [a-z]"
run_shows 0 '"cause": "fake"' clock --json
began=$(number epoch_began_ns "$work/out")
[ "$began" -gt $((asked - 1000000000)) ] && [ "$began" -le "$(date +%s%N)" ] ||
	fail "requested at $asked, it began at $began"
[ "$(number segments "$work/out")" -gt 0 ] || fail "no segments in JSON"
for key in clocksource skewed rate_mhz rate_error_ppb error_growth_ppb age_s \
		segments_s epoch_age_s epoch_began usable why; do
	shows "\"$key\": "
done
end_by TERM "$pid" "the daemon"
sleep 1		# params begin at most 0.9 s after their publication
run_says 1 'the clock is holdover' clock --wait-synced=0.2

# The error bound grows at the rate error_growth_ppb, with and without a daemon.
grows() {	# TEXT [again]
	local error grown growth age
	run 0 clock --json
	error=$(number error_ns "$work/out") age=$(number stamp "$work/out")
	growth=$(number error_growth_ppb "$work/out")
	sleep 1
	run 0 clock --json
	grown=$(number error_ns "$work/out")
	age=$(awk -v from="$age" -v to="$(number stamp "$work/out")" \
		-v mhz="$(number rate_mhz "$work/out")" \
		'BEGIN { print (to - from) / mhz / 1e6 }')
	awk -v ns=$((grown - error)) -v ppb="$growth" -v s="$age" \
		'BEGIN { off = ns - ppb * s; exit !(off < 3 && off > -3) }' || {
		[ -z "${2:-}" ] || fail "from $error to $grown ns in $age s, not $growth ns/s"
		grows "$1" again	# 5 s after the last sample, the rate changes.
		return
	}
	echo "$1: the bound grows by $growth ns/s"
}
grows "the daemon just ended"
sleep 6
grows "no daemon"
[ "$(number error_growth_ppb "$work/out" | cut -d. -f1)" -ge 1000 ] ||
	fail "no daemon, and the bound hardly grows"
echo "$ns +- $error ns"
