#!/bin/bash
# SPDX-License-Identifier: MIT
# A thread that sets its name after it has connected, and a process that sets it again, have the
# new name in events that come later, without kernel events: with the embedded rings, and with
# those of a daemon.
. "$(dirname "$0")/record.sh"

cd "$work"
names() {	# DIR PATTERN
	"$ctl" dump --json "$1" | python3 -c 'import json, sys
print(*(e.get("thread", "?") for e in map(json.loads, sys.stdin) if e["event"] == "step"))' >out
	grep -qxE "$2" out || fail "names in $1: $(cat out), not $2"
}
run 0 record -o embedded -- "$helpers/renames"
names embedded "renames first-name second-name"
start_daemon
run 0 record -o daemon -- "$helpers/renames"
# The recorder knows of the process from its first event on.
names daemon "(renames|first-name) first-name second-name"
