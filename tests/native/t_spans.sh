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
mkdir "$work/nodes"
"$helpers/spans" "$work/nodes" 20000 4 nodes
compare "$work/nodes"
run_shows 0 ' on one, within 7.10 us$' stat -a --pair query_start:query_done:id "$work/nodes"
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
for pair in '' : a: :b a:b: a:b:c:d a:b::thread a:a; do
	run_says 2 "--pair: '$pair' is not BEGIN:END or BEGIN:END:KEY" stat --pair "$pair" "$work/1"
done
run_says 2 'add one of them' stat --by kind "$work/1"
run_says 1 'no such event; it has job, loop, request, query_start, query_done ...;' \
	stat --event nosuch "$work/1"
# An end with the key of two open spans may be that of either one, and so may the next end.
mkdir "$work/twice"
printf '%s\n' '10 0 100 put 7' '20 0 100 put 7' '30 1 200 got 7' '40 1 200 got 7' '50 0 100 put 7' \
	'60 1 200 got 7' | "$helpers/two_nodes" "$work/twice" 100 100
run 0 stat --json --pair put/send:put/receive:number "$work/twice"
holds "$work/out" "[(s['ambiguous'], s['total_ns']) for s in j['spans']] == [(2, 10000)]"
# Processes that have the same key, such as an address, are told apart.
mkdir "$work/same"
printf '%s\n' '10 0 100 put 7' '20 0 200 put 7' '30 0 100 got 7' '60 0 200 got 7' '70 0 300 got 7' |
	"$helpers/two_nodes" "$work/same" 100 -
for scope in process thread; do
	run 0 stat --json --pair "put/send:put/receive:number:$scope" "$work/same"
	holds "$work/out" "[(s['count'], s['total_ns'], s['no_begin'], s['ambiguous'])
		for s in j['spans']] == [(2, 60000, 1, 0)]"
done
run 0 stat --json --pair put/send:put/receive:number "$work/same"
holds "$work/out" "[s['ambiguous'] for s in j['spans']] == [2]"

# A query has the spans of pairs, too.
run 0 stat --spans --json "${pairs[@]}" "$work/1"
mv "$work/out" "$work/stat"
run 0 query --json "${pairs[@]}" "$work/1" \
	"SELECT name, count(*) n, sum(duration_ns) ns FROM spans WHERE state = 'ended' GROUP BY name"
python3 - "$work/stat" "$work/out" <<'END' || fail "query --pair: other spans than those of stat"
import json
import sys
wanted = sorted((s["name"], s["count"], s["total_ns"]) for s in json.load(open(sys.argv[1]))["spans"]
                if s["count"])
rows = [json.loads(line) for line in open(sys.argv[2])]
assert wanted == sorted((r["name"], r["n"], r["ns"]) for r in rows) and len(wanted) > 3, (wanted, rows)
END
run_says 1 "no event 'query_end'; 'trace-ctl stat'" query --pair query_start:query_end "$work/1" 'SELECT 1'

# --where, in each command: the events and spans that Python finds, with the same condition
cat >"$work/conditions" <<'END'
n >= 100 && kind == "slow"|f.get("n", -1) >= 100 and f.get("kind") == "slow"
job:status < 0|e["event"] == "job" and f.get("status", 0) < 0
rows == 1 OR rows == 3|f.get("rows") in (1, 3)
kind == sl*|f.get("kind", "").startswith("sl")
size & 3|f.get("size", 0) & 3
j?b:n != 5|e["event"] == "job" and f["n"] != 5
END
run 0 dump --json "$work/1"
mv "$work/out" "$work/events"
while IFS='|' read -r condition python; do
	condition=${condition/OR/||}
	run 0 dump --json --where "$condition" "$work/1"
	python3 - "$work/events" "$work/out" "$python" <<'END' || fail "--where '$condition'"
import json
import sys
wanted = []
for line in open(sys.argv[1]):
    e = json.loads(line)
    f = e["fields"]
    if eval(sys.argv[3]):
        wanted.append(line)
assert wanted and wanted == open(sys.argv[2]).readlines(), len(wanted)
END
	nr=$(wc -l <"$work/out")
	run_says 0 "$nr events of" export -f csv -o "$work/csv" --where "$condition" "$work/1"
	run_shows 0 "^selected   $nr events" stat --where "$condition" "$work/1"
done <"$work/conditions"
# A condition on a span may be one on its begin or its end.
run 0 stat --spans --json --by status --where 'kind == slow && status < 0' "$work/1"
python3 - "$work/events" "$work/out" <<'END' || fail "stat --spans --where: other spans"
import json
import sys
begins, wanted = {}, 0
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["event"] == "job":
        begin = begins.pop(e["fields"]["n"], None)
        if e["kind"] == "begin":
            begins[e["fields"]["n"]] = e
        else:
            wanted += bool(begin) and begin["fields"]["kind"] == "slow" and e["fields"]["status"] < 0
rows = json.load(open(sys.argv[2]))["spans"]
assert wanted and [(r["by"], r["count"]) for r in rows] == [("-1", wanted)], (rows, wanted)
END
for command in dump 'export -f csv -o -' stat 'stat --spans' "report -o $work/page.html"; do
	# shellcheck disable=SC2086
	run_says 1 "statsu: no selected event has this field; there are .*; did you mean 'status'?" \
		$command "$work/1" --where 'statsu == 1'
	# shellcheck disable=SC2086
	run_says 2 "'status': not a condition" $command "$work/1" --where status
done

# The last events, and times since the begin
run 0 dump "$work/1"
tail -n 7 "$work/out" >"$work/last"
run 0 dump --tail 7 "$work/1"
cmp "$work/last" "$work/out" || fail "--tail 7: other lines"
run 0 dump --json --where 'n >= 100' "$work/1"
tail -n 5 "$work/out" >"$work/last"
run 0 dump --json --tail 5 --where 'n >= 100' "$work/1"
cmp "$work/last" "$work/out" || fail "--tail 5 --where: other lines"
run 0 dump --relative "$work/1"
awk '{ sub(/^\+/, "", $1); sub(/\./, "", $1); print $1 + 0 }' "$work/out" >"$work/relative"
grep -o '"rel_ns":[0-9]*' "$work/events" | cut -d: -f2 | cmp - "$work/relative" ||
	fail "--relative: other times"
for option in --strace --follow; do
	run_says 2 '--tail: cannot be used with' dump --tail 3 $option "$work/1"
done

# A large recording is counted by several threads, each of which counts the spans of a part of the
# recorded threads: the figures are those of one thread.
mkdir "$work/large"
"$helpers/spans" "$work/large" 2500000 4
[ "$(du -m "$work/large" | cut -f 1)" -gt 33 ] || fail "the recording is not large"
for options in '--spans --calls --json' '--spans --from +3 --to +90 --json' '--spans --where n==1'; do
	# shellcheck disable=SC2086
	taskset -c "$(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$ctl" stat $options "$work/large" \
		>"$work/one" || fail "one CPU: $options"
	# shellcheck disable=SC2086
	run 0 stat $options "$work/large"
	cmp "$work/one" "$work/out" || fail "several threads: other figures: $options"
done
for file in "$work"/large/default_[01]; do
	printf 'XXXXXXXX' | dd of="$file" bs=1 seek=900000 conv=notrunc status=none
done
run 3 stat --spans "$work/large"
[ "$(grep -c "stream default_[01]: packet" "$work/err")" = 2 ] || fail "each damage is reported once"
