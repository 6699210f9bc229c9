#!/bin/bash
# SPDX-License-Identifier: MIT
# Made recordings in which it is unknown how long a call or a slice was: no verb states it. hidden.c
# makes them, and says what happens in each.
# test-wing: formats report strace threads
. "$(dirname "$0")/lib.sh"

make() {	# CASE
	mkdir "$work/$1"
	"$helpers/hidden" "$1" "$work/$1" || fail "hidden $1"
}

# Fails unless an export has the begins of NUMBER slices, and none that ends with an event.
open_in_export() {	# STATUS NUMBER ARGUMENT...
	run "$1" export -q -f json -o - "${@:3}"
	[ "$(grep -c '"ph":"B"' "$work/out")" = "$2" ] || fail "${*:3}: not $2 slices"
	! grep -q '"ph":"E".*"args"' "$work/out" || fail "${*:3}: a slice has an end"
}

# Fails unless stat has WANTED "(CALLS, TIMED)" of a system call.
timed() {	# STATUS CASE CALL WANTED
	run "$1" stat --json "$work/$2"
	holds "$work/out" "[(c['calls'], c['timed']) for c in j['system_calls'] if c['name'] == '$3'] == [$4]"
}

# Fails unless the first call of thread 1 has no end in lines of dump --strace.
unfinished() {	# STATUS ARGUMENT...
	run_shows "$1" '^00:00:11.* 1 .* <unfinished ...>$' dump --strace "${@:2}"
	shows '^00:00:14.* 1 <... .* resumed>) = 0$'
}

# Fails unless a page has the slices and calls WANTED: (thread, begin, end), seconds.
on_page() {	# STATUS WANTED ARGUMENT...
	run "$1" report -q -o "$work/page.html" "${@:3}"
	python3 -c 'import sys; sys.path.insert(0, sys.argv[1])
from known_claims import of_page
print(*sorted((c.tid, c.begin // 10 ** 9 % 86400 - 10, c.end // 10 ** 9 % 86400 - 10)
              for c in of_page(sys.argv[2])[0]))' "$here" "$work/page.html" >"$work/got"
	[ "$(cat "$work/got")" = "$2" ] || fail "${*:3}: on the page are $(cat "$work/got")"
}

for case in lost cut cpu cpu_many moved reused renamed named limit where snapshot sigreturn; do
	make $case
done

# --- events of another CPU are lost -----------------------------------------------------------
open_in_export 3 1 "$work/lost"
timed 3 lost read '(2, 0)'
on_page 3 '(1, 1, 2) (9, 2, 2)' "$work/lost"
unfinished 3 "$work/lost"

# --- the file of another CPU is cut off -------------------------------------------------------
truncate -s -1 "$work/cut/kernel_1"
open_in_export 3 1 "$work/cut"
timed 3 cut read '(1, 0)'
on_page 3 '(1, 1, 1) (9, 1, 1)' "$work/cut"
unfinished 3 "$work/cut"

# --- only one CPU is recorded -----------------------------------------------------------------
open_in_export 0 0 "$work/cpu"
timed 0 cpu read '(1, 0)'
unfinished 0 "$work/cpu"
run 0 stat "$work/cpu_many"

# --- the call's end is on a CPU that the reader's filter leaves out ---------------------------
unfinished 0 --cpu 0 "$work/moved"
open_in_export 0 1 --cpu 0 "$work/moved"
run 0 export -q -f perfetto -o "$work/moved.pftrace" --cpu 0 "$work/moved"
timed 0 moved read '(2, 2)'

# --- another thread has the number ------------------------------------------------------------
unfinished 0 "$work/reused"
timed 0 reused clone3 ''

# --- the name that is recorded is another one for a while -------------------------------------
on_page 0 '(1, 1, 2)' "$work/renamed"
open_in_export 0 1 "$work/renamed"
run 0 stat --json "$work/renamed"
holds "$work/out" "[t['switched_in'] for t in j['threads'] if t['tid'] == 1] == [None]"

run_shows 0 ',1,y,work,begin,' export -q -f csv -o - "$work/named"

# --- each event of a pair may have been hidden ------------------------------------------------
for case in limit where snapshot; do
	open_in_export 0 0 "$work/$case"
	unfinished 0 "$work/$case"
	timed 0 $case read '(1, 0)'
done

run_shows 0 '^requested  *copied: with filters$' stat "$work/snapshot"
run 0 stat --json "$work/snapshot"
holds "$work/out" "[t['switched_in'] for t in j['threads']] == [None] * len(j['threads'])"

run 0 merge -q --force -o "$work/merged" "$work/named" "$work/snapshot"
run 0 stat --json "$work/merged"
holds "$work/out" "[t['switched_in'] for t in j['threads'] if t['node'] == 1] == [None] * 2"

# --- a call whose end has the name of another one ---------------------------------------------
run_shows 0 '^00:00:11.* 1 uretprobe() = 0 <3.000000000>$' dump --strace "$work/sigreturn"
timed 0 sigreturn uretprobe '(1, 1)'
on_page 0 '(1, 1, 4)' --event sys_uretprobe "$work/sigreturn"
run_shows 0 '"ph":"E".*"name":"sys_uretprobe".*"args"' export -q -f json -o - "$work/sigreturn"

# --- what the recorder knew to be missing is part of the recording ---------------------------
make untracked
run_says 3 'stat: 3 processes were not recorded: too many ran together' stat "$work/untracked"
shows '^missed *kernel events, up to 5 times$'
run_says 3 'dump: 3 processes were not recorded' dump "$work/untracked"
run 3 stat --json "$work/untracked"
holds "$work/out" 'j["kernel_misses"] == 5'
run 3 report -q -o "$work/page.html" "$work/untracked"
grep -q 'No loss is recorded' "$work/page.html" || fail "the page says that no event was lost"
