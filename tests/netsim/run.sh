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

dir=$(mktemp -d)
bin=$out/tests/netsim
stop() {
	mapfile -t left < <(jobs -rp)
	[ ${#left[@]} -eq 0 ] || kill "${left[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT

# A process per scene, which are as many at a time as there are CPUs. The last
# ones, very many nodes, take longest: these begin.
begin() {	# NUMBER: of a scene; 0: the fits
	if [ "$1" -eq 0 ]; then
		exec "$bin/fits" --check --seed "$seed" --trials "$trials"
	else
		exec "$bin/nodes" --check --seed "$seed" "${quick[@]}" --scene "$1"
	fi
}
scenes=$("$bin/nodes" --list | wc -l)
for ((n = scenes; n >= 0; n--)); do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || true
	done
	begin "$n" >"$dir/$n" 2>&1 &
done
wait

# Who died said nothing at the end.
echo "# seed $seed"
failed=0
for ((n = 0; n <= scenes; n++)); do
	[ "$n" -ne 1 ] || { echo; grep -m 1 '^#' "$dir/1" || true; }
	tail -n 1 "$dir/$n" |
		grep -qxE 'passed the best|1 of 1 runs were well' ||
		failed=$((failed + 1))
	if [ "$n" -eq 0 ]; then
		cat "$dir/0"
	else
		grep -vE '^#|^passed|runs were well$' "$dir/$n" || true
	fi
done
echo "$failed of $((scenes + 1)) parts failed"
[ "$failed" -eq 0 ]
