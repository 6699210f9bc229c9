#!/bin/bash
# SPDX-License-Identifier: MIT
# Recording without module and daemon: dump, stat and babeltrace2 have exactly the
# events that the program emitted.
# test-fast: yes
. "$(dirname "$0")/record.sh"

began=$(date +%s)
# The rings have room for all events, if the recorder does not run for a while.
run 0 record --blocks 256 -o "$work/a" -- "$emit" 20000 4
read -r _ emitted _ refused _ dropped <"$work/out"
[ "$refused $dropped" = "0 0" ] || fail "emit lost events"
says "^$emit exited with status 0"
says ": $emitted events, "
says "rings: embedded; clock: "

"$ctl" dump "$work/a" >"$work/dump"
[ "$(wc -l <"$work/dump")" = "$emitted" ] || fail "dump has other events"
run_shows 0 "^  \"events\": $emitted," stat --json "$work/a"
[ "$(babeltrace_events "$work/a")" = "$emitted" ] || fail "babeltrace2 has other events"

# Each event of a thread occurs once, in order; time stamps do not decrease.
"$ctl" dump --raw --event tick "$work/a" | awk '
	{ sub("thread=", "", $5); sub("nr=", "", $6) }
	$6 != next_nr[$5]++ { print "thread " $5 ": " $6; exit 1 }
	length($1) < length(last) || (length($1) == length(last) && $1 < last) {
		print "stamp " $1 " after " last; exit 1 }
	{ last = $1 }' || fail "order of events"
"$ctl" dump --raw "$work/a" | awk '{ n[$2]++ }
	END { for (c in n) print substr(c, 2, 3) + 0, n[c] }' | sort >"$work/cpus"
run 0 stat "$work/a"
awk '/^CPU/ { on = 1; next } /^all/ { on = 0 } on { print $1, $2 }' \
	"$work/out" | sort | diff - "$work/cpus" || fail "stat's CPUs differ"

# The recorded times are the present time of day.
ns=$("$ctl" dump --json -n 1 "$work/a" | sed 's/.*"time_ns":"\([0-9]*\).*/\1/')
[ $((ns / 1000000000)) -ge "$began" ] && [ $((ns / 1000000000)) -le "$(date +%s)" ] ||
	fail "$ns ns is not the present time"

# trace-ctl record -q prints only the output of the command. Without -q, it reports the
# exit status of the command.
run 0 record -q -o "$work/b" -- sh -c 'echo out; echo err >&2; exit 7'
[ "$(cat "$work/out" "$work/err")" = "out
err" ] || fail "-q is not quiet"
run_says 0 "^sh exited with status 7" record -o "$work/c" -- sh -c 'exit 7'
says 'no events: no program wrote to channel default; sh is not instrumented, could not reach /.*/socket (chroot, container), ran as another user, or wrote to another channel;'
run 0 record -o "$work/silent-trace" -- "$helpers/oneshot" silent
says 'no events: no program wrote to channel default; events are defined there, but none was emitted$'
run 0 record -o "$work/none" -- "$emit" 0 0
! grep -q 'no events' "$work/err" || fail "'no events' is reported, but there is one"
run 7 record --pass-status -o "$work/d" -- sh -c 'exit 7'
run_says 143 "was terminated by signal 15" record --pass-status -o "$work/e" -- sh -c 'kill $$'
run 0 record --json -o "$work/f" -- "$emit" 10
for want in '"events": 11' '"exit_status": 0' '"provider": "embedded"' \
		'"full": 0' '"source": "' '"error_ns": [0-9]'; do
	shows "$want"
done

# The channel `default` is not used if -c or $TSCTRACE_CHANNEL names another channel.
run 0 record -c other.one -o "$work/g" -- "$emit" 10
[ -n "$(ls "$work/g"/other.one_*)" ] || fail "no file of the channel"
TSCTRACE_CHANNEL=mine run 0 record -o "$work/h" -- "$emit" 10
[ -n "$(ls "$work/h"/mine_*)" ] || fail "no file of the channel"

[ "$(stat -c %a "$work/a" "$work/a/metadata" | tr '\n' ' ')" = "700 600 " ] ||
	fail "the recording is readable by other users"

# The default directory is in the current one.
(cd "$work" && mkdir here && cd here && "$ctl" record -q -- true &&
	ls -d tsctrace-20[0-9][0-9]*-* >/dev/null) || fail "no default directory"
# An existing empty directory is used.
mkdir "$work/i"
run 0 record -o "$work/i" -- "$emit" 10

# The command that record runs may be record itself.
run 0 record -o "$work/j" -- "$ctl" record -q -o "$work/k" -- "$emit" 10
[ "$("$ctl" dump "$work/k" | wc -l)" = 11 ] || fail "the inner recording has other events"
# If record starts without a standard error, the command's standard error is /dev/null,
# and not a file that record has opened.
# shellcheck disable=SC2016
"$ctl" record -o "$work/l" -- sh -c 'readlink /proc/$$/fd/2 >"$0"' "$work/fd" 2>&- ||
	fail "record fails without a standard error"
[ "$(cat "$work/fd")" = /dev/null ] || fail "standard error is $(cat "$work/fd")"

# The recorder's CPU percentage is CPU time / elapsed time, both since the same start.
run 0 record --json -o "$work/m" -- true
percent=$(sed -n 's/.*"cpu_percent": \([0-9]*\).*/\1/p' "$work/out")
[ "$percent" -le $((100 * ($(nproc) + 1))) ] || fail "$percent % of a CPU"
# After the recordings above, no directory of a recorder's socket is left.
[ -z "$(ls "$XDG_RUNTIME_DIR")" ] || fail "a socket's directory is left"
# A warning for a pattern that matches no event
run 0 record -q --events 'tset*,-x' -o "$work/slip" -- "$emit" 10
says "--events: no event matches 'tset\*'"
! grep -q "'x'" "$work/err" || fail "a warning for a pattern that disables events"
echo "$emitted events"
