#!/bin/bash
# SPDX-License-Identifier: MIT
# merge does not crash on randomly damaged OTF2 archives (otf2_fuzz.py), though libotf2
# may. SEED=N sets the random seed, LONG=N the duration in seconds.
# test-wing: otf2
. "$(dirname "$0")/record.sh"

seed=${SEED:-$((RANDOM << 15 | RANDOM))}
echo "# seed $seed"
make_archives
mkdir "$work/fuzz"
if ! python3 "$here/otf2_fuzz.py" "$ctl" "$work/fuzz" "$seed" "${LONG:-6}" \
	"$work/a" "$work/b" >"$work/out" 2>"$work/err"; then
	mkdir -p "$out/test-log"
	cp -r "$work/fuzz/x" "$out/test-log/fuzz_otf2-$seed"
	fail "seed $seed; the archive is in $out/test-log/fuzz_otf2-$seed"
fi
echo "# $(cat "$work/out")"
