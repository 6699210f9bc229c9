#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh PROGRAM FOLDER CORPUS SECONDS JOBS [OPTION]... - replay a corpus, then fuzz
#
# Writes new inputs to FOLDER/found/, failing inputs to FOLDER/crash-*, and the output of
# each job to FOLDER/fuzz-*.log. Exit status 1 if anything failed. (libFuzzer's own jobs
# ignore inputs of the corpus that crash.)
set -euo pipefail

program=$1 folder=$2 corpus=$3 seconds=$4 jobs=$5
name=$(basename "$program")
shift 5
mkdir -p "$folder/found" "$corpus"
cd "$folder"
rm -f fuzz-*.log
options=(-timeout=10 -rss_limit_mb=2048 -artifact_prefix="$PWD/" "$@")
pids=()
trap '[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true' EXIT

why() {
	grep -hE 'does not hold|ERROR: |runtime error|Test unit written' fuzz-*.log || true
	echo "$name: FAILED; see $PWD/fuzz-*.log, and run $program on a crash-*"
	exit 1
}

echo "$name: replaying $(find "$corpus" found -type f | wc -l) inputs"
"$program" "${options[@]}" -runs=0 "$corpus" found >fuzz-0.log 2>&1 || why
echo "$name: $jobs jobs for $seconds s"
for ((job = 1; job <= jobs; job++)); do
	"$program" "${options[@]}" -max_total_time="$seconds" -use_value_profile=1 \
		found "$corpus" >"fuzz-$job.log" 2>&1 &
	pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
	wait "$pid" || failed=1
done
pids=()
[ "$failed" -eq 0 ] || why
grep -h '^Done ' fuzz-*.log
echo "$name: nothing failed; $(find found -type f | wc -l) inputs in $PWD/found"
