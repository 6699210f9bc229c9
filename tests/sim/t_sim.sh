#!/bin/bash
# SPDX-License-Identifier: MIT
# The clock on simulated machines, in every scenario: no reading outside its bound, and
# bounds that are not too large. Runs run.sh with fewer seeds. SEED: the first seed
# (1). SEEDS: their number (200; with TSCT_TIER=all 1000).
# Seeds that once found a fault always run. TSCT_JOBS: processes at a time.
# test-timeout: 900
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Scenarios and seeds that once found a fault. The comment behind a seed names the
# reading that was outside its bound.
known=(
	"small-steps 1795249135"	# a reading long before the end of clock params
	"steps 1795303101"		# a reading after two steps, the second during a calibration
	"early-steps 21"
	"early-steps 39"
	"early-steps-preempted 758"	# a reading before the end of a slew, converted after it
	"early-steps-preempted 587"	# a reading before clock params that their first sample confirms
	"early-steps-often 8"
	"steps-together 532"
	"early-steps-led 9490"
	"early-steps-led 14249"		# a reading by clock params that differ from the next ones
	"migrating 11"			# a reading after a bracket between two CPUs
)

seeds=200
[ "${TSCT_TIER:-}" != all ] || seeds=1000
status=0
"$here/run.sh" --seeds "${SEEDS:-$seeds}" --first "${SEED:-1}" \
	--jobs "${TSCT_JOBS:-$(nproc)}" >"$log" 2>&1 ||
	status=$?
[ -x "$out/tests/sim/sim" ] || { cat "$log"; exit 1; }
for one in "${known[@]}"; do
	"$out/tests/sim/sim" --scenario "${one% *}" --seed "${one#* }" \
		--save /dev/null >>"$log" 2>&1 || status=1
done
cat "$log"

# Prints one test result per scenario, and one for the ratio of bound to error of all
# readings.
"$out/tests/sim/sim" --list | awk -v found="$log" -v status="$status" '
	BEGIN {
		while ((getline line < found) > 0) {
			split(line, word, " ")
			if (word[1] == "VIOLATION")
				bad[word[3] + 0]++
			else
				checked[word[1]] = word[2]
			if (word[1] == "all")
				ratio = word[7]
		}
	}
	{
		ok = !bad[$1] && checked[$2] > 0
		failed += !ok
		print (ok ? "ok " : "not ok ") ++n " - " $2
	}
	END {
		ok = ratio > 0 && ratio <= 5
		failed += !ok
		print (ok ? "ok " : "not ok ") ++n " - median bound to median error: " ratio
		print "1.." n
		exit failed || status != 0
	}'
