#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [--seed SEED] [--trials COUNT] [--quick]
#
# Prints the errors of fits and of whole nodes in simulated networks, beside published
# errors of other programs. Compares all fits, with COUNT trials (default 1000) of each
# row of conditions. Then simulates nodes: one child for a long time; faults; paths;
# trees of up to 10000 nodes. --quick: shorter and smaller simulations of nodes. --seed: seed of
# the random numbers (default 1), to repeat a run. Runs as many processes as there are
# CPUs. Fails on any reading outside its bound, and on the violations that the comments
# at the top of fits.c and nodes.c list.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")
seed=1 trials=1000 quick=()
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

dir=$(mktemp -d)
bin=$out/tests/netsim
stop() {
	mapfile -t left < <(jobs -rp)
	[ ${#left[@]} -eq 0 ] || kill "${left[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT

# Runs one process per scenario, at most one per CPU at a time. The last scenarios have
# very many nodes and take longest, so they are started first.
begin() {	# begin NUMBER: run scenario NUMBER, or all fits if 0
	if [ "$1" -eq 0 ]; then
		exec "$bin/fits" --check --seed "$seed" --trials "$trials"
	else
		exec "$bin/nodes" --check --seed "$seed" "${quick[@]}" --scenario "$1"
	fi
}
scenarios=$("$bin/nodes" --list | wc -l)
for ((n = scenarios; n >= 0; n--)); do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || true
	done
	begin "$n" >"$dir/$n" 2>&1 &
done
wait

# If a process died, the last line of its output is not the expected one.
echo "# seed $seed"
failed=0
for ((n = 0; n <= scenarios; n++)); do
	[ "$n" -ne 1 ] || { echo; grep -m 1 '^#' "$dir/1" || true; }
	tail -n 1 "$dir/$n" |
		grep -qxE 'passed the best|1 of 1 runs passed' ||
		failed=$((failed + 1))
	if [ "$n" -eq 0 ]; then
		cat "$dir/0"
	else
		grep -vE '^#|^passed|runs passed$' "$dir/$n" || true
	fi
done
echo "$failed of $((scenarios + 1)) parts failed"
[ "$failed" -eq 0 ]
