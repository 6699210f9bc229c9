#!/bin/bash
# SPDX-License-Identifier: MIT
# Two recordings of hosts whose clocks were never compared, 3.7 s apart: merge refuses
# them, and after --force every command says that errors between nodes are unknown.
# test-fast: yes
. "$(dirname "$0")/record.sh"

# Makes recording TO from recording FROM: as if made on HOST, whose CLOCK_REALTIME differs
# by NS and whose kernel states the bound UTC_NS to UTC ("unknown": none).
of_host() {	# FROM TO HOST NS UTC_NS
	cp -r "$work/$1" "$work/$2"
	python3 "$here/as_host.py" "$work/$2" "${@:3}" || fail "as_host.py $2"
}

"$ctl" record -q -o "$work/r" -- "$emit" 100
of_host r a alpha 0 unknown
of_host r b beta 3700000000 unknown
of_host r c gamma 3700000000 5000000
of_host r d delta 0 7000000

# --- a recording of one host says what its bound is of --------------------------------
run_shows 0 'times within [0-9]* ns of CLOCK_REALTIME$' stat "$work/a"
shows '^utc  *unknown'
run_shows 0 '^utc  *times within 70[0-9]* ns, as stated by the kernel$' stat "$work/d"
run_shows 0 '+-  *unknown' dump -n 1 --error=utc "$work/a"
run_shows 0 '+-  *70[0-9]*ns' dump -n 1 --error=utc "$work/d"

# --- never compared: refused ----------------------------------------------------------
refused 'a: node alpha was never compared with the other nodes' "$work/a" "$work/b"
says 'or use --force to merge them without error bounds'
refused 'node beta was never compared' "$work/d" "$work/b"
refused 'node alpha was never compared' "$work/c" "$work/a"

# --- with --force: unknown, everywhere ------------------------------------------------
run 0 merge --force -o "$work/ab" "$work/a" "$work/b"
says "each node's own clock is used, without error bounds"
says 'node 1: beta (own), error bound unknown'
! grep -q 'error bound [0-9]' "$work/err" || fail "merge states an error bound"
run_shows 0 'errors between nodes are unknown: the nodes were never compared' stat "$work/ab"
! grep -q 'within [0-9]' "$work/out" || fail "stat states a bound"
run 0 stat --json "$work/ab"
unknown='all(c[k + "error_ns"] is None for c in (j["clock"],) for k in ("", "node_", "utc_"))'
holds "$work/out" 'j["clock"]["status"] != "synchronized" and j["clock"]["compared"] == "unknown"' \
	"$unknown" '0 < j["clock"]["clock_error_ns"] < 1e6' 'all(n["error_ns"] is None for n in j["nodes"])'
run 0 dump --error "$work/ab"
[ "$(grep -c '+-  *unknown' "$work/out")" = "$(wc -l <"$work/out")" ] || fail "dump --error"
run 0 dump --error=clock "$work/ab"
[ "$(grep -c '+-  *[0-9]*ns' "$work/out")" = "$(wc -l <"$work/out")" ] ||
	fail "dump --error=clock"
run 0 dump --json --error "$work/ab"
! grep -qv '"error_ns":null' "$work/out" || fail "dump --json --error"
traces=("$work/ab")
if has_wing formats; then
	run 0 export -q -f json -o "$work/x.json" "$work/ab"
	holds "$work/x.json" "${unknown/clock/otherData}"
	run 0 export -q -f ctf -o "$work/x.ctf" "$work/ab"
	traces+=("$work/x.ctf")
	run 0 export -q -f otf2 -o "$work/x.otf2" "$work/ab"
	otf2-print -G "$work/x.otf2/traces.otf2" >"$work/defs" 2>&1 || fail "otf2-print"
	! grep -q 'CLOCK_OFFSET\|NODE_ERROR\|UTC_ERROR' "$work/defs" || fail "OTF2 states an error"
fi
for dir in "${traces[@]}"; do
	! grep -a 'precision\|node_[0-9]*_bounds\|node_error_ns\|utc_error_ns' "$dir/metadata" ||
		fail "$dir states an error"
	[ "$(babeltrace_events "$dir")" = 202 ] || fail "babeltrace2 does not read $dir"
done
if has_wing report; then
	run 0 report -q "$work/ab.html" "$work/ab"
	grep -q 'The nodes were never compared' "$work/ab.html" || fail "report does not warn"
	grep -q 'unknown</b><span>largest error of a time relative to the common' "$work/ab.html" ||
		fail "report states an error"
fi

# --- both kernels state a bound to UTC: the sum of both errors ---------------------------
run_says 0 'state that each is within 7000.000 us of UTC' merge -o "$work/cd" "$work/c" "$work/d"
run 0 stat --json "$work/cd"
holds "$work/out" 'j["clock"]["compared"] == "utc" and j["clock"]["utc_error_ns"] // 1000000 == 7' \
	'[n["error_ns"] // 1000000 for n in j["nodes"]] == [5, 7]'

# --- one boot, but another time: a restored snapshot, or the clock was set ---------------
"$ctl" record -q -o "$work/r2" -- "$emit" 10
of_host r2 e alpha 0 unknown
of_host r2 f alpha 1000000000 unknown
run 0 merge -q -o "$work/ae" "$work/a" "$work/e"
refused 'a and .*f are of the same boot, but their clocks contradict each other' \
	"$work/a" "$work/f"
run_says 0 'error bound unknown' merge --force -o "$work/af" "$work/f" "$work/a"
