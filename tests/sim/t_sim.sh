#!/bin/bash
# SPDX-License-Identifier: MIT
# The clock on simulated machines, every scenario: no reading outside its bound,
# and bounds that say something. Part of what run.sh does on its own: SEED picks
# the first one, SEEDS how many.
# test-timeout: 900
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")
first=${SEED:-$(date +%s)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
"$here/run.sh" --seeds "${SEEDS:-1000}" --first "$first" >"$log" 2>&1 || status=$?
cat "$log"
[ -x "$out/tests/sim/sim" ] || exit 1

# One test per scenario, and one for the ratio over everything
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
