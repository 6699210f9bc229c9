#!/bin/bash
# SPDX-License-Identifier: MIT
# Lengths of spans and system calls, by name, field and thread: compared with those that a Python
# program computes from dump --json.
# test-fast: yes
# test-wing: spans
. "$(dirname "$0")/record.sh"

pairs=(--pair query_start:query_done:id --pair stage_in:stage_out)
compare() {	# DIR [BY [OPTION...]]
	local dir=$1 by=${2:-} with=()
	shift
	[ ${#pairs[@]} -gt 0 ] || with=(no-pairs)
	run 0 dump --json "$dir" "${@:2}"
	mv "$work/out" "$work/events"
	run 0 stat --spans --calls --json ${by:+--by "$by"} "${pairs[@]}" "$dir" "${@:2}"
	python3 "$here/spans.py" "$work/events" "$work/out" "$by" "${with[@]}" ||
		fail "stat --spans${by:+ --by $by} ${*:2}: other figures than those of the events"
}

for seed in 1 2 3; do
	mkdir "$work/$seed"
	"$helpers/spans" "$work/$seed" 20000 "$seed"
	compare "$work/$seed"
done
compare "$work/1" kind
compare "$work/1" status
compare "$work/1" thread
compare "$work/2" '' --to +0.1
# The ends of queries are in other threads, and count.
pairs=()
compare "$work/2" '' --tid 103,107
pairs=(--pair query_start:query_done:id --pair stage_in:stage_out)
compare "$work/2" '' --event 'job' --event 'query*' --event 'stage*'

run_shows 0 'job  "slow": the slowest, and all 476' stat -a --spans --by kind "$work/1"
run_says 1 "--by knd: no selected span has such a field; did you mean 'kind'?" \
	stat --spans --by knd "$work/1"
run_says 1 "no event 'query_end'; 'trace-ctl stat'" stat --pair query_start:query_end "$work/1"
run_says 1 "the event 'query_start' has no field 'rows'" \
	stat --pair query_start:query_done:rows "$work/1"
run_says 1 "the event 'stage_in' is in another --pair, too" \
	stat --pair stage_in:stage_out --pair stage_in:query_done "$work/1"
for pair in '' : a: :b a:b: a:b:c:d a:a; do
	run_says 2 "--pair: '$pair' is not BEGIN:END or BEGIN:END:KEY" stat --pair "$pair" "$work/1"
done
run_says 2 'add one of them' stat --by kind "$work/1"
