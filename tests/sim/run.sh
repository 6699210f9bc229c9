#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [--seeds COUNT] [--first SEED] [--scenario N|NAME] [--jobs N]
#
# Runs every scenario, or one, with COUNT seeds (default 10000), of which SEED (default
# 1) is the first, in N processes (default: number of CPUs). Prints each violation with
# its scenario and seed, and a table with a row per scenario. A reading is a conversion
# of cycles to a time: live when the cycles are read, past after a later sample.
# Columns:
#   checked, refused, no time   numbers of readings: compared with the truth; refused by
#                               the conversion; converted while the clock has no time
#   bound ns, error ns, ratio   medians of error bound and true error, and their ratio
#   live, past                  the same ratio, of live and of past readings
#   unforeseen                  number of live readings outside their bound because
#                               CLOCK_REALTIME was set or steered since the last sample:
#                               no violation, they are right on the previous timeline
# Fails on any violation, or if the ratio of all readings is above 5.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")
seeds=10000 first=1 jobs=$(nproc) scenario=()
while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
	case $1 in
	--seeds) seeds=$2 ;;
	--first) first=$2 ;;
	--jobs) jobs=$2 ;;
	--scenario) scenario=(--scenario "$2") ;;
	*) echo "run.sh: unknown option $1; see its head" >&2; exit 2 ;;
	esac
	shift 2
done
make -C "$here" --no-print-directory O="$out" >&2

dir=$(mktemp -d) pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"' EXIT
echo "# seed $first, and the $seeds from there on, of each scenario"
for ((part = 0; part < jobs; part++)); do
	"$out/tests/sim/sim" "${scenario[@]}" --seed "$first" --seeds "$seeds" \
		--part "$part/$jobs" --save "$dir/$part" >"$dir/$part.log" &
	pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
	wait "$pid" || status=1
done
cat "$dir"/*.log
add=()
for ((part = 0; part < jobs; part++)); do
	add+=(--add "$dir/$part")
done
"$out/tests/sim/sim" "${add[@]}" || status=1
exit $status
