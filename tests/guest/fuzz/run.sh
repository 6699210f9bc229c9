#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - fuzz the module for MINUTES (30) in the debug kernel
#
# Environment: MINUTES, SEED, KERNEL (6.12-debug, which has reserved memory; 6.1-debug has
# none). Prints the result of the guest, which includes reports of the kernel's checkers,
# and the lines of the module that were reached. A new corpus, of the programs that
# suffice for the code that single programs reach, goes to build/fuzz/kernel/found; those
# that failed are crash-* there. KEEP=1 replaces the corpus by the former. FAILURES=0
# leaves out that each step of the module's load and of CPU hotplug fails.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
export O=${O:-$top/build}
folder=$O/fuzz/kernel
kernel=${KERNEL:-6.12-debug}
minutes=${MINUTES:-30}
export TSCT_FUZZ_SECONDS=$((minutes * 60)) TSCT_FUZZ_FAILURES=${FAILURES:-1} TSCT_FUZZ_KEEP=1

rm -rf "$folder/found"
mkdir -p "$folder/found"
dir=$("$here/../kernel.sh" get "$kernel")
rm -f "$folder/out"
status=0
"$here/../run.sh" --test t_fuzz --time $((minutes * 60 + 2400)) --out "$folder/out" \
	"$kernel" || status=$?
[ -s "$folder/out" ] || { echo "the guest sent no coverage" >&2; exit 1; }
tar -x -C "$folder/found" -f "$folder/out"
mv "$folder/found/coverage" "$folder/coverage"
"$here/cover.py" "$O/module/$(cat "$dir/release")/tsctrace.ko" "$folder/coverage" --lines
if [ -n "${KEEP:-}" ] && [ "$status" -eq 0 ]; then
	rm -f "$top"/tests/fuzz/corpus/kernel/*.bin
	cp "$folder"/found/*.bin "$top/tests/fuzz/corpus/kernel"
	rm -f "$top"/tests/fuzz/corpus/kernel/*-*
fi
exit "$status"
