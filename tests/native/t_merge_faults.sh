#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of recordings of machines with faulty clocks (faults.c): two events with
# disjoint error bounds are never in the wrong order. A case is refused, or its times
# have no bounds, or bounds that hold; cases that have all that bounds need are merged.
# Beside that, babeltrace2's order of the same events, recorded as LTTng does.
# FAULTS=N: number of cases; SEED=N: seed of the first case.
. "$(dirname "$0")/record.sh"

faults=${FAULTS:-100} seed=${SEED:-1}
echo "# seed $seed, $faults cases"

# Each case of babeltrace2 takes three open files.
batch=100 cases=$work/cases
mkdir "$cases"
"$helpers/faults" "$cases" "$seed" "$faults"
# Exit status 1: refused; 3: a part of the inputs is missing.
try_merge() {	# CASE NAME OPTION...
	local got=0
	"$ctl" merge -q "${@:3}" -o "$cases/$1/$2" "$cases/$1"/[abc] 2>"$work/err" || got=$?
	[ "$got" -le 1 ] || [ "$got" = 3 ] || fail "case $1, merge ${*:3}: exit status $got"
	[ "$got" = 1 ] || [ -e "$cases/$1/$2" ] || fail "case $1: no result"
	[ "$got" != 1 ] || [ -s "$work/err" ] || fail "case $1: refused without a reason"
}
for ((i = 0; i < faults; i++)); do
	try_merge $i plain
	try_merge $i forced --force --salvage
done
for ((i = 0; i < faults; i += batch)); do
	for ((k = i; k < i + batch && k < faults; k++)); do
		printf '%s\n' "$cases/lttng/$k"-*
	done | xargs -n 1000 babeltrace2
done | sed 's/.*number = \([0-9]*\), node = \([0-9]*\), item = \([0-9]*\).*/\1 \2 \3/' \
	>"$cases/order"
"$helpers/faultcheck" "$cases" "$faults" >"$work/out" ||
	fail "a confident wrong order, or a case was not merged"
sed 's/^/# /' "$work/out"

# A test that accepts a merge that refuses everything would show nothing.
known=$(sed -n 's/^known \([0-9]*\) of.*/\1/p' "$work/out")
[ $((3 * known)) -ge "$faults" ] || fail "only $known of $faults cases have known bounds"
refused=$(find "$cases" -mindepth 1 -maxdepth 1 -name '[0-9]*' ! -exec test -e {}/plain \; \
	-print | wc -l)
[ $((5 * refused)) -ge "$faults" ] || fail "only $refused of $faults cases are refused"

# dump shows no bound if nodes that were never compared are merged with --force.
for ((i = 0; i < faults; i++)); do
	! grep -q '^[a-z0-9-]* apart ' "$cases/$i/truth" || [ -e "$cases/$i/plain" ] || break
done
[ $i -lt "$faults" ] || fail "no case of nodes that were never compared"
run 0 dump --json --error "$cases/$i/forced"
holds "$work/out" 'len(j) > 200' 'all(e["error_ns"] is None for e in j)'
