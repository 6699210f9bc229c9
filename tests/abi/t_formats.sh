#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings of each release can be read: recordings/VERSION.tar.xz holds one, of 40 typed
# events, and VERSION.expected what `export -f csv` printed at the release. A new release
# adds its own; the older ones stay.
# test-fast: yes
set -euo pipefail
cd "$(dirname "$0")/../.."
ctl=${O:-build}/tools/trace-ctl
kept=$PWD/tests/abi/recordings
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

nr=0
for file in "$kept"/*.tar.xz; do
	version=$(basename "$file" .tar.xz)
	tar -xf "$file" -C "$work"
	"$ctl" export -q -f csv -o - "$work/$version" >"$work/csv" || fail "$version: export"
	diff "$kept/$version.expected" "$work/csv" || fail "$version: other events"
	"$ctl" stat --json "$work/$version" >"$work/stat" || fail "$version: stat"
	"$ctl" dump --error "$work/$version" >"$work/dump" || fail "$version: dump"
	[ "$(grep -c 'work/.*item=' "$work/dump")" = 40 ] || fail "$version: dump"
	"$ctl" merge -q -o "$work/$version.merged" "$work/$version" ||
		fail "$version: merge"
	"$ctl" dump "$work/$version.merged" | grep -c 'work/.*item=' >"$work/count"
	[ "$(cat "$work/count")" = 40 ] || fail "$version: merged"
	nr=$((nr + 1))
done
[ -e "$kept/$(tools/packaging/release.sh version).tar.xz" ] ||
	fail "no recording of this release; see the comment"
echo "$nr releases"
