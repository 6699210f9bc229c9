#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl status without and with a daemon: providers, and the channels while a
# program has one open and after it has ended.
# test-fast: yes
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${O:-$top/build}
ctl=$build/tools/trace-ctl
work=$(mktemp -d)
daemon='' jobs=''
cleanup() {
	[ -z "$jobs" ] || kill -9 "$jobs" 2>/dev/null || true
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap cleanup EXIT
fail() { echo "$*"; cat "$work"/{json,out,err,daemon.log} 2>/dev/null; exit 1; }
export TSCTRACE_RUN_DIR=$work/run TSCTRACE_PROVIDER=daemon
unset TSCTRACE_CHANNEL TSCTRACE_SOCKET
mkdir "$TSCTRACE_RUN_DIR"

status() {
	"$ctl" status --json >"$work/json" 2>"$work/err" || fail "status --json fails"
	[ ! -s "$work/err" ] || fail "status prints errors"
	"$ctl" status >"$work/out" || fail "status fails"
}

until_status() {	# CONDITION PATTERN-IN-JSON
	local n
	for n in {1..400}; do
		status
		! grep -q "$2" "$work/json" || return 0
		sleep 0.1
	done
	fail "timeout: not true: $1"
}

status
grep -q "^daemon  *no: $work/run/tsctraced.sock: no such socket; start tsctraced" \
	"$work/out" || fail "a daemon is reported without a socket"
grep -q '^embedded  *yes' "$work/out" || fail "embedded is not available"
grep -q '"channels": \[\]' "$work/json" || fail "channels are reported without a provider"
for provider in none bogus; do
	TSCTRACE_PROVIDER=$provider status
	grep -qF "programs use   none: \$TSCTRACE_PROVIDER is '$provider', which is not available; unset it" \
		"$work/out" || fail "no reason for no provider: \$TSCTRACE_PROVIDER"
done
TSCTRACE_PROVIDER='' status
grep -q '^programs use   \(none: no module and no daemon; start\|module$\)' "$work/out" ||
	fail "no reason for no provider"

"$build/daemon/tsctraced" >"$work/daemon.log" 2>&1 &
daemon=$!
until_status "the daemon answers" '"programs_use": "\(daemon\|module\)"'
until_status "the clock is fresh" '"status": "synchronized"'
grep -q '^daemon  *yes, version ' "$work/out" || fail "the daemon is not reported"
grep -q '"origin": "\(daemon\|module\)"' "$work/json" || fail "no origin of the clock"

"$ctl" clock --fake-disruption >/dev/null || fail "clock --fake-disruption fails"
until_status "its cause is shown" '"cause": "fake"'
until_status "the clock is fresh again" '"status": "synchronized"'
[ -e /dev/tsctrace ] ||
	grep -q '^clock  *synchronized, epoch 2 (after fake), source ' \
		"$work/out" || fail "no cause of the disruption in the text"

"$build/examples/jobs" 1000000000000 1 >/dev/null 2>&1 &
jobs=$!
until_status "a channel appears" '^      "name": "default"'
until_status "something is unread" '^      "unread": [1-9]'
for want in '"provider": "daemon"' "\"uid\": $(id -u)" '"policy": "discard"' \
		'"kernel": false' '"consumers": 0' '"full": 0'; do
	grep -q "$want" "$work/json" || fail "no $want"
done
grep -q "^ *[0-9]* default  *daemon  *$(id -un)  *discard " "$work/out" ||
	fail "no line for the channel"
"$ctl" status --metrics >"$work/out" || fail "status --metrics fails"
grep -q '^tsctrace_channels 1$' "$work/out" || fail "metric tsctrace_channels"
grep -q '^tsctrace_channel_bytes [1-9]' "$work/out" || fail "metric tsctrace_channel_bytes"
kill -9 "$jobs"
wait "$jobs" || true
jobs=''
until_status "the channel is removed" '"channels": \[\]'

kill "$daemon"
wait "$daemon" || true
daemon=''
status
grep -q '^daemon  *no: ' "$work/out" || fail "the daemon is reported after its end"

for argument in extra --nonsense '--metrics --json'; do
	got=0
	# shellcheck disable=SC2086
	"$ctl" status $argument >"$work/out" 2>&1 || got=$?
	[ $got = 2 ] || fail "status $argument: exit status $got"
done
echo "fine"
