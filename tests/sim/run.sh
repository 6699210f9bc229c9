#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [--seeds COUNT] [--first SEED] [--scenario N|NAME] [--jobs N]
#
# Runs COUNT seeds (10000) from SEED (1) on of every scenario, or of one, in as many
# processes as there are CPUs. Prints each violation with its scenario and seed, and a
# table: readings checked, refused, and without a time; medians of bound and true
# error in ns, their ratio, the ratios of live and of past readings; and the number of
# live readings that were outside their bound because the rate or value of CLOCK_REALTIME
# had changed since the last sample (they are right on the previous timeline).
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
