#!/bin/bash
# SPDX-License-Identifier: MIT
# query: the table of states of threads has the times of stat --threads; threads that are not
# blocked any more have a waker; calls of kernel events agree with dump.
# test-wing: query threads kernel
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events

record_system "$work/all" -e sched -e syscalls -- sh -c 'for i in 1 2 3; do sleep 0.01; done'
"$ctl" stat --threads --json "$work/all" >"$work/stat"
run 0 query --json "$work/all" \
	'select node, tid, state, sum(duration_ns) as ns from states group by 1, 2, 3'
python3 - "$work/out" "$work/stat" <<'END' || fail "states of query"
import collections, json, sys
want = collections.Counter()
got = {(row["node"], row["tid"], row["state"].lower().replace(" ", "_")): int(row["ns"])
       for row in map(json.loads, open(sys.argv[1])) if int(row["ns"])}
for thread in json.load(open(sys.argv[2]))["thread_states"]:
    for state in "unknown", "running", "runnable", "blocked", "off_cpu":
        want[thread["node_name"], thread["tid"], state] += thread[state + "_ns"]
assert got == +want and len(got) > 10, (set(got.items()) ^ set((+want).items()), len(got))
END
run 0 query --json "$work/all" "select count(*) as n, count(waker_tid) as w, count(call) as c
	from states, clock where state = 'blocked' and until_ns < end_ns"
python3 -c 'import json, sys
row = json.loads(sys.stdin.read())
assert row["n"] and row["w"] and row["c"], row' <"$work/out" || fail "wakers: $(cat "$work/out")"
run 0 query --json "$work/all" "select count(*) as n from states
	where state <> 'running' and cpu is not null or state = 'unknown' and call is not null"
shows '{"n":0}'
tid=$("$ctl" query --csv "$work/all" "select tid from states where thread = 'sleep' limit 1" | tail -n 1)
run 0 query --csv --tid "$tid" "$work/all" 'select distinct tid from states'
[ "$(tail -n +2 "$work/out")" = "$tid" ] || fail "--tid"
checked=$(python3 "$here/query_check.py" "$ctl" "$work/all" 2 \
	"$helpers/sql_shim.so" 2>&1) || fail "${checked: -500}"
