#!/bin/bash
# SPDX-License-Identifier: MIT
# query: query_check.py compares its answers with the output of dump, for generated recordings and a
# real one; wrong queries, and those that would change something, are refused with their place;
# many types of events; names that are words of SQL; damage; forms of output; interrupts.
# test-wing: query
. "$(dirname "$0")/record.sh"
need sqlite3

for name in kinds many types made zombie nodes names; do mkdir "$work/$name"; done
"$helpers/kinds" "$work/kinds" 20
"$helpers/made" "$work/made"
"$helpers/made" "$work/many" many
"$helpers/types" "$work/types" 100
"$helpers/spans" "$work/nodes" 1000 1 nodes
# Threads with the same IDs and other names on the second node; a thread that gets other names
for i in {1..99}; do echo "$((10 * i)) $((i % 2)) $((1 + i % 7)) put $i"; done |
	TWO_NODES_NAMES=1 "$helpers/two_nodes" "$work/names" 100 100
run 0 record -q -o "$work/renamed" -- "$helpers/renames"
record_emit "$work/real"
rec=$work/kinds

echo 1..9
for name in kinds made many types real nodes names renamed; do
	checked=$(python3 "$here/query_check.py" "$ctl" "$work/$name" "${SEED:-1}" \
		"$helpers/sql_shim.so" 2>&1) ||
		fail "$name: $checked"
	echo "# $name: $checked"
	case $name in
	kinds) [[ $checked == *', 40 messages, '* ]] || fail "$name: $checked" ;;
	esac
done
ok "query agrees with dump"

# --- wrong queries ----------------------------------------------------------------------------
refuses() {	# QUERY PATTERN [COLUMN-OF-THE-MARK]
	run_says 2 "$2" query "$rec" "$1"
	[ ! -s "$work/out" ] || fail "$1: printed rows"
	# The mark is two blanks and the column from the left.
	[ -z "${3:-}" ] || [ "$(tail -n 1 "$work/err")" = "$(printf '%*s^' $(($3 + 1)) '')" ] ||
		fail "$1: the mark: $(cat "$work/err")"
}
refuses 'select * from evnts' 'line 1, column 15 .*: no such table: evnts; did you mean events?' 15
refuses 'select * from lvel' 'no such table: lvel; did you mean level?' 15
refuses 'select * from zzzzzz' "no such table: zzzzzz; 'trace-ctl query .*' lists the tables" 15
refuses 'select tmie_ns from events' 'no such column: tmie_ns; did you mean time_ns?' 8
refuses 'select ratios from load' 'no such column: ratios; did you mean ratio?' 8
refuses 'select e.hots from nodes e' 'no such column: e.hots'
refuses $'select\n  1,\n\tfrm' 'line 3, column 2 .*no such column: frm' 2
refuses 'select "tmie" from events' 'no such column: tmie' 8
refuses 'select * frm events' 'near "frm": syntax error' 10
refuses 'select count(*) from' 'incomplete input' 21
refuses 'select nofunc(1)' 'no such function: nofunc' 8
refuses 'select 1; select 2' 'line 1, column 11 .*: a second statement begins here' 11
for parameter in '?' ?1 :n @n '$n'; do
	refuses "select '?' /* ? */, $parameter" 'a parameter has no value; write the value' 21
done
refuses '' 'the query is empty'
refuses ' /* nothing */ ; -- here' 'the query is empty'
# shellcheck disable=SC2028
refuses 'select * from "\e[31m'$'\e''[32m"' 'no such table: .*\\x1b\[32m'
for change in 'drop table nodes' 'insert into nodes values (1)' 'delete from events' \
	'update nodes set host = 1' 'create table x (a)' 'create temp table x as select 1' \
	"attach '$work/x' as x" "vacuum into '$work/x'" vacuum begin 'pragma journal_mode = off' \
	"pragma temp_store_directory = '/'" 'create virtual table x using fts5(a)' analyze; do
	refuses "$change" 'the query would change something\|may not be modified'
done
refuses "select load_extension('x')" 'not authorized to use function: load_extension' 8
[ ! -e "$work/x" ] || fail "a refused query wrote a file"
run_says 2 'write the condition into the query' query --where 'nr == 1' "$rec" 'select 1'
run 0 query --help
shows '--event=GLOB'
! grep -q -- '--where' "$work/out" || fail "query --help lists --where, which is refused"
run 3 query "$rec" 'explain query plan select * from nodes'
run_says 2 'only SELECT, WITH, VALUES and EXPLAIN are permitted' query "$rec" 'drop table nodes'
run_says 2 'use one' query --json --csv "$rec" 'select 1'
run_says 2 'put the query in quotes' query "$rec" select 1
run_says 1 'integer overflow' query "$rec" 'select sum(9223372036854775807 + nr) from outer'
# A comment, a text or another kind of quotes before and behind a name
run 3 query -q --csv "$rec" 'select /* evnts */ count(*) as n, '"'evnts'"' as t from [level] -- evnts'
[ "$(cat "$work/out")" = $'n,t\n20,evnts' ] || fail "quotes"
run 3 query --json "$rec" "select sum(e.value) as s from json_each('[1,2]') e, json_tree('3')"
shows '{"s":3}'
ok "wrong queries"

# --- filters: no command has a result of what is not in the recording ----------------------------
for verb in dump stat 'stat --spans' 'export -f json -o -' "report $work/page.html" \
	query 'explain --slowest job' "compare --span job $work/real"; do
	for filter in '--event none' '--tid 4294967295' '--node none' '--comm none' '--cpu 4095'; do
		# Two runs have threads of different IDs: no span is left.
		missing="[ :]$filter: .*the recording"
		[ "${verb%% *}${filter%% *}" != compare--tid ] || missing='neither recording has such spans'
		# shellcheck disable=SC2086 # words
		run_says 1 "$missing" $verb $filter "$work/real"
		[ ! -s "$work/out" ] && [ ! -e "$work/page.html" ] || fail "$verb $filter: a result"
	done
done
for option in '--event tick' '--where nr==1' --spans; do
	# shellcheck disable=SC2086 # words
	run_says 2 'states of threads are made of all events; leave out' stat --threads $option "$work/real"
done
ok "filters"

# --- NULL is unknown, and large numbers keep their digits -------------------------------------
run 3 query --json "$rec" 'select distinct thread, pid, process from word'
[ "$(cat "$work/out")" = '{"thread":null,"pid":null,"process":null}' ] || fail "unknown threads"
run_shows 3 '^NULL *NULL$' query "$rec" 'select pid, process from word limit 1'
run 3 query --csv "$rec" "select pid, '' as e, text from word order by time_ns limit 2"
[ "$(cat "$work/out")" = $'pid,e,text\n,"",""\n,"",plain' ] || fail "NULL in CSV"
run 3 query --json "$rec" "select max(error_ns) as e, typeof(max(u64)) as t, max(u64) as m,
	typeof(thread) as h, typeof(f64) as f from every where typeof(u64) = 'text'"
shows '{"e":1251,"t":"text","m":"18446744073709551615","h":"null","f":"real"}'
run 3 query --json "$rec" "select count(*) as n from every where u64 = '18446744073709551615'"
shows '{"n":20}'
run 3 query --json "$rec" 'select count(*) as n from every where u64 < 0'
shows '{"n":0}'
run 3 query --json "$work/many" 'select node, error_ns from clock'
shows '{"node":"three","error_ns":null}'
ok "unknown values"

# --- tables that describe the recording -------------------------------------------------------
run 3 query --json "$work/many" 'select number, node, host, complete from nodes'
shows '{"number":1,"node":"two","host":"two","complete":1}'
run 3 query --json "$work/many" "select * from losses where node = 'two'"
shows '"cpu":0,"channel":"kernel","events":5'
run 3 query --json --node two "$work/many" 'select count(*) as n from nodes'
shows '{"n":1}'
run 0 query --json "$work/real" "select option, value from filters"
shows '{"option":"events","value":"user"}'
run 0 query --json "$work/real" "select count(*) as n from threads join tick
	on tick.tid = threads.tid and time_ns >= ifnull(from_ns, time_ns) and time_ns <= ifnull(until_ns, time_ns)
	where threads.name = tick.thread and threads.pid = tick.pid"
shows '{"n":1000}'
run 0 query --json "$work/real" "select processes.name as p, count(*) as n from processes
	join events using (node, pid) where process = processes.name group by 1"
shows '{"p":"emit","n":1001}'
run 0 query --csv "$work/real" "select tid from threads where tid <> pid and name is not null limit 1"
other=$(tail -n 1 "$work/out")
run 0 query --json --tid "$other" "$work/real" 'select count(*) as n from processes'
shows '{"n":1}'
run 0 query --json "$work/types" 'select boot_id, kernel, command, provider from nodes'
shows '{"boot_id":null,"kernel":null,"command":null,"provider":null}'
run 0 query --json "$work/real" "select source, end_ns > begin_ns as later from clock"
shows '"later":1}'
run 0 query "$work/real"
shows '^tick .*thread_ INTEGER, nr$'
run 0 query --csv "$work/real" 'pragma table_info(tick)'
shows '^14,nr,'
run 3 query --json "$work/made" "select name, state, count(*) as n, sum(duration_ns) as t from calls
	group by 1, 2"
[ "$(cat "$work/out")" = '{"name":"close","state":"not begun","n":1,"t":null}
{"name":"futex","state":"unknown","n":1,"t":null}
{"name":"read","state":"ended","n":2,"t":4000000}
{"name":"write","state":"ended","n":1,"t":2000000000}' ] || fail "calls: $(cat "$work/out")"
"$helpers/hidden" zombie "$work/zombie"
for table in threads processes; do
	run 0 query --json "$work/zombie" "select (until_ns - from_ns) / 1000000000 as s from $table"
	[ "$(cat "$work/out")" = '{"s":1}' ] || fail "$table: a thread that had ended: $(cat "$work/out")"
done
run 3 query --json --tid 101 "$work/kinds" 'select distinct tid from spans'
[ "$(cat "$work/out")" = '{"tid":101}' ] || fail "--tid of spans"
ok "descriptions"

# --- many types, and names that are words of SQL ----------------------------------------------
mkdir "$work/large"
"$helpers/types" "$work/large" 100000
run 0 query --json "$work/large" 'select a.value as v, b.part as p from t99999 a, T0 b'
shows '{"v":99999,"p":1}'
run 0 query --json "$work/large" 'select count(*) as n, count(distinct name) as d from events'
shows '{"n":100013,"d":100009}'
run 0 query --json "$work/types" 'select "from" as f, "where" as w from "select"'
shows '{"f":0,"w":"18446744073709551615"}'
run 0 query --json "$work/types" 'select a from "events/instant" union all
	select a from "threads/begin" union all select a from "sqlite_master/instant"'
[ "$(cat "$work/out")" = $'{"a":1}\n{"a":2}\n{"a":3}' ] || fail "names of tables"
run 0 query --json "$work/types" 'select value, VALUE_, tid_, other from same order by tick'
[ "$(cat "$work/out")" = '{"value":4,"VALUE_":null,"tid_":"18446744073709551611","other":null}
{"value":"18446744073709551610","VALUE_":5,"tid_":null,"other":null}
{"value":null,"VALUE_":null,"tid_":null,"other":6}' ] || fail "equal names: $(cat "$work/out")"
run 0 query --json "$work/types" 'select typeof(value) as t, value from mixed order by tick'
[ "$(cat "$work/out")" = '{"t":"integer","value":10}
{"t":"real","value":2.5}
{"t":"text","value":"007.50"}' ] || fail "a field of several types: $(cat "$work/out")"
run 0 query --json "$work/types" "select columns not like '%f0_0%' as x from tables where name = 'wide'"
shows '{"x":1}'
run_says 2 'wide: the events of this name have more than 1900 fields' query "$work/types" \
	'select * from wide'
ok "many types, odd names"

# --- the order of time is the reader's, and packets before the wanted time are not read -------
run 0 query --csv "$work/real" 'explain query plan select * from events where cpu = 0 order by time_ns'
! grep -q 'ORDER BY' "$work/out" || fail "the events are sorted"
mkdir "$work/long"
TSCTRACE_PROVIDER=embedded run 0 record -q -o "$work/long" -- "$emit" 400000 1
run 0 query --csv "$work/long" 'select max(tick) from events'
last=$(tail -n 1 "$work/out")
rm -rf "$work/cut" && cp -r "$work/long" "$work/cut"
is_reading() { [ "$(awk '/^rchar/ { print $2 }' "/proc/$1/io")" -gt 2000000 ]; }	# PID
reads() {	# QUERY: prints how many bytes of stream files were read
	strace -f -e trace=pread64 -o "$work/trace" "$ctl" query "$work/long" "$1" >"$work/out"
	awk -F '= ' '{ sum += $NF } END { print sum }' "$work/trace"
}
all=$(reads 'select count(*) from events')
late=$(reads "select count(*) from events where tick >= $last")
[ "$(tail -n 1 "$work/out" | tr -d " ")" = 1 ] || fail "the last event"
[ "$late" -lt $((all / 4)) ] || fail "for the last event, $late of $all bytes were read"
run 0 query "$work/long" "select count(*) from events where tick >= $last"	# none is missed
# Packets are found in the middle of a file as by reading it from its beginning.
parts() {	# EXPRESSION: prints the events of some parts of the time
	run 0 query --csv "$work/long" "with parts as (select tick as f, tick + 50000 as u from tick
		where nr % 33333 = 7) select f, count(*), min(tick), max(tick), sum(nr) from parts cross join tick
		where $1 between f and u group by f"
	cat "$work/out"
}
found=$(parts tick)
[ "$(wc -l <<<"$found")" = 13 ] && [ "$found" = "$(parts +tick)" ] || fail "parts: $found"
# A list of threads is one scan.
list=$(reads "select count(*) from events where tid in (select value from json_each('[1,2,3]'))")
[ "$list" -lt $((all * 3 / 2)) ] || fail "for a list of threads, $list bytes were read of $all"
ok "order and packets"

# --- damage, a cut-off file, a killed recorder: what is there, and status 3 -------------------
file=$(find "$work/cut" -name 'default_*' -size +100k | head -n 1)
truncate -s -100 "$file"
run_says 3 'cut off in packet' query --csv "$work/cut" 'select count(*) from events'
n=$(tail -n 1 "$work/out")
[ "$n" -lt 400001 ] && [ "$n" = "$({ "$ctl" dump "$work/cut" 2>/dev/null || true; } | wc -l)" ] ||
	fail "$n events of a cut-off file"
run 3 query --csv "$work/cut" 'select count(*) from events a, (select 1 union select 2) b'
[ "$(grep -c 'cut off' "$work/err")" = 1 ] || fail "damage is reported again for each scan"
cp -r "$work/made" "$work/killed"
as_killed "$work/killed"
run 3 dump "$work/killed"
n=$(wc -l <"$work/out")
sed 's/^trace-ctl dump: //' "$work/err" | sort >"$work/dump.err"
run 3 query --csv "$work/killed" 'select count(*) from events'
[ "$(tail -n 1 "$work/out")" = "$n" ] || fail "events of a killed recorder"
sed 's/^trace-ctl query: //' "$work/err" | sort | diff "$work/dump.err" - || fail "what is missing"
rm "$work/cut/metadata"
run_says 1 'not a tsctrace recording' query "$work/cut" 'select 1'
ok "damage"

# --- output -----------------------------------------------------------------------------------
run 3 query -o "$work/one.sqlite" "$rec" \
	'select name, count(*) as n, max(nr) as name, null as x from outer, (select 1) group by kind'
says '^trace-ctl query: .*one.sqlite: 2 rows$'
[ "$(sqlite3 "$work/one.sqlite" 'select n, "name:1", x is null from result')" = $'81|19|1\n80|19|1' ] ||
	fail "the table result"
run_shows 3 '"name":"outer",.*"name:1":' query --json "$rec" 'select name, 1 as name from outer'
run 3 query -q -o "$work/one.sqlite" "$rec"	# replaces it
[ "$(sqlite3 "$work/one.sqlite" "select count(*) from sqlite_master where name = 'result'")" = 0 ] ||
	fail "the database was not replaced"
[ "$(sqlite3 "$work/one.sqlite" "select typeof(u64), u64 from every where typeof(u64) = 'text' limit 1")" = \
	'text|18446744073709551615' ] || fail "large numbers in the database"
# Values stay as they are, whatever the type of the first column of a UNION is.
run 3 query -q -o "$work/one.sqlite" "$rec" "select tid from (select * from events limit 1) union all
	select '007'"
[ "$(sqlite3 "$work/one.sqlite" "select result.tid from result where typeof(tid) = 'text'")" = 007 ] ||
	fail "a text became a number"
run 0 query -o "$work/one.sqlite" "$work/types"
says '^trace-ctl query: .*one.sqlite: 232 rows$'
[ "$(sqlite3 "$work/one.sqlite" 'select typeof(value), value from mixed order by tick;
	select typeof(value), value from signs order by tick; select a from events_name')" = \
	'integer|10
real|2.5
text|007.50
integer|8
integer|-9223372036854775808
7' ] || fail "fields of several types in the database"
[ "$(sqlite3 "$work/one.sqlite" 'pragma integrity_check; select count(*) from "select"')" = $'ok\n1' ] ||
	fail "the database is damaged"
# The time does not grow with the square of the number of names: it would exceed the test's limit.
run 0 query -q -o "$work/one.sqlite" "$work/large"
[ "$(sqlite3 "$work/one.sqlite" "select count(*) from sqlite_master where type = 'view';
	select value from t99999")" = $'100005\n99999' ] || fail "views of many names"
run_says 1 'recording' query -o "$rec/x.sqlite" "$rec" 'select 1'
run_says 1 'Is a directory\|not empty\|directory' query -o "$work" "$rec" 'select 1'
run_says 1 'regular file' query -o /dev/null "$rec" 'select 1'
run_says 2 'give its name' query -o - "$rec" 'select 1'
if [ -w /dev/full ]; then
	"$ctl" query --csv "$rec" 'select * from events' >/dev/full 2>"$work/err" && fail "full disk"
	says 'No space left'
fi
# shellcheck disable=SC2028
[ "$("$ctl" query "$rec" 'select text from every order by time_ns limit 1' 2>/dev/null | tail -n 1)" = \
	'\x1b]0;x\x07 "q" \\ é�,\x0d\x0a' ] || fail "control characters"
mkdir "$work/room"
before=
for signal in INT TERM; do
	interrupt $signal 0 query -q -o "$work/room/x" "$work/long"
done
"$ctl" query "$work/long" 'select count(*) from events a, events b, events c' >"$work/out" \
	2>"$work/err" & track command
wait_for "the query reads" is_reading "$command"
kill -INT "$command"
got=0
wait "$command" || got=$?
[ "$got" = 1 ] || fail "interrupted: status $got"
says 'interrupted'
# A subquery that reads a few events for each row, from a slow disk
timeout -k 60 -s INT 3 strace -o "$work/trace" -e inject=pread64:delay_enter=20ms "$ctl" query \
	"$work/long" 'select count(*) from events a where exists
	(select 1 from events b where b.tick = a.tick + 1)' >"$work/out" 2>"$work/err" || true
says 'interrupted'
ok "output"
