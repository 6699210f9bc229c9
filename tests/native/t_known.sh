#!/bin/bash
# SPDX-License-Identifier: MIT
# Made recordings in which it is unknown how long a call or a slice was: no verb states it. hidden.c
# makes them, and says what happens in each.
# test-wing: formats strace threads
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

for case in cut; do
	make $case
done

# --- the file of another CPU is cut off ---------------------------------------------------------
truncate -s -1 "$work/cut/kernel_1"
open_in_export 3 1 "$work/cut"
