#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of LTTng's traces: a program emits events of tsctrace and of LTTng-UST by turns. Merged, all
# of LTTng's are as babeltrace2 reads them, each is within its bound between the readings of
# CLOCK_REALTIME around it, and events whose bounds are disjoint are in their order.
# test-wing: ctf
. "$(dirname "$0")/record.sh"
need babeltrace2 lttng lttng-sessiond
need_root "a private /run, for LTTng's daemon,"
# LTTng's daemon of root has its sockets in /run, whatever it is told.
[ -n "${T_MERGE_LTTNG:-}" ] || T_MERGE_LTTNG=1 exec unshare -m "$0"
mount -t tmpfs none /run
export HOME=$work/home LTTNG_HOME=$work/home
mkdir "$HOME"
# shellcheck disable=SC2086
${CC:-cc} -I"$here/lttng" -I"$top/lib/include" -I"$top/kmod/uapi" -o "$work/program" \
	"$here/lttng/program.c" "$out/lib/libtsctrace.a" -pthread -llttng-ust -ldl
lttng-sessiond --no-kernel >"$work/sessiond.log" 2>&1 & track sessiond
wait_for "LTTng's daemon answers" lttng -n list >"$work/out" 2>&1
printf 'synced-cluster error 1000\nhistory 2\n' >"$work/conf"
start_daemon --config "$work/conf" --interval-ms 100
echo 1..3

session() {	# NAME EVENTS SUBBUFFERS [COMMAND...]: traces and records the program
	lttng -n create "$1" --output="$work/$1.lttng"
	lttng -n enable-channel -u chan --subbuf-size=16k --num-subbuf="$3"
	lttng -n enable-event -u -c chan 'test_program:*'
	lttng -n add-context -u -t vpid -t vtid -t procname
	lttng -n start
	"$ctl" record -q -o "$work/$1.rec" -- "$work/program" "$2" >"$work/$1.times"
	"${@:4}"
	lttng -n stop
	lttng -n destroy "$1"
}
merges() { rm -rf "$work/$1"; "$ctl" merge -o "$work/$1" "${@:2}" >"$work/out" 2>"$work/err"; }

session all 20000 256 >"$work/out" 2>"$work/err"
# What the daemon publishes has no pairings of clocks; they are in its history after some seconds.
wait_for "the history has the time" merges m "$work/all.rec" "$work/all.lttng"
"$ctl" dump --json --error=clock "$work/m" >"$work/dump"
grep '"channel":"chan"' "$work/dump" | /usr/bin/python3 "$here/ctf_check.py" "$work/all.lttng" \
	>"$work/out" || fail "fields"
grep -q '^10000 events' "$work/out" || fail "number of events"
ok "events and fields are those that babeltrace2 reads"

python3 - "$work/dump" "$work/all.times" >"$work/out" <<'END' || fail "times"
import json, sys
times = {n: (a, b) for n, a, b in (map(int, line.split()) for line in open(sys.argv[2]))}
worst = outside = order = seen = 0
low = []
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["event"] not in ("own_step", "test_program_step"):
        continue
    n, t, error = event["fields"]["nr"], int(event["time_ns"]), int(event["error_ns"])
    before, after = times[n]
    seen += 1
    worst = max(worst, error)
    outside += t + error < before or t - error > after
    low.append((n, t - error, t + error))
latest = None
low.sort()
for n, a, b in low:         # in the order in which they happened
    order += latest is not None and b < latest
    latest = a if latest is None else max(latest, a)
print(f"{seen} events, {outside} outside, {order} out of order, bound {worst} ns")
sys.exit(seen != len(times) or outside > 0 or order > 0)
END
ok "by turns with events of tsctrace: $(cat "$work/out")"

# A rotated trace has several directories, and one count of losses.
again() {
	lttng -n rotate
	"$work/program" 100000 >/dev/null
}
session small 100000 2 again >"$work/out" 2>"$work/err"
[ "$(find "$work/small.lttng" -name metadata | wc -l)" = 2 ] || fail "not rotated"
wait_for "the history has the time" merges s "$work/small.lttng"
{ "$ctl" dump --json "$work/s" 2>"$work/dump.err" || [ $? = 3 ]; } >"$work/dump"
/usr/bin/python3 "$here/ctf_check.py" "$work/small.lttng" <"$work/dump" >"$work/out" || fail "fields"
lost=$(sed -n 's/.*events, \([0-9]*\) lost/\1/p' "$work/out")
[ "$lost" = 0 ] || grep -q "^trace-ctl dump: $lost events were lost" "$work/dump.err" ||
	fail "$lost events were lost"
kill "$sessiond"
wait "$sessiond" || true
ok "small buffers, a rotated trace: $(cat "$work/out")"
