#!/bin/bash
# SPDX-License-Identifier: MIT
# A thread that sets its name after it has connected, and a process that sets it again, have the
# new name in events that come later, without kernel events: with the embedded rings, and with
# those of a daemon.
. "$(dirname "$0")/record.sh"

cd "$work"
# The recorder reads a name if it runs in the half second before the next event.
names() {	# DIR PATTERN
	rm -rf "$1"
	run 0 record -o "$1" -- "$helpers/renames"
	"$ctl" dump --json "$1" | python3 -c 'import json, sys
print(*(e.get("thread", "?") for e in map(json.loads, sys.stdin) if e["event"] == "step"))' >out
	grep -qxE "$2" out
}
wait_for "each event has the name of its time" names embedded "renames first-name second-name"
start_daemon
# The recorder knows of the process from its first event on.
wait_for "each event has the name of its time, with a daemon" \
	names daemon "(renames|first-name) first-name second-name"
