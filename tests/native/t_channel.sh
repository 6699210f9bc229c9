#!/bin/bash
# SPDX-License-Identifier: MIT
# Kept channels: create, list and remove; events of a killed program are readable;
# error messages with advice.
# test-fast: yes
. "$(dirname "$0")/record.sh"

# --- invalid arguments, and no daemon ---------------------------------------

refused() {	# STATUS PATTERN ARGUMENT...
	run_says "$1" "$2" channel "${@:3}"
	says '^trace-ctl channel: '
}

refused 2 'missing subcommand: create, remove, list, enable or disable'
refused 2 "invalid subcommand 'bla'; use create, remove, list, enable or disable" bla
refused 2 'enable: missing event name' enable a
refused 2 'create: missing channel name' create
refused 2 'remove: missing channel name' remove
refused 2 "unexpected argument 'b'" create a b
refused 2 "unexpected argument 'a'" list a
refused 2 "invalid channel name 'a/b'; use 1 to 31" create a/b
refused 2 "invalid channel name ''" create ''
refused 2 "invalid channel name '.a'; .*not beginning with a dot" create .a
refused 2 'invalid channel name' create "$(printf '%032d' 0)"
refused 2 "invalid policy 'both'; use discard or overwrite" create a --policy both
refused 2 "blocks: '3' is not a power of two from 2 to 65536" create a --blocks 3
refused 2 "block-size: '2048' is not a power of two from 4096" create a --block-size 2048
refused 2 "blocks: '-2' is not" create a --blocks=-2
refused 2 'use at least 4 blocks' create a --policy overwrite --blocks 2
refused 2 'up to 256 MiB in all' create a --blocks 65536
refused 2 '\-\-policy needs the subcommand create' remove a --policy discard
refused 2 '\-\-blocks needs the subcommand create' list --blocks 4

export TSCTRACE_PROVIDER=daemon
for action in 'create a' 'remove a' list; do
	# shellcheck disable=SC2086
	refused 1 'no provider of channels (.*tsctraced.sock: .*load the module or start tsctraced' $action
done
TSCTRACE_PROVIDER=none refused 1 "TSCTRACE_PROVIDER is 'none'" list
! has_wing watch || run_says 1 'trace-ctl top: no provider of channels' top --once
run_says 1 'trace-ctl snapshot: no provider of channels' snapshot -o "$work/x"
[ ! -e "$work/x" ] || fail "a directory was made"

# --- create, use and remove ---------------------------------------------------

start_daemon
run_shows 0 '^no channels$' channel list
run_shows 0 '^\[\]$' channel list --json
run 0 channel create fly --policy overwrite --blocks 8 --block-size 4096
shows '^channel fly: id 1, overwrite,kept, 8 blocks of 4096 bytes on each CPU, .* in the daemon$'
run 0 channel create --json box
[ "$(number id "$work/out") $(number blocks "$work/out")" = "2 64" ] || fail "--json"
[ "$(number holders "$work/out") $(number events "$work/out")" = "0 0" ] || fail "--json"
shows '^  "kept": true,'
refused 1 'create fly: a channel of this name exists; use another name, or' create fly
refused 1 'create k: channels for kernel events need the module; load it' create k --kernel
refused 1 "channel: 'none': no such channel; .trace-ctl channel list. lists" remove none
refused 1 "'7': no such channel" remove 7

# A channel that is in use and not kept: list shows it, and remove refuses it.
TSCTRACE_CHANNEL=loose "$emit" 1000000 1 1000 >/dev/null & track loose
is_listed() { "$ctl" channel list | grep -q " $1 "; }
wait_for "the channel is listed" is_listed loose
refused 1 'remove loose: not a kept channel: it is removed when' remove loose
refused 1 'create loose: a channel of this name exists' create loose

# The last events of a killed program are kept; a program whose open channel is removed
# continues to run.
TSCTRACE_CHANNEL=fly "$emit" 100000000 2 >/dev/null & track pid
TSCTRACE_CHANNEL=box "$emit" 1000000 1 1000 >/dev/null & track box
until_written fly 10000
until_written box 0
kill_now "$pid"
run 0 channel list --json
python3 - "$work/out" <<'END' || fail "list --json"
import json, sys
found = {c["name"]: c for c in json.load(open(sys.argv[1]))}
assert sorted(found) == ["box", "fly", "loose"], found
fly, box, loose = found["fly"], found["box"], found["loose"]
assert (fly["holders"], box["holders"], loose["holders"]) == (0, 1, 1)
assert fly["kept"] and box["kept"] and not loose["kept"]
assert fly["events"] == sum(c["events"] for c in fly["cpus"]) > 10000
assert all(0 < c["overwritten"] < c["events"] for c in fly["cpus"] if c["events"] > 4096)
assert not any(fly["lost"].values())
END
run 0 snapshot -c fly -o "$work/last"
[ "$("$ctl" dump "$work/last" | wc -l)" -gt 100 ] || fail "too few of the last events"
run 0 channel remove box
shows '^channel box: removed; its memory is freed when 1 process closes the channel$'
sleep 0.2
kill -0 "$box" || fail "the program that has it open ended"
run 0 channel create box
run_shows 0 '^channel box: removed$' channel remove box
kill_now "$box" "$loose"
run_shows 0 '^channel fly: removed$' channel remove 1
no_channels() { [ "$("$ctl" channel list)" = "no channels" ]; }
wait_for "no channel is left" no_channels

# A kept discard channel: unread events can be recorded later.
run 0 channel create box
TSCTRACE_CHANNEL=box "$emit" 5000 2 >"$work/out"
run 1 snapshot -c box -o "$work/x"
says "box: not a flight recorder: .*'trace-ctl record --unread -c box' to record"
run_says 0 'old: 0 events' record -c box -o "$work/old" --duration 0.2
TSCTRACE_CHANNEL=box "$emit" 5000 2 >"$work/out"
run_says 0 'unread: 10001 events' record --unread -c box -o "$work/unread" --duration 0.2
[ "$(babeltrace_events "$work/unread")" = 10001 ] || fail "babeltrace2"
run 0 channel remove box
# The recording reports the events for which there was no room.
run 0 channel create box --block-size 4096 --blocks 2
TSCTRACE_CHANNEL=box "$emit" 5000 2 >"$work/out" || true
read -r _ emitted _ refused _ <"$work/out"
[ "$refused" -gt 0 ] || fail "nothing was lost: no test"
run_says 3 "less: $emitted events" record --unread -c box -o "$work/less" --duration 0.2
says "LOST: full $refused\$"
run 3 stat "$work/less"
run 0 record --unread -c box -o "$work/nothing" --duration 0.2
run 0 channel remove box

# --- limits -----------------------------------------------------------------

n=0
while "$ctl" channel create "l$n" --blocks 8192 >/dev/null 2>"$work/err"; do
	n=$((n + 1))
	[ "$n" -lt 1000 ] || fail "memory has no limit"
done
says "create l$n: memory limit exceeded: the channels of all users ($n) hold .*; the limit is .* in all and .* per user; remove channels, or make the rings smaller with --blocks"
[ "$n" -gt 0 ] || fail "no channel fits within the limit"
run 1 record -c late --blocks 8192 -o "$work/x" -- touch "$work/ran"
says 'channel late: .*no room left within the provider'
[ ! -e "$work/x" ] && [ ! -e "$work/ran" ] || fail "the recording began without a channel"
while [ "$n" -gt 0 ]; do
	n=$((n - 1))
	run 0 channel remove "l$n"
done

# --- other users ------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" "$TSCTRACE_RUN_DIR"
	mkdir -m 777 "$work/open"
	as_nobody() { timeout 300 "${nobody[@]}" "$ctl" "$@" >"$work/out" 2>"$work/err"; }
	run 0 channel create --policy overwrite secret
	id=$("$ctl" channel list | sed -n 's/^ *\([0-9]*\) secret .*/\1/p')
	as_nobody channel list || fail "list as nobody"
	shows '^no channels$'
	! as_nobody channel remove "$id" || fail "nobody removed it"
	says "remove $id: belongs to another user; run as that user or as root"
	! as_nobody snapshot -c secret -o "$work/open/x" || fail "nobody copied it"
	says "'secret': no such channel of yours"
	! as_nobody snapshot -o "$work/open/x" || fail "nobody copied something"
	says 'no flight recorder found; create one with'
	[ ! -e "$work/open/x" ] || fail "a directory was made"
	as_nobody channel create theirs --policy overwrite || fail "create as nobody"
	TSCTRACE_CHANNEL=theirs "${nobody[@]}" "$emit" 1000 >/dev/null
	# Root sees another user's channel, and can create a channel of the same name.
	TSCTRACE_CHANNEL=theirs "$emit" 10 >/dev/null
	run_says 0 '^  channel theirs: 1001 events over ' snapshot -c theirs -o "$work/theirs"
	run 1 channel remove theirs
	id=$(sed -n 's/.*use its id, \([0-9]*\)$/\1/p' "$work/err")
	run 0 channel remove "$id"
	run 0 channel remove secret
fi
run_shows 0 '^no channels$' channel list
echo "kept channels: fine"
