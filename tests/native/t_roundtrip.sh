#!/bin/bash
# SPDX-License-Identifier: MIT
# All readers read random recordings as they were written, and merged recordings like
# their inputs: see roundtrip.py and roundtrip_merged.py. Each packet has full time stamps
# and keeps its limits: see packetcheck.py.
# SEED=N: runs only this seed. EVENTS=N: events per recording.
. "$(dirname "$0")/record.sh"
need babeltrace2

make=$helpers/roundtrip

round_trip() {	# SEED [EVENTS]
	rm -rf "$work/a"
	mkdir "$work/a"
	"$make" "$work/a" "$@" >"$work/truth" || fail "seed $1: it was not written"
	# Only Debian's /usr/bin/python3 has the Python module of libbabeltrace2.
	/usr/bin/python3 "$here/roundtrip.py" "$ctl" "$work/a" \
		"$work/truth" >"$work/out" 2>"$work/err" || fail "seed $1"
	echo "# seed $1: $(cat "$work/out") events"
	python3 "$here/packetcheck.py" "$work/a" "$work/truth" \
		>"$work/out" 2>"$work/err" || fail "seed $1: packets"
}

# Merges three recordings, each by its own clock, and reads the result.
merged_trip() {	# SEED EVENTS
	local i
	rm -rf "$work"/n? "$work/m"
	for i in 0 1 2; do
		mkdir "$work/n$i"
		"$make" "$work/n$i" $(($1 + i)) "$2" "n$i" >"$work/truth$i" ||
			fail "seed $1 + $i: it was not written"
	done
	echo "# seed $1, merged"
	run 0 merge -q --force -o "$work/m" "$work/n0" "$work/n1" "$work/n2"
	/usr/bin/python3 "$here/roundtrip_merged.py" "$ctl" "$work/m" \
		"$work"/truth? >"$work/out" 2>"$work/err" || fail "seed $1, merged"
	echo "# seed $1, merged: $(cat "$work/out") events"
}

if [ -n "${SEED:-}" ]; then
	round_trip "$SEED" ${EVENTS:+"$EVENTS"}
	merged_trip "$SEED" "${EVENTS:-500}"
	exit
fi
# The recordings of these seeds cover 8 CPUs, 64 CPUs, ticks shorter than a cycle, and a
# field that cannot be named "NAME_INDEX" in the metadata, because another field has
# that name (see name_field() in lib/ctf/metadata_write.c).
for seed in 17 74 78; do
	round_trip "$seed" 500
done
for ((i = 0; i < 5; i++)); do
	round_trip $((RANDOM << 15 | RANDOM)) ${EVENTS:+"$EVENTS"}
done
for ((i = 0; i < 2; i++)); do
	merged_trip $((RANDOM << 15 | RANDOM)) "${EVENTS:-500}"
done
