#!/bin/bash
# SPDX-License-Identifier: MIT
# merge does not crash on randomly damaged OTF2 archives (otf2_fuzz.py), though libotf2
# may. SEED=N sets the random seed, LONG=N the duration in seconds.
# test-wing: otf2
. "$(dirname "$0")/record.sh"

seed=${SEED:-$((RANDOM << 15 | RANDOM))}
echo "# seed $seed"
make_archive a 0 <<END
{"res": 1000000000, "offset": 9007199254741001, "length": 5000000,
 "real": 1700000000000000000, "seed": 1, "locations": {
 "a0": {"times": [9007199254741001, 9007199254741003, 9007199259741001]},
 "a1": {"times": [9007199254741005, 9007199254741005]}, "a2": {"times": []}}}
END
make_archive b 1 <<END
{"res": 2893312741, "offset": 1152921504606846977, "length": 123456789,
 "real": 1700000000000000777, "seed": 2, "locations": {
 "b0": {"times": [1152921504606846970, 1152921504606846980, 1152921504606846981],
  "offsets": [[1152921504606846975, -3], [1152921504606947975, 17]]},
 "b1": {"mapped": true, "times": [1152921504606846979, 1152921504606846979]}}}
END
mkdir "$work/fuzz"
if ! python3 "$here/otf2_fuzz.py" "$ctl" "$work/fuzz" "$seed" "${LONG:-6}" \
	"$work/a" "$work/b" >"$work/out" 2>"$work/err"; then
	mkdir -p "$out/test-log"
	cp -r "$work/fuzz/x" "$out/test-log/fuzz_otf2-$seed"
	fail "seed $seed; the archive is in $out/test-log/fuzz_otf2-$seed"
fi
echo "# $(cat "$work/out")"
