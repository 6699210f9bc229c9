#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon's control socket: metrics for all users, fake disruptions for root only;
# misuse by clients (control.c) does not disturb the clock.
# test-wing: metrics
. "$(dirname "$0")/lib.sh"
need strace

export TSCTRACE_RUN_DIR=$work/run
seed=${SEED:-$(date +%s)}
echo "seed $seed"

# A client that finds the socket gets an answer, although the daemon takes a second to listen.
strace -D -f -o "$work/calls" -e trace=listen -e inject=listen:delay_enter=1000000 \
	"$daemon" --no-module --no-network 2>"$work/log" & track pid
wait_for "the socket is there" test -S "$work/run/control.sock"
"$ctl" status --metrics >"$work/metrics" || fail "a socket at which nothing listens"
end_by TERM "$pid" "a daemon that is slow" "$work/log"

# --no-module: do not disturb the clock of a machine that has the module loaded.
"$daemon" --no-module --interval-ms 200 2>"$work/log" & track pid
wait_for "the socket is there" test -S "$work/run/control.sock"
[ "$(stat -c %a "$work/run/control.sock")" = 666 ] || fail "the socket's mode is not 666"

metrics() { "$ctl" status --metrics >"$work/metrics" || fail "no metrics"; }
value() {	# NAME{LABELS}
	awk -v name="$1" '$1 == name { print $2 }' "$work/metrics"
}
is() { [ "$(value "$1")" = "$2" ] || fail "$1 is $(value "$1"), not $2"; }
below() {
	awk -v v="$(value "$1")" -v m="$2" 'BEGIN { exit !(v != "" && v < m) }' ||
		fail "$1 is $(value "$1")"
}

is_synced() {
	metrics
	[ "$(value 'tsctrace_clock_status{status="synchronized"}')" = 1 ]
}
wait_for "the clock is synchronized" is_synced
# Every line is a HELP or TYPE comment, or a sample of the metric of the HELP and TYPE
# above it.
awk '
/^# HELP tsctrace_[a-z_]+ [^ ]/ { name = $3; if (seen[name]++) bad = 1; next }
/^# TYPE tsctrace_[a-z_]+ (gauge|counter)$/ { if ($3 != name) bad = 1; next }
/^tsctrace_[a-z_]+({[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*})? (NaN|-?[0-9][-+.e0-9]*)$/ {
	split($1, part, "{")
	if (part[1] != name) bad = 1
	samples++
	next
}
{ bad = 1 }
bad { print "not a line of metrics: " $0; exit }
END { if (bad || samples < 40) exit 1 }' "$work/metrics" || fail "metrics"
is 'tsctrace_clock_epoch' 1
is 'tsctrace_module_in_use' 0
is 'tsctrace_channels' 0
is 'tsctrace_clock_samples_total{result="refused"}' 0
below tsctrace_clock_age_seconds 5
below tsctrace_clock_error_seconds 1e-3
below tsctrace_clock_rate_error_ratio 1e-5
grep -q '^tsctrace_build_info{version="[0-9.]*",source="[a-z_]*",clocksource="[^"]*"} 1$' \
	"$work/metrics" || fail "no build_info"

# --- misuse ------------------------------------------------------------------
timeout 300 "$helpers/control" "$work/run/control.sock" "$seed" || fail "after misuse"
wait_for "the clock is synchronized" is_synced
is 'tsctrace_clock_epoch' 1
fds=$(ls "/proc/$pid/fd" | wc -l)
[ "$fds" -lt 40 ] || fail "$fds descriptors are left open"

# --- disruptions are for root ------------------------------------------------
"$ctl" clock --fake-disruption >"$work/out" || fail "no fake disruption"
shows 'simulates a disruption of the clock: epoch 2 began; the daemon recalibrates'
metrics
is 'tsctrace_clock_epoch' 2
is 'tsctrace_clock_epoch_cause{cause="fake"}' 1
is 'tsctrace_clock_disruptions_total{cause="fake"}' 1
is 'tsctrace_clock_disruptions_total{cause="step"}' 0
grep -q "process [0-9]* of user $(id -u) requested a fake disruption" \
	"$work/log" || fail "the fake disruption is not logged"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	# Runs a copy of trace-ctl as user 65534, who may have no access to the build
	# directory.
	cp "$ctl" "$work/trace-ctl"
	grep -q '^# HELP' < <("${nobody[@]}" "$work/trace-ctl" status --metrics) ||
		fail "no metrics for other users"
	exits 1 "${nobody[@]}" "$work/trace-ctl" clock --fake-disruption 2>"$work/err"
	says 'request rejected: only root may'
	grep -q 'of user 65534 .* is not root' "$work/log" ||
		fail "the rejection is not logged"
fi

# --- the daemon is stopped, or not running -----------------------------------
suspend "$pid"
run_says 1 'check whether tsctraced is stopped' status --metrics
kill -CONT "$pid"
end_by TERM "$pid" "it"
[ ! -e "$work/run/control.sock" ] || fail "the socket is left behind"
for command in 'status --metrics' 'clock --fake-disruption'; do
	# shellcheck disable=SC2086
	run_says 1 'tsctraced is not running; start it' $command
done
echo "$fds descriptors after all"
