#!/bin/bash
# SPDX-License-Identifier: MIT
# dump --names prints the name of each event's thread. --comm: each reader selects the events whose threads have the name at that time, as dump --json
# shows it; threads that change their names, several nodes, wildcards, names that no thread has.
# test-fast: yes
# test-wing: query spans
. "$(dirname "$0")/record.sh"
export TSCTRACE_PROVIDER=embedded

cd "$work"
run 0 record -q -o a -- sh -c "'$helpers/renames' & '$emit' 500 2; wait"
run 0 record -q -o b -- "$helpers/renames"
run 0 merge -q -o both a b
mkdir spans
"$helpers/spans" spans 2000 1

# DIR PATTERN... --: compares all readers with the events of dump --json that have such a name
selects() {
	local dir=$1 name options=()
	shift
	for name; do options+=(--comm "$name"); done
	run 0 dump --json "${options[@]}" "$dir"
	mv out selected
	run 0 dump --json "$dir"
	python3 - "$@" <<'END' || fail "dump ${options[*]} $dir"
import fnmatch
import json
import sys
wanted = [l for l in open("out")
          if any(fnmatch.fnmatchcase(json.loads(l).get("thread", ""), n) for n in sys.argv[1:])]
assert wanted and wanted == open("selected").readlines(), (len(wanted), sys.argv)
END
	local nr
	nr=$(wc -l <selected)
	[ "$nr" -lt "$(wc -l <out)" ] || fail "${options[*]}: selects all"
	run_shows 0 "^selected   $nr events" stat "${options[@]}" "$dir"
	run_says 0 "$nr events of" export -f csv -o csv "${options[@]}" "$dir"
	run 0 report -o page.html "${options[@]}" "$dir"
	run 0 query --csv "${options[@]}" "$dir" 'SELECT count(*) FROM events'
	[ "$(tail -n 1 out)" = "$nr" ] || fail "query ${options[*]}: $(cat out), not $nr"
}
selects a emit
selects a renames
selects a 'first-*'
selects a 'first-name' second-name
selects a '[er]*'
selects both second-name
[ "$(python3 -c 'import json
print(*sorted({json.loads(l)["tid"] for l in open("selected")}))' | wc -w)" = 2 ] ||
	fail "not the threads of both recordings"
run 0 query --csv --comm second-name both 'SELECT DISTINCT name FROM threads'
[ "$(tail -n 1 out)" = second-name ] && [ "$(wc -l <out)" = 2 ] || fail "table threads: $(cat out)"
run 0 query --csv --comm emit a 'SELECT DISTINCT name FROM processes'
[ "$(tail -n 1 out)" = emit ] && [ "$(wc -l <out)" = 2 ] || fail "table processes: $(cat out)"

for reader in dump stat 'export -f csv -o csv' 'report -o page.html' query explain\ --slowest\ x; do
	# shellcheck disable=SC2086
	run_says 1 "--comm emitt: no thread of the recording has this name; did you mean 'emit'?" \
		$reader --comm emit --comm emitt a
done
run_says 1 '--comm x: the recording has no names of threads' dump --comm x spans
run_says 2 '--comm: empty name' dump --comm '' a

# dump --names: the names of dump --json, in a column behind the ID
run 0 dump --names a
mv out lines
run 0 dump a
mv out plain
run 0 dump --json a
python3 - <<'END' || fail "dump --names"
import json
names = set()
for line, plain, event in zip(open("lines"), open("plain"), map(json.loads, open("out")), strict=True):
    head = line[:len(plain.split(event["event"])[0])]
    assert plain.startswith(head) and head.endswith(f"{event['tid']} "), (line, plain)
    name = line[len(head):len(head) + 15].rstrip()
    assert name == event.get("thread", "-"), (name, event)
    assert line[len(head) + 15:] == " " + plain[len(head):], (line, plain)
    names.add(name)
assert {"emit", "first-name", "second-name"} <= names, names
END
run_shows 0 ' - *stage_in ' dump --names spans
