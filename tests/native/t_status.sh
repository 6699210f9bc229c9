#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl status without and with a daemon: providers, and the channels while a
# program has one open and after it has ended.
# test-fast: yes
. "$(dirname "$0")/lib.sh"

export TSCTRACE_RUN_DIR=$work/run TSCTRACE_PROVIDER=daemon
mkdir "$TSCTRACE_RUN_DIR"

status() {
	"$ctl" status --json >"$work/json" 2>"$work/err" || fail "status --json fails"
	[ ! -s "$work/err" ] || fail "status prints errors"
	"$ctl" status >"$work/out" || fail "status fails"
}

until_status() {	# CONDITION PATTERN-IN-JSON
	wait_for "$1" status_has "$2"
}
status_has() { status && grep -q "$1" "$work/json"; }

status
shows "^daemon  *no: $work/run/tsctraced.sock: no such socket; start tsctraced"
shows '^embedded  *yes'
grep -q '"channels": \[\]' "$work/json" || fail "channels are reported without a provider"
for provider in none bogus; do
	TSCTRACE_PROVIDER=$provider status
	grep -qF "programs use   none: \$TSCTRACE_PROVIDER is '$provider', which is not available; unset it" \
		"$work/out" || fail "no reason for no provider: \$TSCTRACE_PROVIDER"
done
TSCTRACE_PROVIDER='' status
shows '^programs use   \(none: no module and no daemon; start\|module$\)'

"$daemon" >"$work/daemon.log" 2>&1 & track server
until_status "the daemon answers" '"programs_use": "\(daemon\|module\)"'
until_status "the clock is fresh" '"status": "synchronized"'
shows '^daemon  *yes, version '
grep -q '"origin": "\(daemon\|module\)"' "$work/json" || fail "no origin of the clock"

"$ctl" clock --fake-disruption >/dev/null || fail "clock --fake-disruption fails"
until_status "its cause is shown" '"cause": "fake"'
until_status "the clock is fresh again" '"status": "synchronized"'
text_has() { status && grep -q "$1" "$work/out"; }
[ -e /dev/tsctrace ] || wait_for "the text says so" \
	text_has '^clock  *synchronized, epoch 2 (after fake), source '

"$emit" 100000000 1 1000 >/dev/null & track program
until_status "a channel appears" '^      "name": "default"'
until_status "something is unread" '^      "unread": [1-9]'
for want in '"provider": "daemon"' "\"uid\": $(id -u)" '"policy": "discard"' \
		'"kernel": false' '"consumers": 0' '"full": 0'; do
	grep -q "$want" "$work/json" || fail "no $want"
done
shows "^ *[0-9]* default  *daemon  *$(id -un)  *discard "
if [ -e "$out/daemon/metrics" ]; then
	"$ctl" status --metrics >"$work/out" || fail "status --metrics fails"
	shows '^tsctrace_channels 1$'
	shows '^tsctrace_channel_bytes [1-9]'
else
	run_says 1 'built without daemon/metrics' status --metrics
fi
has_collectives || {
	! TSCTRACE_TIMESYNC_PROCESSES=2 "$helpers/timesync" 1000 >"$work/out" || fail "joined"
	shows '^EOPNOTSUPP: .* built without daemon/collective$'
}
kill_now "$program"
until_status "the channel is removed" '"channels": \[\]'

kill "$server"
wait "$server" || true
daemon=''
status
shows '^daemon  *no: '

for argument in extra --nonsense '--metrics --json'; do
	# shellcheck disable=SC2086
	exits 2 "$ctl" status $argument >"$work/out" 2>&1
done
echo "fine"
