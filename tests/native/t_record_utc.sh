#!/bin/bash
# SPDX-License-Identifier: MIT
# The bound of CLOCK_REALTIME to UTC in recordings, as the kernel states it: a fast slew
# that begins after the last periodic reading makes the bound unknown, too.
. "$(dirname "$0")/record.sh"

fake=$helpers/fakeclock.so
# Prints the recording's error to UTC, ns; None: unknown.
utc_of() { stat_of "$1" 's["clock"]["utc_error_ns"]'; }	# DIR
record() {	# DIR COMMAND
	LD_PRELOAD=$fake FAKE_MAXERROR_US=1000 FAKE_SLEW=$work/slew \
		"$ctl" record -q -o "$1" -- sh -c "$2" 2>"$work/err" ||
		fail "record: $(cat "$work/err")"
}
states_error() {	# sets: error
	rm -rf "$work/a"
	record "$work/a" 'sleep 0.2'
	error=$(utc_of "$work/a")
	[ "$error" != None ] && [ "$error" -ge 1000000 ] && [ "$error" -le 3000000 ]
}
steadily states_error ||
	fail "the kernel states 1 ms and its growth, the recording has $error"
record "$work/b" "sleep 0.2; touch '$work/slew'; sleep 0.2"
[ "$(utc_of "$work/b")" = None ] || fail "a slew that began in the last second: $(utc_of "$work/b")"

# trace-ctl clock and status print the reason for which the bound is unknown: a slew, or
# that no daemon keeps the clock.
says() {	# PATTERN VERB
	LD_PRELOAD=$fake "$ctl" "$2" >"$work/out" 2>"$work/err" || true
	shows "^utc  *.*$1"
}
for verb in clock status; do
	FAKE_MAXERROR_US=1000 FAKE_SLEW=$work/slew says 'the kernel slews the clock by more than 500 ppm' "$verb"
	FAKE_SLEW=$work/slew says 'no daemon such as chronyd synchronizes the clock' "$verb"
	FAKE_MAXERROR_US=1000 says 'within [0-9]* ns of UTC (kernel)' "$verb"
done
