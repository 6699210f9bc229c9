#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl clock: what it calls the time of day is the time of day, within
# the bound that it gives; --watch goes on until nobody reads.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
ctl=${O:-$top/build}/tools/trace-ctl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

# The value of a number's key in the JSON on stdin
number() { sed -n "s/.*\"$1\": *\\(-\\{0,1\\}[0-9.e+-]*\\).*/\\1/p"; }

run() {	# WANTED ARGUMENT...
	local want=$1 got=0
	shift
	"$ctl" "$@" >"$work/out" 2>"$work/err" || got=$?
	[ "$got" = "$want" ] || fail "$* gave $got, not $want: $(cat "$work/err")"
}

before=$(date +%s%N)
run 0 clock --json
after=$(date +%s%N)
ns=$(number time_ns <"$work/out") error=$(number error_ns <"$work/out")
[ $((ns + error)) -ge "$before" ] || fail "$ns +- $error is before $before"
[ $((ns - error)) -le "$after" ] || fail "$ns +- $error is after $after"
[ "$error" -lt 1000000000 ] || fail "a bound of $error ns says nothing"

# The text says the same as the number.
utc=$(sed -n 's/.*"time": "\(.*\)Z".*/\1/p' "$work/out")
[ "$(date -u -d "${utc%.*}" +%s).${utc#*.}" = "${ns%?????????}.${ns: -9}" ] ||
	fail "$utc is not $ns"

run 0 clock
for word in stamp time source status rate age epoch origin; do
	grep -q "^$word  *[^ ]" "$work/out" || fail "no $word: $(cat "$work/out")"
done

# Stamps rise from line to line, and so do the times.
timeout 60 "$ctl" clock --watch=0.05 --json | head -n 5 >"$work/lines" || true
[ "$(wc -l <"$work/lines")" = 5 ] || fail "--watch: $(cat "$work/lines")"
for key in stamp time_ns; do
	number "$key" <"$work/lines" >"$work/numbers"
	[ "$(wc -l <"$work/numbers")" = 5 ] || fail "--watch: no $key"
	sort -nuc "$work/numbers" || fail "--watch: $key does not rise"
done

run 2 clock --watch=0
run 2 clock --watch=-1
run 2 clock --watch=nan
run 2 clock --watch=1x
run 2 clock extra
run 2 clock --nonsense
echo "$ns +- $error ns"
