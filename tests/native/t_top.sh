#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl top: rates of channels and CPUs, and losses by cause, as lines, as JSON,
# and on a terminal, which is restored at the end.
# test-wing: watch
. "$(dirname "$0")/record.sh"

flood=$helpers/flood

refused() { run_says 2 "$1" top "${@:2}"; }	# PATTERN ARGUMENT...
refused "unexpected argument 'x'" x
refused "delay: '0' is not a number of seconds from 0.1 to 86400" -d 0
refused "delay: 'nan' is not" -d nan
refused "count: '0' is not a number from 1" -n 0
refused "count: '-1' is not" -n -1
refused "sort: invalid value 'size'; use events, bytes, unread, lost, name or id" -s size
TSCTRACE_PROVIDER=none run 1 top --once
says "no provider of channels (\$TSCTRACE_PROVIDER is 'none')"

start_daemon
run_shows 0 '^[0-9:]*  0 channels, 0 events/s, 0.0 MB/s, 0 lost/s$' top --once -d 0.1

# --- rates and losses -------------------------------------------------------

# A steady channel with a reader, a channel that fills up, and an idle one
run 0 channel create idle --policy overwrite
run 0 channel create full --block-size 4096 --blocks 4
# A ring of 1024 blocks has room for the burst of events after a stall of the machine.
"$ctl" record -q -c steady --blocks 1024 -o "$work/r" & track recorder
TSCTRACE_CHANNEL=full "$flood" 10000 20000 2 >/dev/null & track filler
is_listed() { "$ctl" channel list | grep -q " $1 "; }
wait_for "the channel is listed" is_listed steady
TSCTRACE_CHANNEL=steady "$flood" 10000 100000 2 >/dev/null & track steady
until_written steady 10000

# Compares rates of two refreshes.
right_rates() {
	run 0 top -p --json -n 2 -d 1
	[ "$(wc -l <"$work/out")" = 2 ] || fail "not one object for each refresh"
	python3 - "$work/out" <<'END'
import json, sys
for line in open(sys.argv[1]):
    top = json.loads(line)
    assert 0.3 < top["seconds"] < 30, top["seconds"]
    rates = [c["events_per_s"] for c in top["channels"]]
    assert rates == sorted(rates, reverse=True), rates
    by = {c["name"]: c for c in top["channels"]}
    assert sorted(by) == ["full", "idle", "steady"], sorted(by)
    s, f, i = by["steady"], by["full"], by["idle"]
    assert 70000 < s["events_per_s"] < 130000, s
    # An event: 16 bytes of header and 12 of payload, rounded up; plus block headers
    assert 31 < s["bytes_per_s"] / s["events_per_s"] < 34, s
    assert s["lost_per_s"]["full"] == 0 and s["holders"] == 2, s
    assert abs(sum(c["events_per_s"] for c in s["cpus"]) - s["events_per_s"]) \
        < s["events_per_s"] / 4
    # A CPU's ring fills up when the scheduler runs a writer on this CPU.
    tried = f["events_per_s"] + f["lost_per_s"]["full"]
    assert f["events_per_s"] < 3000 and 14000 < tried < 26000, f
    assert f["unread_percent"] > 80 and f["lost"]["full"] > 1000, f
    assert sum(c["lost"]["full"] for c in f["cpus"]) >= f["lost"]["full"] / 2
    assert i["unread_percent"] is None and i["kept"] and i["holders"] == 0, i
    assert i["events_per_s"] == 0
END
}
steadily right_rates || fail "--json"

losses_first() {
	run 0 top -p --once -d 0.3 -s lost
	awk 'NR == 2 { head = $1 " " $2 " " $3 }
		NR == 3 { first = $2 } END { exit !(head == "id channel events/s" &&
		first == "full") }' "$work/out" &&
		grep -q "^ *[0-9]* full  *[0-9.k]*  *0.[01]  *\([89][0-9]%\|100%\)  *[0-9].*  full [0-9]* " \
			"$work/out"
}
steadily losses_first || fail "the channel with losses is not the first"
shows '^       CPU 0 '
run 0 top --once -d 0.1 -s name
[ "$(awk 'NR > 2 { print $2 }' "$work/out" | tr '\n' ' ')" = "full idle steady " ] ||
	fail "channels are not sorted by name"

# `trace-ctl status`, like `trace-ctl top`, shows a line for each CPU that lost events.
# The line has the ring's numbers of events and blocks, too.
run_shows 0 '^ *[0-9]* full .* full [1-9]' status
shows '^       CPU [01]  *events [0-9]*, blocks [0-9]*, unread .*, lost full [1-9]'
run 0 status -p
[ "$(grep -c '^       CPU ' "$work/out")" -ge 3 ] || fail "no line for each CPU"
run_shows 0 '"block": [1-9]' status --json

# --- on a terminal ----------------------------------------------------------

# Runs top on a new terminal, which must be restored at the end.
on_terminal() {	# COLUMNS ROWS [TEXT KEYS]... -- ARGUMENT...
	local size=("$1" "$2") steps=() want
	shift 2
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	TERM=xterm python3 "$here/terminal.py" "${size[@]}" \
		"$work/screen" "${steps[@]}" -- "$ctl" top "$@" 2>"$work/err" ||
		fail "top $*: status $?: $(tail -n 20 "$work/screen" | cat -v)"
	# Expected escape sequences: alternate screen on, cursor off, cursor on,
	# alternate screen off
	for want in '?1049h' '?25l' '?25h' '?1049l'; do
		grep -qF "$want" "$work/screen" || fail "top $*: no $want"
	done
}

on_terminal 60 8 '1049h' p 'CPU 0' q -- -d 0.2
grep -q 'more line' "$work/screen" || fail "no line that more lines do not fit"
tr '\r' '\n' <"$work/screen" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' |
	awk 'length($0) > 60 { print; exit 1 }' ||
	fail "lines are longer than the terminal is wide"
on_terminal 100 30 '1049h' '\x03' --
on_terminal 100 30 'channels' '\x1c' --
on_terminal 100 30 -- -n 2 -d 0.2
# Ctrl-Z restores the terminal; SIGCONT enters the alternate screen again.
on_terminal 100 30 'channels' '\x1a' '1049l' '' '1049h' q --

# --- channels and daemons that start and end ---------------------------------

"$ctl" top -d 0.2 >"$work/lines" 2>&1 & track pid
until_in "$work/lines" ' steady '
kill -9 "$steady" "$filler"
kill -INT "$recorder"
wait "$recorder" "$steady" "$filler" || true
run 0 channel remove full
stop_daemon
until_in "$work/lines" 'no provider of channels: load the module or start tsctraced'
start_daemon
# The kept channel is there again.
until_in "$work/lines" '^[0-9:]*  1 channels\{0,1\}, 0 events/s, 0.0 MB/s, 0 lost/s$'
kill -0 "$pid" || fail "top ended with the daemon"
end_by INT "$pid" "top after SIGINT"
echo "top: fine"
