#!/bin/bash
# SPDX-License-Identifier: MIT
# The relay of `make bench-sync`: passes NTP packets of real daemons between two namespaces
# unchanged, holds each for the planned delay, loses some, and logs what it did. A lopsided
# path has the error that theory says: half the difference, in the daemon's own readings.
. "$(dirname "$0")/sync.sh"

# --- bad input -------------------------------------------------------------------
refused() {	# TEXT OPTION...
	! "$helpers/relay" "${@:2}" a b >"$work/out" 2>&1 || fail "accepted: ${*:2}"
	shows "$1"
}
refused "'flor=5' is wrong" --request flor=5
refused "unknown path 'x'" --path x
refused "a: No such file" --path exp

# --- a child over a lopsided path that loses packets ---------------------------------
relay_start floor=6000,exp=20,loss=0.2 floor=2000,exp=20 "$work/log"
echo "child beta 10.77.1.2" >"$work/alpha/conf"
echo "master 10.77.1.1 minpoll -4 maxpoll -4" >"$work/beta/conf"
start alpha a1
start beta b2
wait_for "beta is synchronized" synced beta
# The log and the samples are compared below: that needs 150 requests.
wait_for "beta has sent 150 requests" above beta 'p["sources"][0]["sent"]' 149
"$helpers/synccheck" 3 "$work/alpha" "$work/beta" >"$work/out" ||
	fail "a reading is outside its bound: $(cat "$work/out")"
cat "$work/out"
# The estimate is off by 2 ms: delays of the machine's own move it by far less than 1 ms.
off=$(sed -n 's/.*median \([0-9]*\) ns.*/\1/p' "$work/out")
[ "$off" -gt 1000000 ] && [ "$off" -lt 3000000 ] || fail "off by $off ns, not 2 ms"
python3 "$bench/samples.py" "$work/beta/control.sock" >"$work/samples"
end_by TERM "$relay" "the relay failed:" "$work/relay.out"

# --- its log -------------------------------------------------------------------------
# It has readings of the TSC, as the daemon's samples have where the TSC is trusted.
grep -q '"source": "tsc"' < <(in_dir beta "$ctl" clock --json) ||
	skip "the legs are not compared: the daemons' counter is not the TSC"
python3 - "$bench" "$work/log" "$work/samples" <<'END' || fail "the log is wrong"
import json
import sys

sys.path.insert(0, sys.argv[1])
import legs

log = legs.Log(sys.argv[2])
requests, answers = log.packets["request"], log.packets["answer"]
lost = [p for p in requests if not p[1]]
print(f"{len(requests)} requests, {len(lost)} lost, {len(answers)} answers")
# With 100 requests, the number of lost ones is within 20 +- 4.5 standard deviations.
assert len(requests) >= 100 and 0.02 < len(lost) / len(requests) < 0.38
# The last answer may have been on its way when the relay ended.
assert all(p[1] for p in answers[:-1])
late = log.late_us()
assert min(late) >= -0.01, "a packet left before it was due"
assert all(p[2] >= 6000 for p in requests if p[1]) and all(p[2] >= 2000 for p in answers)
# A further request of a poll is sent when the one before was answered: it would wait behind
# that one otherwise. 32: TSCT_EXCHANGE_FOLLOWS
rows = [r for line in open(sys.argv[3]) for r in json.loads(line)["samples"]]
pairs = [(a, b) for a, b in zip(rows, rows[1:]) if b[9] & 32]
print(f"{len(pairs)} of {len(rows)} exchanges follow another one")
# The fit compares 24 pairs before polls become a single request.
assert len(pairs) >= 24 and len(pairs) < len(rows) - 20
assert all(b[2] > a[5] for a, b in pairs), "a request was sent before the answer to another"
found, missing = legs.legs(log, legs.exchanges(sys.argv[3]))
assert not missing, f"{missing} packets of exchanges are not in the log"
legs_of = [leg for rows in found.values() for leg in rows]
assert len(legs_of) >= 40
# Time stamps are before the relay and after it; 1 us is the error of the clocks.
assert all(leg[0] > -1 and leg[3] > -1 for leg in legs_of)
print("\n".join(legs.text(log, legs.exchanges(sys.argv[3]))))
END
echo "passed"
