#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [--seed SEED] [--trials COUNT] [--quick]
#
# Prints how well estimators and whole nodes do in simulated networks, beside
# published figures of others: a table of fits (COUNT trials of each row, 200),
# one child for a long time, what may go wrong, 10000 nodes. --quick: a smaller
# part of it. As many processes as there are CPUs. Fails on any reading outside
# its bound, and on what else must not be: see the heads of fits.c and nodes.c.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")
seed=1 trials=200 quick=()
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=(--quick); shift; continue ;;
	esac
	[ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
	case $1 in
	--seed) seed=$2 ;;
	--trials) trials=$2 ;;
	*) echo "run.sh: unknown option $1; see its head" >&2; exit 2 ;;
	esac
	shift 2
done
make -C "$here" --no-print-directory O="$out" >&2

dir=$(mktemp -d) pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"' EXIT
echo "# seed $seed"

bin=$out/tests/netsim
parts=()
add() {	# COMMAND...: one part, whose output comes in this order
	parts+=("$*")
}
add "$bin/fits" --check --seed "$seed" --trials "$trials"
# The long ones first; one process per scene, so that all CPUs have some
mapfile -t scenes < <("$bin/nodes" --list | awk '{print $1}')
for n in "${scenes[@]}"; do
	add "$bin/nodes" --check --seed "$seed" "${quick[@]}" --scene "$n"
done

# Not by number of processes started at once: some take minutes, some nothing.
run_part() {
	${parts[$1]} >"$dir/$1.log" 2>&1 || echo "$1" >"$dir/$1.failed"
}
for part in "${!parts[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || true
	done
	run_part "$part" &
	pids+=($!)
done
wait

cat "$dir/0.log"
echo
grep -hm1 '^#' "$dir/1.log" || true
for ((part = 1; part < ${#parts[@]}; part++)); do
	grep -vE '^#|^passed|runs? (was|were) well$' "$dir/$part.log" || true
done
failed=$(find "$dir" -name '*.failed' | wc -l)
echo "$failed of ${#parts[@]} parts failed"
[ "$failed" -eq 0 ]
