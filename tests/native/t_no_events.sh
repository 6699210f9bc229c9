#!/bin/bash
# SPDX-License-Identifier: MIT
# The reasons that record gives when it has no events.
# test-fast: yes
. "$(dirname "$0")/record.sh"

start_daemon
# Programs of other tests, which may run at the same time, are named in place of that.
names_none() {
	rm -rf "$work/n1"
	run 0 record -f -o "$work/n1" --duration 0.1
	grep -q 'no events: no program wrote to channel default; no running program has it open: programs look for .*/tsctraced.sock' "$work/err"
}
wait_for "no program is named" names_none
run 0 record -o "$work/n2" -- true
says 'no events: .*; true is not instrumented, could not reach .*/tsctraced.sock (chroot, container), ran as another user, or wrote to another channel'
TSCTRACE_EVENTS=none_such TSCTRACE_CHANNEL=quiet "$helpers/live" >"$work/quiet" & track program
until_in "$work/quiet" started
# The program attaches in the background.
try=0
names_quiet() {
	run 0 record -o "$work/n3.$((try++))" --duration 0.1
	grep -q 'programs use channel quiet' "$work/err"
}
wait_for "the program has attached" names_quiet
says 'no events: .*; running programs use channel quiet: record it with -c'
end_by TERM "$program" "the quiet program"
run 3 record --require-events -o "$work/n4" --duration 0.1
says 'require-events: nothing was recorded'
run 0 record --require-events -o "$work/n5" -- "$emit" 5
run 0 channel create flight --policy overwrite
run 1 record -c flihgt -o "$work/n6" --duration 0.1
says "channel flihgt: does not exist; did you mean 'flight'"
[ ! -e "$work/n6" ] || fail "a directory was made"
run_says 1 'channel 4711: no such id or name' record -c 4711 -o "$work/n6" --duration 0.1
run 0 record -c flihgt --create -o "$work/n6" --duration 0.1
run 0 record -c flihgt -o "$work/n7" -- "$emit" 5
id=$("$ctl" channel list | awk '$2 == "flight" { print $1 }')
TSCTRACE_CHANNEL=flight "$emit" 0 >/dev/null
run 0 record -c "$id" --unread -f --require-events -o "$work/n8" --duration 0.1
says '^  channel flight: 1 event'
run 0 channel remove flight
if [ "$(id -u)" = 0 ]; then
	names_user() {
		rm -rf "$work/n9"
		run 0 record -o "$work/n9" -- "${nobody[@]}" sleep 0.3
		grep -q 'no events: .*; setpriv ran as user nobody, who has other channels' "$work/err"
	}
	wait_for "the other user is named" names_user
	mkdir "$work/root"
	cp /bin/busybox "$work/root/" 2>/dev/null || cp "$(command -v busybox)" "$work/root/"
	# The recorder sees the directory if it runs while the command does.
	names_root() {
		rm -rf "$work/n10"
		run 0 record -o "$work/n10" -- chroot "$work/root" /busybox sleep 0.3
		grep -q 'no events: .*; chroot changed its root directory, where .*tsctraced.sock must exist, too' \
			"$work/err"
	}
	wait_for "the changed root directory is named" names_root
fi
