#!/bin/bash
# SPDX-License-Identifier: MIT
# Random recordings are read by all readers as they were written: see roundtrip.py.
# SEED=N takes that one only; EVENTS=N makes them larger or smaller.
# shellcheck source=tests/native/record.sh
. "$(dirname "$0")/record.sh"

make=$work/roundtrip
${CC:-cc} -O1 -g -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/kmod/uapi" \
	-I"$top/lib/include" -I"$top/lib" -o "$make" "$top/tests/native/roundtrip.c" \
	"$build/lib/libtsctrace.a" -lm

round_trip() {	# SEED [EVENTS]
	rm -rf "$work/a"
	mkdir "$work/a"
	"$make" "$work/a" "$@" >"$work/truth" || fail "seed $1: it was not written"
	# Debian's own interpreter: it has the bindings.
	/usr/bin/python3 "$top/tests/native/roundtrip.py" "$ctl" "$work/a" \
		"$work/truth" >"$work/out" 2>"$work/err" || fail "seed $1"
	echo "# seed $1: $(cat "$work/out") events"
}

if [ -n "${SEED:-}" ]; then
	round_trip "$SEED" ${EVENTS:+"$EVENTS"}
	exit
fi
# Names that are alike; a thousand events on a tick and gaps; 64 CPUs; text of 20 kB
for seed in 41 55 1; do
	round_trip "$seed" 500
done
for ((i = 0; i < 5; i++)); do
	round_trip $((RANDOM << 15 | RANDOM)) ${EVENTS:+"$EVENTS"}
done
