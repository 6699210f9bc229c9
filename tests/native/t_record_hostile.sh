#!/bin/bash
# SPDX-License-Identifier: MIT
# Invalid events are counted by cause, and cause no loss of other events.
# test-fast: yes
. "$(dirname "$0")/record.sh"

run_says 3 ': 2001 events, ' record -o "$work/a" -- "$emit" 1000 2 0 bad
says 'LOST: undefined 1, malformed 2$'
run 3 dump "$work/a"
[ "$(wc -l <"$work/out")" = 2001 ] || fail "dump has other events"
says '3 events were lost while recording: undefined 1 malformed 2'
run_shows 3 '"malformed": 2' stat --json "$work/a"
shows '"undefined": 1'

# A program is killed while it emits.
# shellcheck disable=SC2016
"$ctl" record -o "$work/b" -- sh -c 'echo $$ >"$1"; exec "$2" 100000000 2 20' \
	sh "$work/pid" "$emit" >"$work/out" 2>"$work/err" & track recorder
until_on_disk "$work/b" 1000
kill -9 "$(cat "$work/pid")"
wait "$recorder" || [ $? = 3 ] || fail "record"
"$ctl" dump --event tick "$work/b" >"$work/out" 2>"$work/err" || true
[ "$(wc -l <"$work/out")" -gt 1000 ] || fail "too few events recorded"
! grep -q 'broken\|malformed\|disorder' "$work/err" || fail "the ring is corrupt"
# No event is corrupt: each thread's numbers increase.
sed 's/.*thread=\([0-9]*\) nr=\([0-9]*\)$/\1 \2/' "$work/out" | awk '
	$2 <= last[$1] && n[$1]++ { print; exit 1 } { last[$1] = $2 }' ||
	fail "numbers decrease"

# Names of files reach a terminal escaped, whichever verb prints the error.
cd "$work"
hostile=$'no\e[31m\\such'
verbs=(dump stat 'merge -o x' 'record -o x --')
! has_wing report || verbs+=('report -o page')
! has_wing formats || verbs+=('export -f json -o x')
for args in "${verbs[@]}"; do
	# shellcheck disable=SC2086
	! "$ctl" $args "./$hostile" >out 2>err || fail "$args of a file that does not exist: status 0"
	grep -qF './no\x1b[31m\\such' err || fail "$args: $(cat -v err)"
	! grep -q "$(printf '\e')" err || fail "$args: unescaped: $(cat -v err)"
	grep -q "^trace-ctl ${args%% *}: " err || fail "$args: $(cat -v err)"
done
