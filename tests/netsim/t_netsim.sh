#!/bin/bash
# SPDX-License-Identifier: MIT
# Estimators and whole nodes in simulated networks: no reading outside its bound, no
# step, no failed expectation, no error above its limit. Runs a small part of run.sh.
# SEED: the first seed (default 1). SEEDS: number of seeds. TSCT_JOBS: processes at a time.
# test-timeout: 900
# test-seed: 1, for limits of errors that leave a margin over those of this seed
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")
bin=$out/tests/netsim
seed=${SEED:-1} seeds=${SEEDS:-1}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

make -C "$here" --no-print-directory O="$out"
echo "# seed $seed, and $seeds from there on"

# Each program prints "passed TEST" or "FAILED TEST" for each test in it.
pids=()
run() {	# run NAME COMMAND...: run the command, with its output to file NAME
	local name=$1
	shift
	while [ "$(jobs -pr | wc -l)" -ge "${TSCT_JOBS:-$(nproc)}" ]; do
		wait -n || true
	done
	"$@" --check --seed "$seed" >"$dir/$name" 2>&1 &
	pids+=($!)
}
run fits "$bin/fits" --trials $((25 * seeds))
for group in live faults path tree graph; do
	run "$group" "$bin/nodes" --quick --seeds "$seeds" --group "$group"
done
status=0
for pid in "${pids[@]}"; do
	wait "$pid" || status=1
done
cat "$dir"/{fits,live,faults,path,tree,graph}
awk -v status="$status" -v planned="$(("$("$bin/fits" --list | wc -l)" + 1 +
	seeds * "$("$bin/nodes" --list | wc -l)"))" '
	/^passed / { sub(/^passed /, ""); print "ok " ++n " - " $0 }
	/^FAILED / { sub(/^FAILED /, ""); print "not ok " ++n " - " $0; bad++ }
	END {
		if (n != planned) {	# a process ended before its last test
			print "not ok " ++n " - all processes completed"
			bad++
		}
		print "1.." n
		exit bad || status
	}' "$dir"/{fits,live,faults,path,tree,graph}
